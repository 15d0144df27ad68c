import sharp, { type Metadata } from 'sharp';
import { RenderError, type RenderFault } from './errors.ts';
import { MAX_AVIF_PIXELS, MAX_PIXELS } from './limits.ts';

/** Width and height of every thumbnail, in pixels. */
const THUMBNAIL_SIZE = 320;

const QUALITY = 80;

// No image is opened twice, so that libvips' cache of operations would only hold memory. Renders run side by side
// in a number of our choosing; threads within one would only fragment memory (sharp's advice for glibc).
sharp.cache(false);
sharp.concurrency(1);

// libvips would otherwise open whatever it was built with. The names are those of its classes, as `sharp.block` takes
// them; blocking a class blocks those derived from it. Ultra HDR stays blocked: such a file is opened as the JPEG
// that it also is.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});

/** Lets this process open all formats. Those blocked until then belong in a separate process: see `render-process.ts`. */
export function allowAllFormats(): void {
  sharp.unblock({
    operation: [
      'VipsForeignLoadNsgifBuffer',
      'VipsForeignLoadHeifBuffer',
      'VipsForeignLoadTiffBuffer',
      'VipsForeignLoadSvgBuffer',
    ],
  });
}

/**
 * Draws the thumbnail of an image: a JPEG of exactly `THUMBNAIL_SIZE` × `THUMBNAIL_SIZE` pixels in sRGB, filled to
 * the edges around the image's centre, upright, transparency on white, the first frame of an animation, nothing of
 * the image's metadata. An image that is damaged in part is drawn as far as it goes.
 *
 * Throws `RenderError`. Work can't be stopped from outside once it began; libvips looks at `timeLimit`
 * (milliseconds) now and then, and some decoders never let it look.
 */
export async function drawThumbnail(image: Buffer, timeLimit: number): Promise<Buffer> {
  const metadata = await inspect(image);
  try {
    return await draw(image, metadata, { failOn: 'error', timeLimit });
  } catch (error) {
    const problem = asRenderError(error);
    if (problem.fault !== 'damaged') throw problem;
    return drawDamaged(image, metadata, timeLimit, problem);
  }
}

async function inspect(image: Buffer): Promise<Metadata> {
  try {
    const metadata = await sharp(image, { failOn: 'none', limitInputPixels: false }).metadata();
    const { width, height, format } = metadata;
    if (width * height <= (format === 'heif' ? MAX_AVIF_PIXELS : MAX_PIXELS)) return metadata;
    throw new RenderError('too-many-pixels', 'Over the limit.', { dimensions: `${width} × ${height}` });
  } catch (error) {
    throw asRenderError(error);
  }
}

type DrawOptions = { readonly failOn: 'error' | 'none'; readonly timeLimit: number };

function draw(image: Buffer, metadata: Metadata, { failOn, timeLimit }: DrawOptions): Promise<Buffer> {
  const pipeline = sharp(image, { autoOrient: true, failOn, limitInputPixels: MAX_PIXELS });
  const square = centreOfSliver(metadata.autoOrient);
  if (square) pipeline.extract(square);
  pipeline
    .resize(THUMBNAIL_SIZE, THUMBNAIL_SIZE, { fit: 'cover' })
    .flatten({ background: 'white' })
    .timeout({ seconds: Math.ceil(timeLimit / 1000) })
    .jpeg({ quality: QUALITY });
  // sharp turns 16 bits with a profile into Display P3 on the way, and only an output profile takes it on to sRGB.
  // Without a profile of its own, such an image never was in P3 and would be turned into wrong colours.
  if (metadata.depth === 'ushort' && metadata.hasProfile) pipeline.withIccProfile('srgb', { attach: false });
  return pipeline.toBuffer();
}

/**
 * The square in the middle of an image that is so long and thin that scaling all of it to the thumbnail's height
 * would pass the limits of libvips (10,000,000 pixels a side; 32,767 for SVG), and undefined for any other. What is
 * cut off would not be on the thumbnail either.
 */
function centreOfSliver({ width, height }: { width: number; height: number }) {
  const side = Math.min(width, height);
  if (side >= THUMBNAIL_SIZE || Math.max(width, height) <= 100 * side) return undefined;
  return { left: Math.floor((width - side) / 2), top: Math.floor((height - side) / 2), width: side, height: side };
}

/** What can be seen of an image that is cut short or broken. One colour all over is not worth seeing. */
async function drawDamaged(
  image: Buffer,
  metadata: Metadata,
  timeLimit: number,
  problem: RenderError,
): Promise<Buffer> {
  try {
    const thumbnail = await draw(image, metadata, { failOn: 'none', timeLimit });
    const { channels } = await sharp(thumbnail).stats();
    if (channels.some(({ stdev }) => stdev >= 1)) return thumbnail;
  } catch (error) {
    throw asRenderError(error);
  }
  throw problem;
}

/** libvips has texts and no codes: these are the ones that mean something to whoever sent the image. */
function asRenderError(error: unknown): RenderError {
  if (error instanceof RenderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RenderError(faultIn(message), message, { cause: error });
}

function faultIn(message: string): RenderFault {
  if (message.includes('unsupported image format')) return 'unsupported';
  // An SVG of a size that no integer holds comes out as zero pixels wide.
  if (/pixel limit|zero-sized image/.test(message)) return 'too-many-pixels';
  if (message.startsWith('timeout:')) return 'too-slow';
  return 'damaged';
}
