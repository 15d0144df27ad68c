import { constants, gunzipSync } from 'node:zlib';
import { type ByteSource, bufferSource } from './byte-source.ts';
import { type PhotoDetails, readExif } from './exif.ts';
import { readHeifHeader } from './heif-header.ts';
import type { ImageHeader } from './image-header.ts';

/** What the header of an image says about it. */
export interface ImageDetails extends PhotoDetails {
  /** Pixels, upright. */
  readonly width: number;
  /** Pixels, upright. */
  readonly height: number;
}

/**
 * Reads the dimensions and the EXIF data of an image from its header, without decoding it. Returns undefined for other
 * files, and for damaged headers. Supports JPEG, PNG, WebP, GIF, TIFF, AVIF, HEIC and SVG.
 *
 * All code of this folder is JavaScript and reads bounded parts, so it needs no process of its own.
 */
export async function readImageDetails(source: ByteSource): Promise<ImageDetails | undefined> {
  const start = await source.bytes(0, 32);
  if (isTiff(start)) return readTiff(source);
  const header = await readHeader(source, start);
  if (!header || !isValidSize(header)) return undefined;
  const exif = header.exif && (await readExif(header.exif));
  const isRotated = header.isRotated ?? isSideways(exif?.orientation);
  return { ...upright(header, isRotated), ...exif?.details };
}

function readHeader(source: ByteSource, start: Buffer): Promise<ImageHeader | undefined> | ImageHeader | undefined {
  if (start[0] === 0xff && start[1] === 0xd8) return readJpeg(source);
  if (start.subarray(0, 8).equals(PNG_SIGNATURE)) return readPng(source, start);
  const text = start.toString('latin1');
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return readWebp(source, start);
  if (text.startsWith('GIF8') && start.length >= 10) {
    return { width: start.readUInt16LE(6), height: start.readUInt16LE(8) };
  }
  if (text.startsWith('ftyp', 4)) return readHeifHeader(source);
  return readSvg(source);
}

async function readTiff(source: ByteSource): Promise<ImageDetails | undefined> {
  const exif = await readExif(source);
  if (!exif?.size || !isValidSize(exif.size)) return undefined;
  return { ...upright(exif.size, isSideways(exif.orientation)), ...exif.details };
}

const isTiff = (start: Buffer) => /^(?:II\*\0|MM\0\*)/.test(start.toString('latin1', 0, 4));

interface Size {
  readonly width: number;
  readonly height: number;
}

const isValidSize = ({ width, height }: Size) =>
  Number.isSafeInteger(width) && Number.isSafeInteger(height) && width > 0 && height > 0;

/** Returns whether an EXIF orientation swaps the sides. */
const isSideways = (orientation = 1) => orientation >= 5;

const upright = ({ width, height }: Size, isRotated: boolean): Size =>
  isRotated ? { width: height, height: width } : { width, height };

/** Maximum segments, chunks or boxes of an image that are visited. */
const MAX_PARTS = 256;

async function readJpeg(source: ByteSource): Promise<ImageHeader | undefined> {
  let exif: ByteSource | undefined;
  let position = 2;
  for (let part = 0; part < MAX_PARTS; part++) {
    const segment = await source.bytes(position, 9);
    if (segment.length < 9 || segment[0] !== 0xff) return undefined;
    const marker = segment[1] ?? 0;
    // Padding before a marker, and markers without a length: TEM, RST0 to RST7.
    if (marker === 0xff) position += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) position += 2;
    // The first scan, or the end.
    else if (marker === 0xda || marker === 0xd9) return undefined;
    else if (isFrame(marker)) return { width: segment.readUInt16BE(7), height: segment.readUInt16BE(5), exif };
    else {
      const length = segment.readUInt16BE(2);
      if (marker === 0xe1 && exif === undefined) exif = await readExifSegment(source, position + 4, length - 2);
      position += 2 + Math.max(2, length);
    }
  }
  return undefined;
}

/** Returns whether a marker begins a frame: SOF0 to SOF15, but neither DHT, JPG nor DAC. */
const isFrame = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Returns the EXIF data of an APP1 segment; undefined for other data, such as XMP. */
async function readExifSegment(source: ByteSource, start: number, length: number): Promise<ByteSource | undefined> {
  const segment = await source.bytes(start, length);
  return segment.toString('latin1', 0, 6) === EXIF_PREFIX ? bufferSource(segment.subarray(6)) : undefined;
}

const EXIF_PREFIX = 'Exif\0\0';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

async function readPng(source: ByteSource, start: Buffer): Promise<ImageHeader | undefined> {
  if (start.length < 24) return undefined;
  const size = { width: start.readUInt32BE(16), height: start.readUInt32BE(20) };
  let position = 8;
  for (let part = 0; part < MAX_PARTS; part++) {
    const chunk = await source.bytes(position, 8);
    if (chunk.length < 8) break;
    const [length, type] = [chunk.readUInt32BE(0), chunk.toString('latin1', 4, 8)];
    if (type === 'eXIf') return { ...size, exif: await copyOf(source, position + 8, length) };
    // EXIF data can also follow the pixels, but cameras and editors write it before them.
    if (type === 'IDAT' || type === 'IEND') break;
    position += 12 + length;
  }
  return size;
}

/** Returns a part of a source in memory. */
async function copyOf(source: ByteSource, start: number, length: number): Promise<ByteSource> {
  return bufferSource(await source.bytes(start, length));
}

async function readWebp(source: ByteSource, start: Buffer): Promise<ImageHeader | undefined> {
  if (start.length < 30) return undefined;
  switch (start.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: start.readUInt16LE(26) & 0x3fff, height: start.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = start.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 'VP8X': {
      const size = { width: 1 + start.readUIntLE(24, 3), height: 1 + start.readUIntLE(27, 3) };
      const hasExif = ((start[20] ?? 0) & 8) !== 0;
      return { ...size, exif: hasExif ? await readWebpExif(source) : undefined };
    }
    default:
      return undefined;
  }
}

/** Returns the EXIF data of a WebP, which follows the pixels. Some programs write the prefix of JPEG before it. */
async function readWebpExif(source: ByteSource): Promise<ByteSource | undefined> {
  let position = 12;
  for (let part = 0; part < MAX_PARTS; part++) {
    const chunk = await source.bytes(position, 8);
    if (chunk.length < 8) return undefined;
    const length = chunk.readUInt32LE(4);
    if (chunk.toString('latin1', 0, 4) === 'EXIF') {
      const data = await source.bytes(position + 8, length);
      return bufferSource(data.toString('latin1', 0, 6) === EXIF_PREFIX ? data.subarray(6) : data);
    }
    position += 8 + length + (length % 2);
  }
  return undefined;
}

/** Bytes of an SVG in which its root element is searched, as libvips does. */
const SVG_SEARCH_BYTES = 4096;

/** Reads the size of an SVG in pixels: its `width` and `height` without a relative unit, or its `viewBox`. */
async function readSvg(source: ByteSource): Promise<ImageHeader | undefined> {
  const text = unzipped(await source.bytes(0, SVG_SEARCH_BYTES)).toString('latin1', 0, SVG_SEARCH_BYTES);
  const root = /<svg\s([^<>]*)>/i.exec(text)?.[1];
  if (root === undefined) return undefined;
  const attributes = new Map(root.matchAll(ATTRIBUTE).map(([, name = '', value = '']) => [name, value.trim()]));
  const attribute = (name: string) => attributes.get(name) ?? '';
  const length = (name: string) => {
    const [, number = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,9})?)([a-z]*)$/.exec(attribute(name)) ?? [];
    return number === '' ? undefined : Number(number) * (CSS_PIXELS[unit] ?? Number.NaN);
  };
  const [width, height] = [length('width'), length('height')];
  const [, , boxWidth = Number.NaN, boxHeight = Number.NaN] = attribute('viewBox')
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  const ratio = boxWidth / boxHeight;
  const size = {
    width: width ?? (height === undefined ? boxWidth : height * ratio),
    height: height ?? (width === undefined ? boxHeight : width / ratio),
  };
  return { width: Math.round(size.width), height: Math.round(size.height) };
}

/** Returns the beginning of a file, decompressed if it is compressed by gzip: at most 1,032 times its bytes. */
function unzipped(start: Buffer): Buffer {
  if (start[0] !== 0x1f || start[1] !== 0x8b) return start;
  try {
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0);
  }
}

/** Matches an attribute of an XML element, without spaces around its `=`. */
const ATTRIBUTE = /(?<![^\s"'])([\w:-]{1,50})=["']([^"']*)["']/g;

/** Pixels of the units of CSS. */
const CSS_PIXELS: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 96 / 2.54,
  mm: 96 / 25.4,
};
