/** A value of a tag: a text, or numbers of 8 bits, or fractions. */
type Value = string | readonly number[] | Fractions;

interface Fractions {
  readonly fractions: readonly (readonly [number, number])[];
}

export const rational = (...fractions: (readonly [number, number])[]): Fractions => ({ fractions });

type Tags = Readonly<Record<number, Value>>;

/** Builds EXIF data, little-endian, from the tags of its directories. */
export function tiff({ image = {}, photo = {}, gps = {} }: { image?: Tags; photo?: Tags; gps?: Tags }): Buffer {
  const header = Buffer.from('II*\0\x08\0\0\0', 'latin1');
  const length = (tags: Tags, more = 0) => 2 + 12 * (Object.keys(tags).length + more) + 4;
  const photoStart = 8 + length(image, 2);
  const gpsStart = photoStart + length(photo);
  const values: Buffer[] = [];
  let end = gpsStart + length(gps);
  const put = (bytes: Buffer) => {
    values.push(bytes);
    end += bytes.length;
    return end - bytes.length;
  };
  const directories = [
    directory(image, put, [
      [0x8769, photoStart],
      [0x8825, gpsStart],
    ]),
    directory(photo, put),
    directory(gps, put),
  ];
  return Buffer.concat([header, ...directories, ...values]);
}

function directory(tags: Tags, put: (bytes: Buffer) => number, pointers: readonly [number, number][] = []): Buffer {
  const entries = [
    ...Object.entries(tags).map(([tag, value]) => entry(Number(tag), value, put)),
    ...pointers.map(([tag, offset]) => record(tag, 4, 1, uint32(offset))),
  ];
  const count = Buffer.alloc(2);
  count.writeUInt16LE(entries.length);
  return Buffer.concat([count, ...entries, Buffer.alloc(4)]);
}

function entry(tag: number, value: Value, put: (bytes: Buffer) => number): Buffer {
  const [type, count, bytes] = encode(value);
  const field = bytes.length <= 4 ? Buffer.concat([bytes, Buffer.alloc(4 - bytes.length)]) : uint32(put(bytes));
  return record(tag, type, count, field);
}

function encode(value: Value): [type: number, count: number, bytes: Buffer] {
  if (typeof value === 'string') {
    const bytes = Buffer.from(`${value}\0`);
    return [2, bytes.length, bytes];
  }
  if ('fractions' in value) {
    return [5, value.fractions.length, Buffer.concat(value.fractions.flat().map(uint32))];
  }
  return [1, value.length, Buffer.from(value)];
}

function record(tag: number, type: number, count: number, field: Buffer): Buffer {
  const start = Buffer.alloc(8);
  start.writeUInt16LE(tag, 0);
  start.writeUInt16LE(type, 2);
  start.writeUInt32LE(count, 4);
  return Buffer.concat([start, field]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
