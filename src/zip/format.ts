/*
 * The ZIP format of PKWARE's APPNOTE 6.3.10 (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT), as far as
 * archives of stored files need it. All functions are pure. The size of each record depends only on what a listing
 * contains, and never on the content of a file.
 *
 * Checksums follow the content (data descriptors), because they are not known before. As the specification requires, the
 * local header then has zeros instead of the sizes. macOS's Archive Utility reads local headers, and fails for a Zip64
 * size without its extra field (https://github.com/filesender/filesender/pull/2765).
 */

/** What the records of a file or folder contain, except its checksum. */
export interface ZipEntry {
  /** The UTF-8 path in the archive. The path of a folder ends with `/`. */
  readonly name: Buffer;
  readonly isFolder: boolean;
  /** Size in bytes; 0 for a folder. */
  readonly size: number;
  /** The modification time in seconds since 1970; undefined if it is unknown. */
  readonly modified: number | undefined;
}

/** Values from which a field needs its Zip64 form. The largest value of each field announces that form (4.4.1.4). */
export const MAX_UINT16 = 0xffff;
export const MAX_UINT32 = 0xffffffff;

const LOCAL_HEADER_BYTES = 30;
const CENTRAL_HEADER_BYTES = 46;
const TIME_EXTRA_BYTES = 9;
const END_BYTES = 22;
const ZIP64_END_BYTES = 56;
const ZIP64_LOCATOR_BYTES = 20;

/** Version 2.0 has folders; 4.5 has Zip64 (4.4.3.2). */
const VERSION = 20;
const ZIP64_VERSION = 45;

/** Unix made the archive (4.4.2.2), so that the external attributes contain a mode. */
const MADE_BY_UNIX = 3 << 8;

/** The name is UTF-8 (bit 11). */
const UTF8_FLAG = 0x0800;

/** A data descriptor follows the content (bit 3). */
const DESCRIPTOR_FLAG = 0x0008;

/** `S_IFREG | 0644` and `S_IFDIR | 0755`. */
const FILE_MODE = 0o100644;
const FOLDER_MODE = 0o040755;

/** The folder attribute of MS-DOS, for readers that ignore modes. */
const DOS_FOLDER = 0x10;

const isZip64Size = (size: number) => size >= MAX_UINT32;
const isZip64Offset = (offset: number) => offset >= MAX_UINT32;

/** Returns whether the records have a timestamp: Unix seconds in 32 bits with a sign. */
function hasTimestamp(entry: ZipEntry): entry is ZipEntry & { readonly modified: number } {
  const { modified } = entry;
  return modified !== undefined && (modified | 0) === modified;
}

const timeBytes = (entry: ZipEntry) => (hasTimestamp(entry) ? TIME_EXTRA_BYTES : 0);

/** Only content has a data descriptor: the checksum of no bytes is 0. */
const hasDescriptor = ({ size }: ZipEntry) => size > 0;

export function localHeaderBytes(entry: ZipEntry): number {
  return LOCAL_HEADER_BYTES + entry.name.length + (isZip64Size(entry.size) ? 20 : 0) + timeBytes(entry);
}

export function descriptorBytes(entry: ZipEntry): number {
  if (!hasDescriptor(entry)) return 0;
  return isZip64Size(entry.size) ? 24 : 16;
}

export function centralHeaderBytes(entry: ZipEntry, offset: number): number {
  return CENTRAL_HEADER_BYTES + entry.name.length + centralZip64Bytes(entry, offset) + timeBytes(entry);
}

/** Returns the size of the Zip64 extra field of a central header, which has only the fields that need it (4.5.3). */
function centralZip64Bytes({ size }: ZipEntry, offset: number): number {
  const bytes = (isZip64Size(size) ? 16 : 0) + (isZip64Offset(offset) ? 8 : 0);
  return bytes === 0 ? 0 : 4 + bytes;
}

/** The central directory: the number of its entries, its offset in the archive, and its size in bytes. */
export interface CentralDirectory {
  readonly entries: number;
  readonly offset: number;
  readonly size: number;
}

export function endBytes(directory: CentralDirectory): number {
  return END_BYTES + (needsZip64(directory) ? ZIP64_END_BYTES + ZIP64_LOCATOR_BYTES : 0);
}

function needsZip64({ entries, offset, size }: CentralDirectory): boolean {
  return entries >= MAX_UINT16 || offset >= MAX_UINT32 || size >= MAX_UINT32;
}

/** Returns the record before the content (4.3.7). */
export function localHeader(entry: ZipEntry): Buffer {
  const isZip64 = isZip64Size(entry.size);
  const record = new RecordWriter(localHeaderBytes(entry));
  record.uint32(0x04034b50);
  writeShared(record, entry, isZip64);
  record.uint32(0);
  record.uint32(isZip64 ? MAX_UINT32 : 0);
  record.uint32(isZip64 ? MAX_UINT32 : 0);
  record.uint16(entry.name.length);
  record.uint16((isZip64 ? 20 : 0) + timeBytes(entry));
  record.bytes(entry.name);
  if (isZip64) {
    record.uint16(0x0001);
    record.uint16(16);
    record.uint64(0);
    record.uint64(0);
  }
  writeTimestamp(record, entry);
  return record.buffer;
}

/** Returns the record after the content (4.3.9); empty for an entry without content. */
export function descriptor(entry: ZipEntry, crc: number): Buffer {
  const record = new RecordWriter(descriptorBytes(entry));
  if (!hasDescriptor(entry)) return record.buffer;
  record.uint32(0x08074b50);
  record.uint32(crc);
  for (let field = 0; field < 2; field++) {
    if (isZip64Size(entry.size)) record.uint64(entry.size);
    else record.uint32(entry.size);
  }
  return record.buffer;
}

/** Returns the record of an entry in the central directory (4.3.12). `offset` is that of its local header. */
export function centralHeader(entry: ZipEntry, { offset, crc }: { offset: number; crc: number }): Buffer {
  const { name, size, isFolder } = entry;
  const zip64Bytes = centralZip64Bytes(entry, offset);
  const record = new RecordWriter(centralHeaderBytes(entry, offset));
  record.uint32(0x02014b50);
  record.uint16(MADE_BY_UNIX | (zip64Bytes > 0 ? ZIP64_VERSION : VERSION));
  writeShared(record, entry, zip64Bytes > 0);
  record.uint32(crc);
  record.uint32(Math.min(size, MAX_UINT32));
  record.uint32(Math.min(size, MAX_UINT32));
  record.uint16(name.length);
  record.uint16(zip64Bytes + timeBytes(entry));
  // The length of the comment, the number of the disk, and the internal attributes.
  for (let field = 0; field < 3; field++) record.uint16(0);
  record.uint32((isFolder ? FOLDER_MODE * 0x10000 + DOS_FOLDER : FILE_MODE * 0x10000) >>> 0);
  record.uint32(Math.min(offset, MAX_UINT32));
  record.bytes(name);
  if (zip64Bytes > 0) {
    record.uint16(0x0001);
    record.uint16(zip64Bytes - 4);
    if (isZip64Size(size)) {
      record.uint64(size);
      record.uint64(size);
    }
    if (isZip64Offset(offset)) record.uint64(offset);
  }
  writeTimestamp(record, entry);
  return record.buffer;
}

/** Returns the records at the end of the archive (4.3.14 to 4.3.16). */
export function endRecords(directory: CentralDirectory): Buffer {
  const { entries, offset, size } = directory;
  const record = new RecordWriter(endBytes(directory));
  if (needsZip64(directory)) {
    record.uint32(0x06064b50);
    record.uint64(ZIP64_END_BYTES - 12);
    record.uint16(MADE_BY_UNIX | ZIP64_VERSION);
    record.uint16(ZIP64_VERSION);
    record.uint32(0);
    record.uint32(0);
    record.uint64(entries);
    record.uint64(entries);
    record.uint64(size);
    record.uint64(offset);
    record.uint32(0x07064b50);
    record.uint32(0);
    record.uint64(offset + size);
    record.uint32(1);
  }
  record.uint32(0x06054b50);
  record.uint16(0);
  record.uint16(0);
  record.uint16(Math.min(entries, MAX_UINT16));
  record.uint16(Math.min(entries, MAX_UINT16));
  record.uint32(Math.min(size, MAX_UINT32));
  record.uint32(Math.min(offset, MAX_UINT32));
  record.uint16(0);
  return record.buffer;
}

/** Writes the fields that local and central headers share: version, flags, method (stored) and time. */
function writeShared(record: RecordWriter, entry: ZipEntry, isZip64: boolean): void {
  const { date, time } = dosTime(entry.modified);
  record.uint16(isZip64 ? ZIP64_VERSION : VERSION);
  record.uint16(UTF8_FLAG | (hasDescriptor(entry) ? DESCRIPTOR_FLAG : 0));
  record.uint16(0);
  record.uint16(time);
  record.uint16(date);
}

/** Writes the extended timestamp of Info-ZIP: the modification time in UTC (4.6.1; extrafld.txt of Info-ZIP). */
function writeTimestamp(record: RecordWriter, entry: ZipEntry): void {
  if (!hasTimestamp(entry)) return;
  record.uint16(0x5455);
  record.uint16(5);
  record.uint8(1);
  record.int32(entry.modified);
}

/** The first and last times of MS-DOS, in seconds since 1970. */
const MIN_DOS_TIME = Date.UTC(1980, 0, 1) / 1000;
const MAX_DOS_TIME = Date.UTC(2107, 11, 31, 23, 59, 58) / 1000;

/**
 * Returns a time in the format of MS-DOS (4.4.6), which has no time zone and counts two seconds: in UTC, so that an
 * archive does not depend on the server. Readers prefer the extended timestamp.
 */
function dosTime(modified: number | undefined): { readonly date: number; readonly time: number } {
  const seconds = Math.min(Math.max(modified ?? MIN_DOS_TIME, MIN_DOS_TIME), MAX_DOS_TIME);
  const utc = new Date(seconds * 1000);
  return {
    date: ((utc.getUTCFullYear() - 1980) << 9) | ((utc.getUTCMonth() + 1) << 5) | utc.getUTCDate(),
    time: (utc.getUTCHours() << 11) | (utc.getUTCMinutes() << 5) | (utc.getUTCSeconds() >> 1),
  };
}

/** Writes the fields of a record one after the other, in little-endian order. */
class RecordWriter {
  readonly buffer: Buffer;
  #position = 0;

  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafe(bytes);
  }

  uint8(value: number): void {
    this.#position = this.buffer.writeUInt8(value, this.#position);
  }

  uint16(value: number): void {
    this.#position = this.buffer.writeUInt16LE(value, this.#position);
  }

  uint32(value: number): void {
    this.#position = this.buffer.writeUInt32LE(value, this.#position);
  }

  int32(value: number): void {
    this.#position = this.buffer.writeInt32LE(value, this.#position);
  }

  uint64(value: number): void {
    this.uint32(value % 2 ** 32);
    this.uint32(Math.floor(value / 2 ** 32));
  }

  bytes(value: Buffer): void {
    this.#position += value.copy(this.buffer, this.#position);
  }
}
