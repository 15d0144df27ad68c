import { isUtf8 } from 'node:buffer';
import type { ByteSource } from './byte-source.ts';

/*
 * EXIF data (CIPA DC-008, JEITA CP-3451): directories of tags in the format of TIFF 6.0. Only known tags are read, and of
 * each at most `MAX_TEXT_BYTES` or a few numbers, so that hostile data takes neither time nor memory. General EXIF
 * libraries read every tag: 64 KiB with overlapping values become gigabytes.
 */

/** Where an image was taken. */
export interface Location {
  /** Degrees, positive in the north. */
  readonly latitude: number;
  /** Degrees, positive in the east. */
  readonly longitude: number;
  /** Meters above sea level. */
  readonly altitude?: number;
}

/** What EXIF data says about a photo. */
export interface PhotoDetails {
  /** Local date and time, with the offset from UTC if it is known: `2026-11-01T20:41:00+01:00`. */
  readonly takenAt?: string;
  readonly camera?: string;
  readonly lens?: string;
  /** Millimeters. */
  readonly focalLength?: number;
  /** Millimeters, for a sensor of 36 × 24 mm. */
  readonly focalLength35mm?: number;
  /** The f-number. */
  readonly aperture?: number;
  /** Seconds. */
  readonly exposureTime?: number;
  /** Stops. */
  readonly exposureBias?: number;
  readonly iso?: number;
  readonly flash?: boolean;
  readonly location?: Location;
}

/** The dimensions in a TIFF directory, before rotation. */
export interface TiffSize {
  readonly width: number;
  readonly height: number;
}

export interface ExifData {
  readonly details: PhotoDetails;
  /** From 1 to 8; undefined if it is unknown. */
  readonly orientation: number | undefined;
  /** The size of the first image, in TIFF files. */
  readonly size: TiffSize | undefined;
}

/** Reads EXIF data that begins with the header of TIFF. Returns undefined if it does not, and omits damaged values. */
export async function readExif(source: ByteSource): Promise<ExifData | undefined> {
  const header = await source.bytes(0, 8);
  const order = header.toString('latin1', 0, 4);
  if (header.length < 8 || (order !== 'II*\0' && order !== 'MM\0*')) return undefined;
  const isBig = order === 'MM\0*';
  const image = await readDirectory({ source, isBig }, isBig ? header.readUInt32BE(4) : header.readUInt32LE(4));
  const offsetOf = async (tag: number) => (await image.numbers(tag))[0];
  const photo = await readDirectory({ source, isBig }, await offsetOf(TAGS.exif));
  const position = await readDirectory({ source, isBig }, await offsetOf(TAGS.gps));
  const [orientation = 0] = await image.numbers(TAGS.orientation);
  const [[width = 0], [height = 0]] = [await image.numbers(TAGS.width), await image.numbers(TAGS.height)];
  return {
    details: defined({ ...(await readCamera(image, photo)), location: await readLocation(position) }),
    orientation: Number.isInteger(orientation) && orientation >= 1 && orientation <= 8 ? orientation : undefined,
    size: width > 0 && height > 0 ? { width, height } : undefined,
  };
}

const TAGS = {
  width: 0x100,
  height: 0x101,
  make: 0x10f,
  model: 0x110,
  orientation: 0x112,
  exposureTime: 0x829a,
  aperture: 0x829d,
  exif: 0x8769,
  gps: 0x8825,
  iso: 0x8827,
  original: 0x9003,
  digitized: 0x9004,
  originalOffset: 0x9011,
  digitizedOffset: 0x9012,
  exposureBias: 0x9204,
  flash: 0x9209,
  focalLength: 0x920a,
  focalLength35mm: 0xa405,
  lensMake: 0xa433,
  lens: 0xa434,
} as const;

const GPS_TAGS = { latitudeRef: 1, latitude: 2, longitudeRef: 3, longitude: 4, altitudeRef: 5, altitude: 6 } as const;

async function readCamera(image: Directory, photo: Directory): Promise<Partial<PhotoDetails>> {
  const positive = async (tag: number) => {
    const [value = 0] = await photo.numbers(tag);
    return value > 0 && Number.isFinite(value) ? value : undefined;
  };
  const [bias] = await photo.numbers(TAGS.exposureBias);
  const [flash] = await photo.numbers(TAGS.flash);
  return {
    takenAt:
      (await readTime(photo, TAGS.original, TAGS.originalOffset)) ??
      (await readTime(photo, TAGS.digitized, TAGS.digitizedOffset)),
    camera: withMake(await image.text(TAGS.make), await image.text(TAGS.model)),
    lens: withMake(await photo.text(TAGS.lensMake), await photo.text(TAGS.lens)),
    focalLength: await positive(TAGS.focalLength),
    focalLength35mm: await positive(TAGS.focalLength35mm),
    aperture: await positive(TAGS.aperture),
    exposureTime: await positive(TAGS.exposureTime),
    exposureBias: bias !== undefined && Number.isFinite(bias) ? bias : undefined,
    iso: await positive(TAGS.iso),
    // Bit 0: the flash fired. Bit 5: the camera has none.
    flash: flash === undefined || (flash & 32) !== 0 ? undefined : (flash & 1) !== 0,
  };
}

/** Returns the name of a device with its maker, unless the name begins with the first word of it. */
function withMake(make: string | undefined, model: string | undefined): string | undefined {
  if (model === undefined) return make;
  const [first = ''] = (make ?? '').split(/[\s,]/);
  return first === '' || model.toLowerCase().startsWith(first.toLowerCase()) ? model : `${make} ${model}`;
}

async function readTime(photo: Directory, tag: number, offsetTag: number): Promise<string | undefined> {
  const found = DATE_TIME.exec((await photo.text(tag)) ?? '');
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, zone] = found;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  // `Date` accepts the 31st of each month, but returns another day.
  const time = new Date(`${local}Z`);
  if (Number(year) < 1 || Number.isNaN(time.getTime()) || time.toISOString() !== `${local}.000Z`) return undefined;
  const offset = (await photo.text(offsetTag)) ?? '';
  return local + (/^[+-](?:0\d|1[0-4]):[0-5]\d$/.test(offset) ? offset : zoneOffset(zone));
}

/**
 * A date and time, perhaps with a fraction of the second. EXIF has the offset from UTC in another tag, but some programs
 * append it to the time.
 */
const DATE_TIME =
  /^(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})? ?(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?$/;

/** Returns the offset from UTC in a time as `+01:00`; empty without one. */
function zoneOffset(zone = ''): string {
  return zone === 'Z' ? '+00:00' : zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2');
}

async function readLocation(position: Directory): Promise<Location | undefined> {
  const read = async (tag: number, refTag: number, [positive, negative]: readonly [string, string], max: number) => {
    const [degrees = Number.NaN, minutes = 0, seconds = 0] = await position.numbers(tag);
    const sign = { [positive]: 1, [negative]: -1 }[(await position.text(refTag)) ?? ''];
    const value = degrees + minutes / 60 + seconds / 3600;
    return sign !== undefined && value >= 0 && value <= max ? Math.round(sign * value * 1e7) / 1e7 : undefined;
  };
  const latitude = await read(GPS_TAGS.latitude, GPS_TAGS.latitudeRef, ['N', 'S'], 90);
  const longitude = await read(GPS_TAGS.longitude, GPS_TAGS.longitudeRef, ['E', 'W'], 180);
  // Cameras without a satellite fix write zeros.
  if (latitude === undefined || longitude === undefined || (latitude === 0 && longitude === 0)) return undefined;
  const [altitude = Number.NaN] = await position.numbers(GPS_TAGS.altitude);
  const [isBelow = 0] = await position.numbers(GPS_TAGS.altitudeRef);
  if (!Number.isFinite(altitude)) return { latitude, longitude };
  return { latitude, longitude, altitude: Math.round((isBelow === 1 ? -altitude : altitude) * 10) / 10 };
}

interface Tiff {
  readonly source: ByteSource;
  /** Whether the most significant byte of a number comes first. */
  readonly isBig: boolean;
}

/** One directory of tags. */
interface Directory {
  /** Returns the first numbers of a tag; empty if it has none. */
  numbers(tag: number): Promise<number[]>;
  /** Returns the text of a tag; undefined if it is missing or blank. */
  text(tag: number): Promise<string | undefined>;
}

/** Maximum entries of a directory that are searched. Cameras write at most 60. */
const MAX_ENTRIES = 512;
const ENTRY_BYTES = 12;
const MAX_NUMBERS = 3;
const MAX_TEXT_BYTES = 256;

/** Bytes of a value by type: BYTE, ASCII, SHORT, LONG, RATIONAL, SBYTE, UNDEFINED, SSHORT, SLONG, SRATIONAL. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8];

/** Reads the directory at `offset`. Returns an empty one for an invalid offset. */
async function readDirectory(tiff: Tiff, offset = 0): Promise<Directory> {
  const { source, isBig } = tiff;
  const start = offset >= 8 ? await source.bytes(offset, 2) : Buffer.alloc(0);
  const count = start.length < 2 ? 0 : isBig ? start.readUInt16BE(0) : start.readUInt16LE(0);
  const entries = await source.bytes(offset + 2, Math.min(count, MAX_ENTRIES) * ENTRY_BYTES);

  /** Returns the type of a tag, and the bytes of its first values. */
  const find = async (tag: number, maxCount: number): Promise<{ type: number; bytes: Buffer } | undefined> => {
    for (let position = 0; position + ENTRY_BYTES <= entries.length; position += ENTRY_BYTES) {
      const entry = entries.subarray(position, position + ENTRY_BYTES);
      if ((isBig ? entry.readUInt16BE(0) : entry.readUInt16LE(0)) !== tag) continue;
      const type = isBig ? entry.readUInt16BE(2) : entry.readUInt16LE(2);
      const values = isBig ? entry.readUInt32BE(4) : entry.readUInt32LE(4);
      const size = TYPE_BYTES[type] ?? 0;
      const length = size * Math.min(values, maxCount);
      if (size * values <= 4) return { type, bytes: entry.subarray(8, 8 + length) };
      return { type, bytes: await source.bytes(isBig ? entry.readUInt32BE(8) : entry.readUInt32LE(8), length) };
    }
    return undefined;
  };

  return {
    async numbers(tag) {
      const found = await find(tag, MAX_NUMBERS);
      if (!found) return [];
      const { type, bytes } = found;
      const size = TYPE_BYTES[type] ?? 0;
      if (size === 0) return [];
      return Array.from({ length: Math.floor(bytes.length / size) }, (_, index) =>
        readNumber(bytes.subarray(index * size, (index + 1) * size), type, isBig),
      );
    },
    async text(tag) {
      const found = await find(tag, MAX_TEXT_BYTES);
      return found?.type === 2 ? cleanText(found.bytes) : undefined;
    },
  };
}

/** Reads one number. Returns NaN for a fraction of zero by zero, and for a type that is no number. */
function readNumber(bytes: Buffer, type: number, isBig: boolean): number {
  switch (type) {
    case 1:
      return bytes.readUInt8(0);
    case 3:
      return isBig ? bytes.readUInt16BE(0) : bytes.readUInt16LE(0);
    case 4:
      return isBig ? bytes.readUInt32BE(0) : bytes.readUInt32LE(0);
    case 5:
      return isBig ? bytes.readUInt32BE(0) / bytes.readUInt32BE(4) : bytes.readUInt32LE(0) / bytes.readUInt32LE(4);
    case 8:
      return isBig ? bytes.readInt16BE(0) : bytes.readInt16LE(0);
    case 9:
      return isBig ? bytes.readInt32BE(0) : bytes.readInt32LE(0);
    case 10:
      return isBig ? bytes.readInt32BE(0) / bytes.readInt32BE(4) : bytes.readInt32LE(0) / bytes.readInt32LE(4);
    default:
      return Number.NaN;
  }
}

/** Returns the text before the first NUL, without invisible characters; undefined if it is blank. */
function cleanText(bytes: Buffer): string | undefined {
  const end = bytes.indexOf(0);
  const content = end === -1 ? bytes : bytes.subarray(0, end);
  const text = content.toString(isUtf8(content) ? 'utf8' : 'latin1');
  return text.replaceAll(/\p{C}/gu, '').trim() || undefined;
}

/** Returns the object without its undefined members. */
function defined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Value;
}
