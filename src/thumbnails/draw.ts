import sharp, { type Metadata } from 'sharp';
import { RenderError, type RenderFault } from './errors.ts';
import { MAX_AVIF_PIXELS, MAX_PIXELS, THUMBNAIL_SIZE } from './limits.ts';

const JPEG_QUALITY = 80;

// No image is opened twice, so libvips' operation cache would only use memory. A semaphore limits parallel renders;
// threads within one render would only fragment memory (sharp's advice for glibc).
sharp.cache(false);
sharp.concurrency(1);

// By default, libvips opens every format that it was built with. `sharp.block` accepts names of libvips classes, and
// also blocks derived classes. Ultra HDR stays blocked: libvips opens such a file as the JPEG that it also is.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
});

/** Unblocks all supported formats. Call it only in a child process: see `render.ts`. */
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
 * Draws the thumbnail of an image: a JPEG of exactly `THUMBNAIL_SIZE` × `THUMBNAIL_SIZE` pixels in sRGB. The thumbnail
 * is upright, cropped to the centre, and has a white background, no metadata, and the first frame of an animation. For
 * a partly damaged image, draws the readable part.
 *
 * Throws `RenderError`. A render can't be aborted. libvips checks `timeoutMs` (milliseconds) from time to time, but
 * some decoders never let it check.
 */
export async function drawThumbnail(image: Buffer, timeoutMs: number): Promise<Buffer> {
  const metadata = await inspect(image);
  try {
    return await draw(image, metadata, { failOn: 'error', timeoutMs });
  } catch (error) {
    const problem = asRenderError(error);
    if (problem.fault !== 'damaged') throw problem;
    return drawReadablePart(image, metadata, timeoutMs, problem);
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

type DrawOptions = { readonly failOn: 'error' | 'none'; readonly timeoutMs: number };

function draw(image: Buffer, metadata: Metadata, { failOn, timeoutMs }: DrawOptions): Promise<Buffer> {
  const pipeline = sharp(image, { autoOrient: true, failOn, limitInputPixels: MAX_PIXELS });
  const square = cropOfThinImage(metadata.autoOrient);
  if (square) pipeline.extract(square);
  pipeline
    .resize(THUMBNAIL_SIZE, THUMBNAIL_SIZE, { fit: 'cover' })
    .flatten({ background: 'white' })
    .timeout({ seconds: Math.ceil(timeoutMs / 1000) })
    .jpeg({ quality: JPEG_QUALITY });
  // sharp converts 16-bit images with a profile to Display P3, and to sRGB only if an output profile is set. A 16-bit
  // image without a profile was never in P3, so an output profile would give it wrong colours.
  if (metadata.depth === 'ushort' && metadata.hasProfile) pipeline.withIccProfile('srgb', { attach: false });
  return pipeline.toBuffer();
}

/**
 * Returns the centre square of a very long and thin image, or undefined for any other image. Scaling the whole image to
 * the thumbnail's height would exceed the limits of libvips (10,000,000 pixels per side; 32,767 for SVG). The thumbnail
 * shows only the centre anyway.
 */
function cropOfThinImage({ width, height }: { width: number; height: number }) {
  const side = Math.min(width, height);
  if (side >= THUMBNAIL_SIZE || Math.max(width, height) <= 100 * side) return undefined;
  return { left: Math.floor((width - side) / 2), top: Math.floor((height - side) / 2), width: side, height: side };
}

/** Draws the readable part of a truncated or damaged image. Throws `problem` if the result has only one colour. */
async function drawReadablePart(
  image: Buffer,
  metadata: Metadata,
  timeoutMs: number,
  problem: RenderError,
): Promise<Buffer> {
  try {
    const thumbnail = await draw(image, metadata, { failOn: 'none', timeoutMs });
    const { channels } = await sharp(thumbnail).stats();
    if (channels.some(({ stdev }) => stdev >= 1)) return thumbnail;
  } catch (error) {
    throw asRenderError(error);
  }
  throw problem;
}

/** Translates an error of libvips by its message, because libvips has no error codes. */
function asRenderError(error: unknown): RenderError {
  if (error instanceof RenderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new RenderError(faultOf(message), message, { cause: error });
}

function faultOf(message: string): RenderFault {
  if (message.includes('unsupported image format')) return 'unsupported';
  // libvips reports an SVG whose size overflows an integer as zero pixels wide.
  if (/pixel limit|zero-sized image/.test(message)) return 'too-many-pixels';
  if (message.startsWith('timeout:')) return 'too-slow';
  return 'damaged';
}
