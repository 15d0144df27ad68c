import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';

/** A file or folder in an archive. */
export interface ParsedEntry {
  readonly name: string;
  readonly content: Buffer;
  readonly mode: number;
  /** The modification time in seconds since 1970; undefined if the archive has none. */
  readonly modified: number | undefined;
  readonly isZip64: boolean;
}

/**
 * Parses an archive as the strictest readers do: from the directory at its end, and again from the start, without gaps.
 * Asserts the rules that readers have beyond the format: names that are safe to extract, UTF-8, Zip64 only where needed.
 */
export function parseArchive(archive: Buffer): ParsedEntry[] {
  const end = archive.length - 22;
  assert.equal(archive.readUInt32LE(end), 0x06054b50, 'the end record is at the end');
  assert.equal(archive.readUInt16LE(end + 20), 0, 'there is no comment');
  const directory = directoryOf(archive, end);
  const entries: ParsedEntry[] = [];
  let [at, local] = [directory.offset, 0];
  for (let index = 0; index < directory.entries; index++) {
    const header = parseCentral(archive, at);
    assert.equal(header.offset, local, `the content of ${header.name} follows the one before`);
    const { content, next } = parseLocal(archive, header);
    entries.push({ ...header, content });
    at = header.next;
    local = next;
  }
  assert.equal(local, directory.offset, 'the directory follows the last content');
  assert.equal(at, directory.offset + directory.size);
  assertSafe(entries.map(({ name }) => name));
  return entries;
}

function directoryOf(archive: Buffer, end: number) {
  const entries = archive.readUInt16LE(end + 10);
  const size = archive.readUInt32LE(end + 12);
  const offset = archive.readUInt32LE(end + 16);
  assert.equal(archive.readUInt16LE(end + 8), entries);
  if (entries < 0xffff && size < 0xffffffff && offset < 0xffffffff) {
    assert.equal(offset + size, end, 'there is no Zip64 record where none is needed');
    return { entries, size, offset };
  }
  const locator = end - 20;
  assert.equal(archive.readUInt32LE(locator), 0x07064b50);
  const record = number64(archive, locator + 8);
  assert.equal(archive.readUInt32LE(record), 0x06064b50);
  assert.equal(number64(archive, record + 4), 44);
  assert.equal(record + 56, locator);
  const [count, bytes, start] = [32, 40, 48].map((at) => number64(archive, record + at)) as [number, number, number];
  assert.equal(start + bytes, record);
  return { entries: count, size: bytes, offset: start };
}

function parseCentral(archive: Buffer, at: number) {
  assert.equal(archive.readUInt32LE(at), 0x02014b50);
  const nameLength = archive.readUInt16LE(at + 28);
  const extraLength = archive.readUInt16LE(at + 30);
  const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
  const extra = parseExtra(archive.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength));
  const zip64 = extra.get(0x0001);
  let [size, offset] = [archive.readUInt32LE(at + 24), archive.readUInt32LE(at + 42)];
  assert.equal(archive.readUInt32LE(at + 20), size, 'stored');
  let field = 0;
  if (size === 0xffffffff && zip64) {
    size = number64(zip64, 0);
    assert.equal(number64(zip64, 8), size);
    field = 16;
  }
  if (offset === 0xffffffff && zip64) offset = number64(zip64, field);
  assert.equal(zip64 !== undefined, size >= 0xffffffff || offset >= 0xffffffff, 'Zip64 only where needed');
  assert.equal(archive.readUInt16LE(at + 4), (3 << 8) | (zip64 ? 45 : 20), 'made by Unix');
  assert.equal(archive.readUInt16LE(at + 6), zip64 ? 45 : 20);
  const mode = archive.readUInt32LE(at + 38) >>> 16;
  return {
    name,
    size,
    offset,
    mode,
    isZip64: zip64 !== undefined,
    modified: extra.get(0x5455)?.readInt32LE(1),
    crc: archive.readUInt32LE(at + 16),
    shared: archive.subarray(at + 6, at + 16),
    nameBytes: archive.subarray(at + 46, at + 46 + nameLength),
    flags: archive.readUInt16LE(at + 8),
    next: at + 46 + nameLength + extraLength,
  };
}

function parseLocal(archive: Buffer, header: ReturnType<typeof parseCentral>) {
  const { offset: at, size, crc, flags, nameBytes } = header;
  assert.equal(archive.readUInt32LE(at), 0x04034b50);
  const isLarge = size >= 0xffffffff;
  // The version can differ: the offset might need Zip64 in the directory.
  assert.deepEqual(archive.subarray(at + 6, at + 14), header.shared.subarray(2), 'both headers agree');
  assert.equal(flags, size > 0 ? 0x0808 : 0x0800, 'UTF-8, and a data descriptor if there is content');
  assert.equal(archive.readUInt16LE(at + 8), 0, 'stored');
  assert.equal(archive.readUInt32LE(at + 14), 0);
  for (const field of [18, 22]) assert.equal(archive.readUInt32LE(at + field), isLarge ? 0xffffffff : 0);
  const nameLength = archive.readUInt16LE(at + 26);
  const start = at + 30 + nameLength + archive.readUInt16LE(at + 28);
  assert.deepEqual(archive.subarray(at + 30, at + 30 + nameLength), nameBytes);
  const extra = parseExtra(archive.subarray(at + 30 + nameLength, start));
  assert.equal(extra.has(0x0001), isLarge, 'a Zip64 size needs its extra field also in the local header');
  const content = archive.subarray(start, start + size);
  assert.equal(content.length, size);
  assert.equal(crc32(content), crc, `the checksum of ${header.name}`);
  const descriptor = start + size;
  if (size === 0) return { content, next: descriptor };
  assert.equal(archive.readUInt32LE(descriptor), 0x08074b50);
  assert.equal(archive.readUInt32LE(descriptor + 4), crc);
  const sizes = isLarge
    ? [number64(archive, descriptor + 8), number64(archive, descriptor + 16)]
    : [archive.readUInt32LE(descriptor + 8), archive.readUInt32LE(descriptor + 12)];
  assert.deepEqual(sizes, [size, size]);
  return { content, next: descriptor + (isLarge ? 24 : 16) };
}

function parseExtra(bytes: Buffer): Map<number, Buffer> {
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at + 2);
    fields.set(bytes.readUInt16LE(at), bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
    assert.ok(at <= bytes.length);
  }
  return fields;
}

const number64 = (bytes: Buffer, at: number) => Number(bytes.readBigUInt64LE(at));

/** Asserts that all names can be extracted by any system, each to a path of its own below one folder. */
export function assertSafe(names: readonly string[]): void {
  const files = new Set<string>();
  const folders = new Set<string>();
  for (const name of names) {
    assert.ok(name.isWellFormed(), name);
    assert.doesNotMatch(name, /[\u0000-\u001f\u007f-\u009f<>:"|?*\\]/, name);
    assert.doesNotMatch(name, /^\//, name);
    const segments = name.replace(/\/$/, '').split('/');
    for (const segment of segments) {
      assert.ok(segment !== '' && Buffer.byteLength(segment) <= 255, name);
      assert.doesNotMatch(segment, /[. ]$/, name);
      assert.doesNotMatch(segment, /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i, name);
    }
    for (let depth = 1; depth < segments.length; depth++) folders.add(folded(segments.slice(0, depth).join('/')));
    const path = folded(segments.join('/'));
    assert.ok(!files.has(path), `${name} would replace another file`);
    if (name.endsWith('/')) folders.add(path);
    else files.add(path);
  }
  for (const file of files) assert.ok(!folders.has(file), `${file} would be a file and a folder`);
}

const folded = (name: string) => name.normalize('NFC').toLowerCase();
