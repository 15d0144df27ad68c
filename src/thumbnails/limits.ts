import { type Rendition, shrinkOf, THUMBNAIL_SIZE } from './renditions.ts';

/** Maximum bytes of a source file: 50 MB. For a compressed SVG, the limit also applies to the unpacked size. */
export const MAX_SOURCE_BYTES = 50 * 1024 * 1024;

/** Maximum pixels of an image: 100 megapixels. */
export const MAX_PIXELS = 100_000_000;

/**
 * Maximum pixels of an AVIF: 50 megapixels. Its decoder needs 15 to 23 bytes per pixel, three times as much as any
 * other.
 */
export const MAX_AVIF_PIXELS = 50_000_000;

/** Maximum bytes of a rendition. The largest preview of random pixels has 15 MB. */
export const MAX_RENDITION_BYTES = 32 * 1024 * 1024;

/**
 * Maximum estimated bytes of memory for drawing in the serving process. Other images are drawn in a child process.
 * Each worker can draw several images in parallel. The limit admits a progressive JPEG of 20 megapixels.
 */
export const MAX_INLINE_MEMORY_BYTES = 64 * 1024 * 1024;

/** Maximum memory of one child process, in bytes: enough for an AVIF of 50 megapixels. */
export const MAX_CHILD_MEMORY_BYTES = 1024 * 1024 * 1024;

/** Minimum limit of a child process, in bytes. Node.js and libvips alone take 85 MB. */
export const MIN_CHILD_MEMORY_BYTES = 128 * 1024 * 1024;

/**
 * Estimates from the header of an image how many bytes libvips needs to draw a rendition of it. The figures were
 * measured with libvips 8.18; `tests/long/image-memory.test.ts` compares the estimates with the real memory use.
 *
 * Returns `Infinity` for a format that is always drawn in a child process. Returns undefined for a file without a
 * supported image format.
 */
export function estimateMemory(image: Buffer, rendition: Rendition): number | undefined {
  const estimate = estimateFormat(image, rendition);
  // The encoder of AVIF takes 30 to 45 bytes for each pixel, and can't be interrupted for seconds.
  const isAvif = rendition.kind === 'preview' && rendition.format === 'avif';
  return isAvif && estimate !== undefined ? Infinity : estimate;
}

function estimateFormat(image: Buffer, rendition: Rendition): number | undefined {
  if (image[0] === 0xff && image[1] === 0xd8) return estimateJpeg(image, rendition);
  if (image.subarray(0, 8).equals(PNG_SIGNATURE)) return estimatePng(image, rendition);
  if (image.toString('latin1', 0, 4) === 'RIFF' && image.toString('latin1', 8, 12) === 'WEBP') {
    return estimateWebp(image, rendition);
  }
  return isChildProcessFormat(image) ? Infinity : undefined;
}

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Returns whether an image has a format that is always drawn in a child process. Drawing an SVG can take any amount
 * of time and memory. An AVIF or a GIF is decoded as a whole, with up to 23 bytes per pixel. The headers of GIF and
 * TIFF alone can fill gigabytes: a GIF of 50 MB can have four million frames.
 */
function isChildProcessFormat(image: Buffer): boolean {
  const start = image.toString('latin1', 0, 1000);
  // libvips searches for `<svg` in the first thousand bytes, and also in gzip-compressed files.
  return /^(?:GIF8|II[*+]\0|MM\0[*+]|\x1f\x8b|[^]{4}ftyp)|<svg/i.test(start);
}

interface Raster {
  readonly width: number;
  readonly height: number;
  readonly bytesPerPixel: number;
}

/**
 * Returns the bytes that libvips holds of an image that is decoded row by row. It scales down in steps, and holds the
 * source rows of a step: a band, or all rows of a very wide image. If rotation needs more, that amount counts.
 */
function decodedRowBytes(image: Raster, rendition: Rendition): number {
  return Math.max(bandBytes(image, rendition), rotationBytes(image, rendition));
}

/**
 * Returns the bytes that libvips holds to rotate an image upright: all rows, scaled to the rendition. For a thumbnail, a
 * very thin image is rotated unscaled. Images without an orientation count too: their share is small, except for very
 * long images and large renditions.
 */
function rotationBytes(image: Raster, rendition: Rendition): number {
  const { width, height, bytesPerPixel } = image;
  const [shorter, longer] = [Math.max(1, Math.min(width, height)), Math.max(width, height)];
  const isSliver = rendition.kind === 'thumbnail' && shorter < THUMBNAIL_SIZE && longer > 100 * shorter;
  if (isSliver) return bytesPerPixel * width * height;
  if (rendition.kind === 'thumbnail') return bytesPerPixel * ((THUMBNAIL_SIZE ** 2 * longer) / shorter);
  return bytesPerPixel * drawnPixels(image, rendition);
}

function bandBytes(image: Raster, rendition: Rendition): number {
  const { width, height, bytesPerPixel } = image;
  const rows = width > 16 * height ? height : Math.min(height, 64 * shrinkOf(rendition, image));
  return width * bytesPerPixel * rows;
}

/** Returns the pixels of a preview. */
function drawnPixels(image: { readonly width: number; readonly height: number }, rendition: Rendition): number {
  return (image.width * image.height) / shrinkOf(rendition, image) ** 2;
}

/**
 * Returns the bytes that the encoder of a preview needs: it holds all pixels, in RGB or RGBA, and again in its own
 * format. That of a thumbnail is included in the estimates of the formats.
 */
function encoderBytes(
  image: { readonly width: number; readonly height: number },
  rendition: Rendition,
  bytesPerPixel: number,
): number {
  return rendition.kind === 'thumbnail' ? 0 : bytesPerPixel * drawnPixels(image, rendition);
}

/** Bytes per pixel for encoding a preview of an opaque image, and of one that can have transparency. */
const ENCODER_BYTES = { opaque: 8, transparent: 14 };

/**
 * Estimates the memory for a JPEG. libjpeg decodes it row by row, scaled down to an eighth at most. If the JPEG is
 * progressive, or its first scan lacks a component, each pixel has several scans. libjpeg then holds two bytes per
 * sample.
 */
function estimateJpeg(image: Buffer, rendition: Rendition): number {
  let frame: { marker: number; height: number; width: number; components: number; samples: number } | undefined;
  for (const { marker, offset } of jpegSegments(image)) {
    if (marker === START_OF_SCAN) {
      if (!frame) return Infinity;
      const isWhole = PROGRESSIVE.has(frame.marker) || (image[offset] ?? 0) < frame.components;
      const divisor = 2 ** Math.min(3, Math.max(0, Math.floor(Math.log2(shrinkOf(rendition, frame) / 2))));
      const { components } = frame;
      const [width, height] = [frame.width / divisor, frame.height / divisor];
      const rows = decodedRowBytes({ width, height, bytesPerPixel: components }, rendition);
      return rows + encoderBytes(frame, rendition, ENCODER_BYTES.opaque) + (isWhole ? 2 * frame.samples : 0);
    }
    if (!START_OF_FRAME.has(marker) || offset + 6 > image.length) continue;
    const [height, width] = [image.readUInt16BE(offset + 1), image.readUInt16BE(offset + 3)];
    const components = image[offset + 5] ?? 0;
    frame = { marker, height, width, components, samples: width * height * samplesPerPixel(image, offset, components) };
  }
  // libjpeg also rejects a JPEG that ends before its first scan, before it decodes anything.
  return 0;
}

const START_OF_SCAN = 0xda;
const PROGRESSIVE: ReadonlySet<number> = new Set([0xc2, 0xca]);
const START_OF_FRAME: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc9, ...PROGRESSIVE]);

/** Returns the samples per pixel by chroma subsampling: 3 for a JPEG with 4:4:4, 1.5 with 4:2:0. */
function samplesPerPixel(image: Buffer, frame: number, components: number): number {
  let [sum, widest, highest] = [0, 1, 1];
  for (let index = 0; index < components; index++) {
    const factors = image[frame + 7 + 3 * index] ?? 0x11;
    sum += (factors >>> 4) * (factors & 15);
    widest = Math.max(widest, factors >>> 4);
    highest = Math.max(highest, factors & 15);
  }
  return sum / (widest * highest);
}

/** Yields the segments of a JPEG up to its first scan. Skips bytes between segments, like libjpeg. */
function* jpegSegments(image: Buffer): Generator<{ marker: number; offset: number }> {
  let position = 2;
  for (;;) {
    position = image.indexOf(0xff, position);
    while (position !== -1 && image[position] === 0xff) position++;
    const marker = image[position];
    if (position === -1 || marker === undefined) return;
    position++;
    // 0 is not a marker. TEM, RST0 to RST7, SOI and EOI have no length.
    if (marker === 0 || marker === 1 || (marker >= 0xd0 && marker <= 0xd9)) continue;
    if (position + 2 > image.length) return;
    const length = image.readUInt16BE(position) - 2;
    yield { marker, offset: position + 2 };
    position += 2 + Math.max(0, length);
  }
}

/**
 * Estimates the memory for a PNG. It is decoded row by row, or as a whole if it is interlaced. It can contain any
 * number of compressed texts and profiles, each of which can need up to 8 MB.
 */
function estimatePng(image: Buffer, rendition: Rendition): number {
  if (image.length < 33) return 0;
  const [width, height] = [image.readUInt32BE(16), image.readUInt32BE(20)];
  const [depth = 8, colour = 0, , , interlaced] = image.subarray(24, 29);
  const bytesPerPixel = (PNG_CHANNELS[colour] ?? 4) * (depth > 8 ? 2 : 1);
  const size = { width, height };
  let memory = encoderBytes(size, rendition, ENCODER_BYTES.transparent);
  memory += interlaced ? 1.2 * width * height * bytesPerPixel : decodedRowBytes({ ...size, bytesPerPixel }, rendition);
  for (let position = 8; position + 8 <= image.length; ) {
    const length = image.readUInt32BE(position);
    const type = image.toString('latin1', position + 4, position + 8);
    if (COMPRESSED_CHUNKS.has(type)) memory += Math.min(MAX_CHUNK_MEMORY_BYTES, MAX_DEFLATE_RATIO * length);
    position += 12 + length;
  }
  return memory;
}

/** Channels that libvips decodes for each colour type of a PNG, including transparency that a chunk can add. */
const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 2, 2: 4, 3: 4, 4: 2, 6: 4 };

const COMPRESSED_CHUNKS: ReadonlySet<string> = new Set(['zTXt', 'iTXt', 'iCCP']);
const MAX_CHUNK_MEMORY_BYTES = 8_000_000;
/** Maximum ratio of unpacked to packed bytes of deflate. */
const MAX_DEFLATE_RATIO = 1032;

/**
 * Estimates the memory for a WebP. It is decoded at reduced size, unless it is lossless, transparent or animated. The
 * decoder holds all pixels that it returns.
 */
function estimateWebp(image: Buffer, rendition: Rendition): number {
  if (image.length < 30) return 0;
  const first = image.toString('latin1', 12, 16);
  const preview = (width: number, height: number) =>
    encoderBytes({ width, height }, rendition, DECODED_BYTES + ENCODER_BYTES.transparent);
  if (first === 'VP8 ') return preview(image.readUInt16LE(26) & 0x3fff, image.readUInt16LE(28) & 0x3fff);
  if (first === 'VP8L') {
    const size = image.readUInt32LE(21);
    const [width, height] = [1 + (size & 0x3fff), 1 + ((size >>> 14) & 0x3fff)];
    return 5 * width * height + preview(width, height);
  }
  if (first !== 'VP8X') return Infinity;
  const isAnimated = ((image[20] ?? 0) & 2) !== 0;
  const [width, height] = [1 + image.readUIntLE(24, 3), 1 + image.readUIntLE(27, 3)];
  // Opening the file lists all frames, with some hundred bytes of memory per frame of 32 bytes.
  return (isAnimated ? 9 : 5) * width * height + 4 * image.length + preview(width, height);
}

/** Bytes per pixel that the decoder of WebP returns. */
const DECODED_BYTES = 4;
