import { type ByteSource, sourceFrom } from './byte-source.ts';
import type { ImageHeader } from './image-header.ts';

/*
 * The header of HEIC and AVIF: boxes of ISO/IEC 14496-12 and 23008-12. The box `meta` names the primary item, its
 * properties, and the place of the EXIF data.
 */

/** Brands of files that contain images. The same boxes are in videos. */
const IMAGE_BRANDS = /^(?:avif|avis|heic|heix|heim|heis|hevc|hevx|mif1|msf1|miaf)$/;

/** Maximum boxes of one level that are visited. */
const MAX_BOXES = 64;

/** Reads the dimensions and the EXIF data of the primary image. Returns undefined for other files of the family. */
export async function readHeifHeader(source: ByteSource): Promise<ImageHeader | undefined> {
  let position = 0;
  for (let count = 0; count < MAX_BOXES; count++) {
    const head = await source.bytes(position, 16);
    if (head.length < 8) return undefined;
    const [size, type] = [head.readUInt32BE(0), head.toString('latin1', 4, 8)];
    if (count === 0 && (type !== 'ftyp' || !(await hasImageBrand(source, size)))) return undefined;
    // A size of 1 announces one of 64 bits, and 0 a box up to the end of the file: neither is before the metadata.
    if (size < 8) return undefined;
    if (type === 'meta') return readMeta(source, await source.bytes(position + 12, size - 12));
    position += size;
  }
  return undefined;
}

async function hasImageBrand(source: ByteSource, size: number): Promise<boolean> {
  const brands = (await source.bytes(8, Math.min(size, 128) - 8)).toString('latin1').match(/.{4}/gs) ?? [];
  return brands.some((brand) => IMAGE_BRANDS.test(brand));
}

interface Box {
  readonly type: string;
  readonly content: Buffer;
}

/** Yields the boxes in a buffer. Ends at the first damaged one. */
function* boxesIn(bytes: Buffer, max = MAX_BOXES): Generator<Box> {
  let position = 0;
  for (let count = 0; count < max && position + 8 <= bytes.length; count++) {
    const size = bytes.readUInt32BE(position);
    if (size < 8 || position + size > bytes.length) return;
    const type = bytes.toString('latin1', position + 4, position + 8);
    yield { type, content: bytes.subarray(position + 8, position + size) };
    position += size;
  }
}

const findBox = (bytes: Buffer, type: string) => boxesIn(bytes).find((box) => box.type === type)?.content;

async function readMeta(source: ByteSource, meta: Buffer): Promise<ImageHeader | undefined> {
  const reader = (type: string) => new FieldReader(findBox(meta, type) ?? Buffer.alloc(0));
  const primary = reader('pitm');
  const idSize = primary.version() === 0 ? 2 : 4;
  primary.flags();
  const primaryId = primary.number(idSize);
  const properties = findBox(meta, 'iprp') ?? Buffer.alloc(0);
  const associated = readAssociations(new FieldReader(findBox(properties, 'ipma') ?? Buffer.alloc(0)), primaryId);
  const all = [...boxesIn(findBox(properties, 'ipco') ?? Buffer.alloc(0), MAX_PROPERTIES)];
  const own = associated.flatMap((index) => all[index - 1] ?? []);
  const extents = own.find(({ type }) => type === 'ispe')?.content;
  if (!extents || extents.length < 12) return undefined;
  const rotation = own.find(({ type }) => type === 'irot')?.content[0] ?? 0;
  const exifId = readExifItem(reader('iinf'));
  const start = exifId === undefined ? undefined : readLocation(reader('iloc'), exifId);
  return {
    width: extents.readUInt32BE(4),
    height: extents.readUInt32BE(8),
    isRotated: rotation % 2 === 1,
    exif: start === undefined ? undefined : await exifAt(source, start),
  };
}

/** Maximum properties of a file: an image of 500 tiles shares a few. */
const MAX_PROPERTIES = 256;

/** Maximum items of a file, such as the tiles of an image. */
const MAX_ITEMS = 4096;

/** Returns the EXIF data of an item, which begins with the offset of its TIFF header (ISO/IEC 23008-12, annex A). */
async function exifAt(source: ByteSource, start: number): Promise<ByteSource | undefined> {
  const prefix = await source.bytes(start, 4);
  return prefix.length < 4 ? undefined : sourceFrom(source, start + 4 + prefix.readUInt32BE(0));
}

/** Returns the numbers of the properties of an item, from 1 (`ItemPropertyAssociationBox`). */
function readAssociations(box: FieldReader, wantedId: number): number[] {
  const version = box.version();
  const isLong = (box.flags() & 1) !== 0;
  const items = Math.min(box.number(4), MAX_ITEMS);
  for (let item = 0; item < items && !box.isAtEnd(); item++) {
    const id = box.number(version === 0 ? 2 : 4);
    const count = box.number(1);
    const indices = Array.from({ length: count }, () => (isLong ? box.number(2) & 0x7fff : box.number(1) & 0x7f));
    if (id === wantedId) return indices;
  }
  return [];
}

/** Returns the ID of the item with EXIF data (`ItemInfoBox`). */
function readExifItem(box: FieldReader): number | undefined {
  const isShort = box.version() === 0;
  box.flags();
  box.number(isShort ? 2 : 4);
  for (const { type, content } of boxesIn(box.rest(), MAX_ITEMS)) {
    if (type !== 'infe') continue;
    const entry = new FieldReader(content);
    const version = entry.version();
    entry.flags();
    if (version < 2) continue;
    const id = entry.number(version === 2 ? 2 : 4);
    entry.number(2);
    if (entry.number(4) === EXIF_TYPE) return id;
  }
  return undefined;
}

const EXIF_TYPE = Buffer.from('Exif').readUInt32BE(0);

/** Returns the offset of an item in the file (`ItemLocationBox`); undefined unless it is there in one piece. */
function readLocation(box: FieldReader, wantedId: number): number | undefined {
  const version = box.version();
  box.flags();
  const sizes = box.number(2);
  const [offsetSize, lengthSize] = [sizes >>> 12, (sizes >>> 8) & 15];
  const [baseSize, indexSize] = [(sizes >>> 4) & 15, version === 0 ? 0 : sizes & 15];
  const items = Math.min(box.number(version < 2 ? 2 : 4), MAX_ITEMS);
  for (let item = 0; item < items && !box.isAtEnd(); item++) {
    const id = box.number(version < 2 ? 2 : 4);
    const method = version === 0 ? 0 : box.number(2) & 15;
    box.number(2);
    const base = box.number(baseSize);
    const extents = box.number(2);
    let start = Number.NaN;
    for (let extent = 0; extent < extents && !box.isAtEnd(); extent++) {
      box.number(indexSize);
      const offset = box.number(offsetSize);
      if (extent === 0) start = base + offset;
      box.number(lengthSize);
    }
    if (id === wantedId) return method === 0 && extents === 1 && Number.isSafeInteger(start) ? start : undefined;
  }
  return undefined;
}

/** Reads the fields of a full box in order. Beyond the end, all numbers are 0. */
class FieldReader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  version(): number {
    return this.number(1);
  }

  flags(): number {
    return this.number(3);
  }

  /** Returns the next number of `size` bytes: 0 to 8. */
  number(size: number): number {
    const start = this.#position;
    this.#position += size;
    let value = 0;
    for (let index = start; index < start + size; index++) value = value * 256 + (this.#bytes[index] ?? 0);
    return value;
  }

  isAtEnd(): boolean {
    return this.#position >= this.#bytes.length;
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#position);
  }
}
