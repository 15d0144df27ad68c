/*
 * The orientation of a JPEG file (Exif 2.32, tag 0x0112): how viewers turn and mirror the stored pixels. Changing it rotates a
 * photo without decoding it.
 */

/** The file is not a JPEG, or has an orientation that can't be changed in place. */
export class UnsupportedJpegError extends Error {
  override readonly name = 'UnsupportedJpegError';
}

/** Bytes at the start of a file that are searched for Exif data. */
const MAX_HEAD_BYTES = 4 * 2 ** 20;

/** Returns the orientation after `turns` quarter turns clockwise. An invalid orientation counts as upright. */
export function turnedOrientation(orientation: number, turns: number): number {
  const cycle = CYCLES.find((candidate) => candidate.includes(orientation)) ?? PLAIN;
  const index = Math.max(0, cycle.indexOf(orientation)) + turns;
  return cycle[((index % 4) + 4) % 4] ?? 1;
}

/** Each orientation is followed by that of the photo turned clockwise by 90°. */
const PLAIN: readonly number[] = [1, 6, 3, 8];
const CYCLES: readonly (readonly number[])[] = [PLAIN, [2, 7, 4, 5]];

/** Returns a JPEG file turned clockwise, with all other bytes unchanged. Throws `UnsupportedJpegError`. */
export async function turnedJpeg(file: Blob, turns: number): Promise<Blob> {
  const head = new Uint8Array(await file.slice(0, MAX_HEAD_BYTES).arrayBuffer());
  const { from, to, replacement } = turnedHead(head, turns);
  return new Blob([file.slice(0, from), replacement, file.slice(to)], { type: file.type });
}

/** Bytes of the file that others replace. */
interface Patch {
  readonly from: number;
  readonly to: number;
  readonly replacement: Uint8Array<ArrayBuffer>;
}

function turnedHead(head: Uint8Array, turns: number): Patch {
  const { exif, insertAt } = findExif(head);
  if (exif) return turnedExif(head, exif, turns);
  return { from: insertAt, to: insertAt, replacement: newExifSegment(turnedOrientation(1, turns)) };
}

interface Segment {
  /** The position of the marker. */
  readonly start: number;
  /** The position after the segment. */
  readonly end: number;
}

const APP0 = 0xe0;
const APP1 = 0xe1;
const START_OF_SCAN = 0xda;
const EXIF_NAME = [0x45, 0x78, 0x69, 0x66, 0, 0] as const;

/** Returns the segment with Exif data, or the position for a new one: after the JFIF header, which must be first. */
function findExif(head: Uint8Array): { readonly exif: Segment | undefined; readonly insertAt: number } {
  if (head[0] !== 0xff || head[1] !== 0xd8) throw new UnsupportedJpegError('The file has no start of a JPEG image.');
  let insertAt = 2;
  for (let position = 2; position + 4 <= head.length; ) {
    if (head[position] !== 0xff) break;
    const marker = head[position + 1] ?? 0;
    // Any number of fill bytes can precede a marker.
    if (marker === 0xff) {
      position += 1;
      continue;
    }
    if (marker === START_OF_SCAN) return { exif: undefined, insertAt };
    const end = position + 2 + (((head[position + 2] ?? 0) << 8) | (head[position + 3] ?? 0));
    if (end < position + 4) break;
    if (marker === APP1 && EXIF_NAME.every((byte, index) => head[position + 4 + index] === byte)) {
      if (end > head.length) break;
      return { exif: { start: position, end }, insertAt };
    }
    if (marker === APP0 && position === insertAt) insertAt = end;
    position = end;
  }
  throw new UnsupportedJpegError('The file has no valid JPEG segments.');
}

const ORIENTATION = 0x0112;
const SHORT = 3;
/** The marker, the length and the name of an Exif segment. */
const PREFIX_BYTES = 10;
const ENTRY_BYTES = 12;
const MAX_SEGMENT_BYTES = 0xffff;

/** Changes the tag, or adds it in a copy of the directory at the end of the segment, so that no other data moves. */
function turnedExif(head: Uint8Array, { start, end }: Segment, turns: number): Patch {
  const tiffStart = start + PREFIX_BYTES;
  const tiff = new DataView(head.buffer, head.byteOffset + tiffStart, end - tiffStart);
  const { isLittle, directory, count } = readHeader(tiff);
  for (let index = 0; index < count; index++) {
    const entry = directory + 2 + index * ENTRY_BYTES;
    if (tiff.getUint16(entry, isLittle) !== ORIENTATION) continue;
    if (tiff.getUint16(entry + 2, isLittle) !== SHORT || tiff.getUint32(entry + 4, isLittle) !== 1) {
      throw new UnsupportedJpegError('The orientation has an invalid type.');
    }
    const value = tiffStart + entry + 8;
    const replacement = new Uint8Array(2);
    const turned = turnedOrientation(tiff.getUint16(entry + 8, isLittle), turns);
    new DataView(replacement.buffer).setUint16(0, turned, isLittle);
    return { from: value, to: value + 2, replacement };
  }

  // Offsets in TIFF data should be even.
  const padding = tiff.byteLength % 2;
  const copyStart = tiff.byteLength + padding;
  const copy = new Uint8Array(2 + (count + 1) * ENTRY_BYTES + 4);
  const size = PREFIX_BYTES - 2 + copyStart + copy.length;
  if (size > MAX_SEGMENT_BYTES) throw new UnsupportedJpegError('The Exif data has no space for the orientation.');
  writeDirectory(new DataView(copy.buffer), tiff, { isLittle, directory, count }, turnedOrientation(1, turns));
  const replacement = new Uint8Array(2 + size);
  replacement.set(head.subarray(start, end));
  replacement.set(copy, PREFIX_BYTES + copyStart);
  const view = new DataView(replacement.buffer);
  view.setUint16(2, size);
  view.setUint32(PREFIX_BYTES + 4, copyStart, isLittle);
  return { from: start, to: end, replacement };
}

interface Header {
  readonly isLittle: boolean;
  /** The offset of the first directory, and the number of its entries. */
  readonly directory: number;
  readonly count: number;
}

function readHeader(tiff: DataView): Header {
  const invalid = () => new UnsupportedJpegError('The Exif data is invalid.');
  if (tiff.byteLength < 8) throw invalid();
  const order = tiff.getUint16(0);
  const isLittle = order === 0x4949;
  if ((!isLittle && order !== 0x4d4d) || tiff.getUint16(2, isLittle) !== 42) throw invalid();
  const directory = tiff.getUint32(4, isLittle);
  if (directory < 8 || directory + 2 > tiff.byteLength) throw invalid();
  const count = tiff.getUint16(directory, isLittle);
  if (directory + 2 + count * ENTRY_BYTES + 4 > tiff.byteLength) throw invalid();
  return { isLittle, directory, count };
}

/** Writes a copy of a directory with the orientation. The entries are sorted by their tags. */
function writeDirectory(copy: DataView, tiff: DataView, header: Header, orientation: number): void {
  const { isLittle, directory, count } = header;
  const tagAt = (index: number) => tiff.getUint16(directory + 2 + index * ENTRY_BYTES, isLittle);
  let before = 0;
  while (before < count && tagAt(before) < ORIENTATION) before += 1;
  copy.setUint16(0, count + 1, isLittle);
  for (let index = 0; index < count; index++) {
    const from = directory + 2 + index * ENTRY_BYTES;
    const to = 2 + (index < before ? index : index + 1) * ENTRY_BYTES;
    for (let byte = 0; byte < ENTRY_BYTES; byte++) copy.setUint8(to + byte, tiff.getUint8(from + byte));
  }
  writeOrientation(copy, 2 + before * ENTRY_BYTES, isLittle, orientation);
  const next = tiff.getUint32(directory + 2 + count * ENTRY_BYTES, isLittle);
  copy.setUint32(2 + (count + 1) * ENTRY_BYTES, next, isLittle);
}

function writeOrientation(view: DataView, at: number, isLittle: boolean, orientation: number): void {
  view.setUint16(at, ORIENTATION, isLittle);
  view.setUint16(at + 2, SHORT, isLittle);
  view.setUint32(at + 4, 1, isLittle);
  view.setUint16(at + 8, orientation, isLittle);
}

/** Returns an Exif segment with the orientation only. */
function newExifSegment(orientation: number): Uint8Array<ArrayBuffer> {
  const tiffBytes = 8 + 2 + ENTRY_BYTES + 4;
  const segment = new Uint8Array(PREFIX_BYTES + tiffBytes);
  const view = new DataView(segment.buffer);
  segment.set([0xff, APP1, 0, PREFIX_BYTES - 2 + tiffBytes, ...EXIF_NAME, 0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1]);
  writeOrientation(view, PREFIX_BYTES + 10, false, orientation);
  return segment;
}
