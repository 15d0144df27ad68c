import sharp, { type Metadata, type Sharp } from 'sharp';
import { RenderError, type RenderFault } from './errors.ts';
import { MAX_AVIF_PIXELS, MAX_PIXELS } from './limits.ts';
import { type PreviewRendition, type Rendition, THUMBNAIL_SIZE } from './renditions.ts';

const JPEG_QUALITY = 80;

/**
 * Qualities that look alike, without artefacts in photos. The effort is the lowest one: WebP of effort 4 has 5% fewer
 * bytes and takes two to three times as long, and AVIF of effort 2 takes six times as long for the same size.
 */
const PREVIEW_QUALITY = { webp: { quality: 80, effort: 0 }, avif: { quality: 55, effort: 0 } } as const;

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
 * Draws a rendition of an image, upright and in sRGB, without metadata, and with the first frame of an animation. For a
 * partly damaged image, draws the readable part.
 *
 * - The thumbnail is a JPEG of exactly `THUMBNAIL_SIZE` × `THUMBNAIL_SIZE` pixels, cropped to the centre, with a white
 *   background.
 * - A preview has the aspect ratio and the transparency of the image, and at most its pixels. An SVG image, which has no
 *   pixels, fills the size of the preview.
 *
 * Throws `RenderError`. A render can't be aborted. libvips checks `timeoutMs` (milliseconds) from time to time, but
 * some decoders never let it check.
 */
export async function drawRendition(image: Buffer, rendition: Rendition, timeoutMs: number): Promise<Buffer> {
  const drawing = { image, rendition, metadata: await inspect(image), timeoutMs };
  try {
    return await draw(drawing, 'error');
  } catch (error) {
    const problem = asRenderError(error);
    if (problem.fault !== 'damaged') throw problem;
    return drawReadablePart(drawing, problem);
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

interface Drawing {
  readonly image: Buffer;
  readonly rendition: Rendition;
  readonly metadata: Metadata;
  readonly timeoutMs: number;
}

function draw({ image, rendition, metadata, timeoutMs }: Drawing, failOn: 'error' | 'none'): Promise<Buffer> {
  const pipeline = sharp(image, { autoOrient: true, failOn, limitInputPixels: MAX_PIXELS });
  if (rendition.kind === 'thumbnail') cropAndEncode(pipeline, metadata);
  else scaleAndEncode(pipeline, metadata, rendition);
  pipeline.timeout({ seconds: Math.ceil(timeoutMs / 1000) });
  // sharp converts 16-bit images with a profile to Display P3, and to sRGB only if an output profile is set. A 16-bit
  // image without a profile was never in P3, so an output profile would give it wrong colours.
  if (metadata.depth === 'ushort' && metadata.hasProfile) pipeline.withIccProfile('srgb', { attach: false });
  return pipeline.toBuffer();
}

function cropAndEncode(pipeline: Sharp, metadata: Metadata): void {
  const square = cropOfThinImage(metadata.autoOrient);
  if (square) pipeline.extract(square);
  pipeline
    .resize(THUMBNAIL_SIZE, THUMBNAIL_SIZE, { fit: 'cover' })
    .flatten({ background: 'white' })
    .jpeg({ quality: JPEG_QUALITY });
}

function scaleAndEncode(pipeline: Sharp, { format }: Metadata, { width, format: output }: PreviewRendition): void {
  pipeline
    .resize(width, 2 * width, { fit: 'inside', withoutEnlargement: format !== 'svg' })
    .toFormat(output, PREVIEW_QUALITY[output]);
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
async function drawReadablePart(drawing: Drawing, problem: RenderError): Promise<Buffer> {
  try {
    const drawn = await draw(drawing, 'none');
    const { channels } = await sharp(drawn).stats();
    if (channels.some(({ stdev }) => stdev >= 1)) return drawn;
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
  if (/unsupported image format|has not been built in/.test(message)) return 'unsupported';
  // libvips reports an SVG whose size overflows an integer as zero pixels wide.
  if (/pixel limit|zero-sized image/.test(message)) return 'too-many-pixels';
  if (message.startsWith('timeout:')) return 'overloaded';
  return 'damaged';
}
