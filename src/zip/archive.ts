import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { quoted, StoreError } from '../model/error.ts';
import type { FilePath, FolderPath } from '../model/path.ts';
import {
  type CentralDirectory,
  centralHeaderBytes,
  descriptorBytes,
  endBytes,
  localHeaderBytes,
  type ZipEntry,
} from './format.ts';

/** Maximum files and folders of an archive. */
export const MAX_ENTRIES = 200_000;

/** Part of the ETag. Change it whenever the same files would result in other bytes. */
const FORMAT = 'holdall-zip-1';

/** Entries of a block, and bytes of its texts. A block of short paths wastes little, and a small archive needs one. */
const BLOCK_ENTRIES = 2048;
const FIRST_TEXT_BYTES = 64 * 1024;

/** Estimated bytes of a block, except its texts. */
const BLOCK_BYTES = BLOCK_ENTRIES * 40;

/** A file or folder to add to an archive. */
export interface NewEntry {
  /** The file or the empty folder. */
  readonly path: FilePath | FolderPath;
  /** The path in the archive. */
  readonly name: string;
  /** The ETag of the file; empty for a folder. */
  readonly etag: string;
  readonly size: number;
  readonly modified: Date | null;
}

/** An entry of an archive. `offset` is that of its local header. */
export interface ArchivedEntry extends ZipEntry {
  readonly index: number;
  readonly offset: number;
  /** The offset of the first byte of the content, and of the byte after the last one. */
  readonly dataStart: number;
  readonly dataEnd: number;
  /** The offset of the byte after the data descriptor. */
  readonly end: number;
}

/**
 * The layout of an archive: its files and folders and their offsets, which are known before the first byte is read.
 * Holds the entries in typed arrays and not as objects: a hundred thousand files take some 13 MB.
 */
export class Archive {
  readonly #blocks: Block[] = [];
  readonly #hash = createHash('sha256').update(FORMAT);
  readonly #reserve: (bytes: number) => void;
  #length = 0;
  #contentBytes = 0;
  #directoryBytes = 0;
  #etag: string | undefined;
  /** The content of the only entry that is not a file of the store. */
  #text: { readonly index: number; readonly bytes: Buffer } | undefined;

  /** Calls `reserve` before it allocates memory. That can throw to refuse the archive. */
  constructor(reserve: (bytes: number) => void = () => {}) {
    this.#reserve = reserve;
  }

  /** The number of files and folders. */
  get length(): number {
    return this.#length;
  }

  get directory(): CentralDirectory {
    return { entries: this.#length, offset: this.#contentBytes, size: this.#directoryBytes };
  }

  /** Size in bytes. */
  get size(): number {
    return this.#contentBytes + this.#directoryBytes + endBytes(this.directory);
  }

  /** The strong ETag, without quotes: a hash of everything that determines the bytes. Call after the last `add`. */
  get etag(): string {
    this.#etag ??= this.#hash.digest('base64url').slice(0, 32);
    return this.#etag;
  }

  /** Adds a file or folder. Throws `zip-too-large` if there are too many. */
  add({ path, name, etag, size, modified }: NewEntry): void {
    if (this.#length >= MAX_ENTRIES) throw tooManyEntries(path);
    const seconds = modified === null ? Number.NaN : Math.floor(modified.getTime() / 1000);
    // Lengths first, so that no two lists of entries have the same text.
    this.#hash.update(`\n${name.length} ${etag.length} ${size} ${seconds} ${name}${etag}`);
    let block = this.#blocks.at(-1);
    if (!block || block.length === BLOCK_ENTRIES) {
      block?.trim();
      this.#reserve(BLOCK_BYTES + FIRST_TEXT_BYTES);
      block = new Block(this.#reserve);
      this.#blocks.push(block);
    }
    block.add({ path, name, etag }, { size, seconds, offset: this.#contentBytes });
    const entry = this.entry(this.#length);
    this.#contentBytes = entry.end;
    this.#directoryBytes += centralHeaderBytes(entry, entry.offset);
    this.#length++;
  }

  /** Adds a file with this content, which is not in the store. Call at most once. */
  addText(name: string, text: string): void {
    const bytes = Buffer.from(text);
    this.#reserve(bytes.length);
    this.#text = { index: this.#length, bytes };
    const etag = createHash('sha256').update(bytes).digest('base64url');
    this.add({ path: name as FilePath, name, etag, size: bytes.length, modified: null });
    this.setCrc(this.#text.index, crc32(bytes));
  }

  /** Returns the content of the entry that `addText` added; undefined for all others. */
  textOf(index: number): Buffer | undefined {
    return this.#text?.index === index ? this.#text.bytes : undefined;
  }

  entry(index: number): ArchivedEntry {
    const { block, at } = this.#at(index);
    return block.entry(at, index);
  }

  /** Returns the path and the ETag of a file in the store. */
  source(index: number): { readonly path: FilePath; readonly etag: string } {
    const { block, at } = this.#at(index);
    return block.source(at);
  }

  sizeOf(index: number): number {
    const { block, at } = this.#at(index);
    return block.sizes[at] ?? 0;
  }

  /** Returns the checksum of the content of an entry; undefined until `setCrc`. That of no content is 0. */
  crc(index: number): number | undefined {
    const { block, at } = this.#at(index);
    return block.isCrcKnown[at] === 1 || block.sizes[at] === 0 ? block.crcs[at] : undefined;
  }

  setCrc(index: number, crc: number): void {
    const { block, at } = this.#at(index);
    block.crcs[at] = crc;
    block.isCrcKnown[at] = 1;
  }

  /** Returns the index of the entry that contains the byte at `position`; `length` if the byte is after all of them. */
  indexAt(position: number): number {
    if (position >= this.#contentBytes) return this.#length;
    let [low, high] = [0, this.#length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#offsetOf(middle) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #offsetOf(index: number): number {
    const { block, at } = this.#at(index);
    return block.offsets[at] ?? 0;
  }

  #at(index: number): { readonly block: Block; readonly at: number } {
    const block = this.#blocks[Math.floor(index / BLOCK_ENTRIES)];
    if (!block) throw new RangeError(`The archive has no entry ${index}.`);
    return { block, at: index % BLOCK_ENTRIES };
  }
}

/** Entries in columns. The texts of an entry follow each other: its path, its name unless the path ends with it, its ETag. */
class Block {
  length = 0;
  readonly sizes = new Float64Array(BLOCK_ENTRIES);
  readonly offsets = new Float64Array(BLOCK_ENTRIES);
  readonly crcs = new Uint32Array(BLOCK_ENTRIES);
  readonly isCrcKnown = new Uint8Array(BLOCK_ENTRIES);
  /** Seconds since 1970; NaN if the time is unknown. */
  readonly #times = new Float64Array(BLOCK_ENTRIES);
  readonly #textStarts = new Uint32Array(BLOCK_ENTRIES);
  readonly #pathBytes = new Uint16Array(BLOCK_ENTRIES);
  readonly #nameBytes = new Uint16Array(BLOCK_ENTRIES);
  readonly #etagBytes = new Uint16Array(BLOCK_ENTRIES);
  readonly #isOwnName = new Uint8Array(BLOCK_ENTRIES);
  readonly #reserve: (bytes: number) => void;
  #text = Buffer.allocUnsafeSlow(FIRST_TEXT_BYTES);
  #textBytes = 0;

  constructor(reserve: (bytes: number) => void) {
    this.#reserve = reserve;
  }

  add(
    { path, name, etag }: Pick<NewEntry, 'path' | 'name' | 'etag'>,
    { size, seconds, offset }: { size: number; seconds: number; offset: number },
  ): void {
    const index = this.length++;
    const isOwnName = !path.endsWith(name);
    this.#textStarts[index] = this.#textBytes;
    this.#pathBytes[index] = this.#write(path);
    this.#nameBytes[index] = isOwnName ? this.#write(name) : Buffer.byteLength(name);
    this.#etagBytes[index] = this.#write(etag);
    this.#isOwnName[index] = Number(isOwnName);
    this.sizes[index] = size;
    this.#times[index] = seconds;
    this.offsets[index] = offset;
  }

  entry(at: number, index: number): ArchivedEntry {
    const start = this.#textStarts[at] ?? 0;
    const nameBytes = this.#nameBytes[at] ?? 0;
    const pathEnd = start + (this.#pathBytes[at] ?? 0);
    const nameStart = this.#isOwnName[at] === 1 ? pathEnd : pathEnd - nameBytes;
    const name = this.#text.subarray(nameStart, nameStart + nameBytes);
    const seconds = this.#times[at] ?? Number.NaN;
    const size = this.sizes[at] ?? 0;
    const offset = this.offsets[at] ?? 0;
    const records = {
      name,
      isFolder: name.at(-1) === SLASH,
      size,
      modified: Number.isNaN(seconds) ? undefined : seconds,
    };
    const dataStart = offset + localHeaderBytes(records);
    const dataEnd = dataStart + size;
    return { ...records, index, offset, dataStart, dataEnd, end: dataEnd + descriptorBytes(records) };
  }

  source(at: number): { readonly path: FilePath; readonly etag: string } {
    const start = this.#textStarts[at] ?? 0;
    const pathEnd = start + (this.#pathBytes[at] ?? 0);
    const etagStart = pathEnd + (this.#isOwnName[at] === 1 ? (this.#nameBytes[at] ?? 0) : 0);
    const etagEnd = etagStart + (this.#etagBytes[at] ?? 0);
    // Written from a path of a listing.
    const path = this.#text.toString('utf8', start, pathEnd) as FilePath;
    return { path, etag: this.#text.toString('utf8', etagStart, etagEnd) };
  }

  /** Appends a text. Returns its number of bytes. */
  #write(text: string): number {
    const bytes = Buffer.byteLength(text);
    if (bytes > 0xffff) throw new RangeError(`A text of ${bytes} bytes is too long for an entry.`);
    const end = this.#textBytes + bytes;
    if (end > this.#text.length) this.#grow(Math.max(end, this.#text.length * 2));
    this.#text.write(text, this.#textBytes);
    this.#textBytes = end;
    return bytes;
  }

  /** Frees the memory that the texts do not use. Call after the last `add`. */
  trim(): void {
    const text = Buffer.allocUnsafeSlow(this.#textBytes);
    this.#text.copy(text, 0, 0, this.#textBytes);
    this.#reserve(text.length - this.#text.length);
    this.#text = text;
  }

  #grow(bytes: number): void {
    this.#reserve(bytes - this.#text.length);
    const larger = Buffer.allocUnsafeSlow(bytes);
    this.#text.copy(larger, 0, 0, this.#textBytes);
    this.#text = larger;
  }
}

const SLASH = 0x2f;

/** Returns the error for an archive that can't hold `path` as well. */
export function tooManyEntries(path: FilePath | FolderPath): StoreError {
  const message = `The archive would have more than ${MAX_ENTRIES} files and folders: ${quoted(path)} is one too many. Download parts of it.`;
  return new StoreError('zip-too-large', message);
}
