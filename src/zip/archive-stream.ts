import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { mapAhead } from '../concurrency/concurrently.ts';
import type { FilePath } from '../model/path.ts';
import type { ResolvedRange } from '../model/range.ts';
import { versionReplaced } from '../model/store-errors.ts';
import type { Archive, ArchivedEntry } from './archive.ts';
import { type Checkpoint, type Checksums, checkpointInterval, type FileVersion, isLarge } from './checksums.ts';
import { centralHeader, centralHeaderBytes, descriptor, endRecords, localHeader } from './format.ts';
import { downloadEnded, Output } from './output.ts';
import { ReadAhead } from './read-ahead.ts';
import { type ChunkHandler, readContent } from './read-content.ts';
import type { ZipFiles } from './walk.ts';

export interface ArchiveStreamOptions {
  /** The bytes of the archive to read. Default: all of them. */
  readonly range?: ResolvedRange | undefined;
  readonly files: ZipFiles;
  readonly checksums: Checksums;
  readonly signal: AbortSignal;
}

/** Entries of the directory whose checksums are looked up together. */
const DIRECTORY_BATCH = 500;

/** Files of a batch that are read again in parallel because their checksums are not known. */
const PARALLEL_READS = 8;

/**
 * Returns the bytes of an archive, or of a part of it, which is the same in each response. Reads only the files of that
 * part, and those whose checksum it contains and no process remembers. Fails if a file is no longer the version of
 * the archive.
 */
export function archiveStream(archive: Archive, options: ArchiveStreamOptions): Readable {
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const output = new Output(options.range ?? { start: 0, end: archive.size - 1 }, () => reader.read());
  const reader = new ArchiveReader(archive, output, { ...options, signal });
  output.once('close', () => {
    // Ends the reads in progress, also of files in advance.
    ending.abort(downloadEnded());
    const isComplete = output.readableEnded && output.end === archive.size;
    if (!isComplete) void options.checksums.store(reader.counted());
  });
  return output;
}

class ArchiveReader {
  readonly #archive: Archive;
  readonly #output: Output;
  readonly #options: ArchiveStreamOptions;
  readonly #counted: number[] = [];

  constructor(archive: Archive, output: Output, options: ArchiveStreamOptions) {
    this.#archive = archive;
    this.#output = output;
    this.#options = options;
  }

  /** Returns the checksums that were computed. */
  *counted(): Generator<FileVersion & { readonly crc: number }> {
    for (const index of this.#counted) yield { ...this.#version(index), crc: this.#archive.crc(index) ?? 0 };
  }

  /** Adds all pieces of the range to the output. */
  async read(): Promise<void> {
    const { start, end } = this.#output;
    const first = this.#archive.indexAt(start);
    const afterLast = Math.min(this.#archive.indexAt(end - 1) + 1, this.#archive.length);
    const { files, signal } = this.#options;
    const ahead = new ReadAhead(this.#archive, files, { end: afterLast, signal });
    for (let index = first; index < afterLast; index++) await this.#entry(this.#archive.entry(index), ahead);
    if (end > this.#archive.directory.offset) await this.#directory();
  }

  async #entry(entry: ArchivedEntry, ahead: ReadAhead): Promise<void> {
    const { offset, dataStart, dataEnd, end, index } = entry;
    if (this.#output.isFull) await this.#output.drained();
    if (this.#output.overlaps(offset, dataStart)) this.#output.add(localHeader(entry), offset);
    if (entry.size === 0) return;
    const isWhole = this.#output.start <= dataStart && this.#output.end >= dataEnd;
    const text = this.#archive.textOf(index);
    const small = isWhole && !text ? await ahead.take(index) : undefined;
    if (text) {
      if (this.#output.overlaps(dataStart, dataEnd)) this.#output.add(text, dataStart);
    } else if (small) {
      this.#noteWhole(index, crc32(small));
      this.#output.add(small, dataStart);
    } else {
      await this.#content(entry);
    }
    if (!this.#output.overlaps(dataEnd, end)) return;
    const crc = this.#archive.crc(index);
    if (crc === undefined) throw new Error(`The checksum of entry ${index} is unknown.`);
    this.#output.add(descriptor(entry, crc), dataEnd);
  }

  /**
   * Adds the part of a file that was requested. If its checksum is needed and not known, also reads what precedes that
   * part, from the last checkpoint.
   */
  async #content({ index, size, dataStart, dataEnd, end }: ArchivedEntry): Promise<void> {
    const output = this.#output;
    const { files, checksums, signal } = this.#options;
    const wantedStart = Math.max(0, output.start - dataStart);
    const wantedEnd = Math.min(size, output.end - dataStart);
    const counter = await this.#counter(index, { wantedStart, needsCrc: output.overlaps(dataEnd, end) });
    let position = counter?.position ?? wantedStart;
    const part = { ...this.#archive.source(index), size, start: position, end: wantedEnd };
    const onChunk: ChunkHandler = (bytes, recycle) => {
      counter?.add(bytes);
      const at = dataStart + position;
      position += bytes.length;
      if (position > wantedStart) output.add(bytes, at, recycle);
      else recycle?.(bytes);
      return output.isFull ? output.drained() : undefined;
    };
    await readContent(files, part, { signal, onChunk });
    if (position > part.start) await this.#requireUnchanged(index, signal);
    if (counter?.position === size) this.#noteWhole(index, counter.crc);
    else if (counter) checksums.note(this.#version(index), counter);
  }

  /**
   * Returns what counts the checksum of a file; undefined if it is known, or not needed. Also counts if the part starts
   * with the file, because a later response can continue from there.
   */
  async #counter(
    index: number,
    { wantedStart, needsCrc }: { readonly wantedStart: number; readonly needsCrc: boolean },
  ): Promise<CrcCounter | undefined> {
    if (!needsCrc && wantedStart > 0) return undefined;
    const { checksums } = this.#options;
    const version = this.#version(index);
    // A database takes longer than the content of a small file.
    const known = wantedStart > 0 || isLarge(version) ? await checksums.findStart(version, wantedStart) : START;
    if (known.position < version.size) return new CrcCounter(version, known, checksums);
    this.#archive.setCrc(index, known.crc);
    return undefined;
  }

  /**
   * Throws `file-changed` if a file has changed while it was read. A program that writes to an open file would otherwise
   * result in a mix of both versions.
   */
  async #requireUnchanged(index: number, signal: AbortSignal): Promise<void> {
    const { path, etag, size } = this.#version(index);
    const file = await this.#options.files.stat(path, { signal });
    if (file.etag !== etag || file.size !== size) throw versionReplaced(path);
  }

  /** Adds the central directory and the records at the end. */
  async #directory(): Promise<void> {
    const archive = this.#archive;
    let position = archive.directory.offset;
    for (let first = 0; first < archive.length; first += DIRECTORY_BATCH) {
      const batch: { readonly entry: ArchivedEntry; readonly at: number }[] = [];
      for (let index = first; index < Math.min(first + DIRECTORY_BATCH, archive.length); index++) {
        const entry = archive.entry(index);
        const at = position;
        position += centralHeaderBytes(entry, entry.offset);
        if (this.#output.overlaps(at, position)) batch.push({ entry, at });
      }
      await this.#findChecksums(batch.map(({ entry }) => entry.index));
      for (const { entry, at } of batch) {
        const crc = archive.crc(entry.index) ?? 0;
        this.#output.add(centralHeader(entry, { offset: entry.offset, crc }), at);
      }
      await (this.#output.isFull ? this.#output.drained() : nextTurn());
    }
    this.#output.add(endRecords(archive.directory), position);
  }

  /** Sets the checksums of entries that are not set yet. Reads the files whose checksums no process remembers. */
  async #findChecksums(indexes: readonly number[]): Promise<void> {
    const missing = indexes.filter((index) => this.#archive.crc(index) === undefined);
    if (missing.length === 0) return;
    const found = await this.#options.checksums.findAll(missing.map((index) => this.#version(index)));
    for (const [at, index] of missing.entries()) {
      const crc = found[at];
      if (crc !== undefined) this.#archive.setCrc(index, crc);
    }
    const unknown = Readable.from(missing.filter((index) => this.#archive.crc(index) === undefined));
    for await (const _ of mapAhead(unknown, PARALLEL_READS, (index: number) => this.#countAgain(index)));
  }

  /** Reads a file only for its checksum. */
  async #countAgain(index: number): Promise<void> {
    const version = this.#version(index);
    const known = await this.#options.checksums.findStart(version, version.size);
    const counter = new CrcCounter(version, known, this.#options.checksums);
    const part = { ...this.#archive.source(index), size: version.size, start: known.position, end: version.size };
    const onChunk: ChunkHandler = (bytes, recycle) => {
      counter.add(bytes);
      recycle?.(bytes);
      return undefined;
    };
    await readContent(this.#options.files, part, { signal: this.#options.signal, onChunk });
    if (version.size > part.start) await this.#requireUnchanged(index, this.#options.signal);
    this.#noteWhole(index, counter.crc);
  }

  #noteWhole(index: number, crc: number): void {
    this.#archive.setCrc(index, crc);
    this.#counted.push(index);
    this.#options.checksums.note(this.#version(index), { position: this.#archive.sizeOf(index), crc });
  }

  #version(index: number): FileVersion & { readonly path: FilePath } {
    return { ...this.#archive.source(index), size: this.#archive.sizeOf(index) };
  }
}

const START: Checkpoint = { position: 0, crc: 0 };

/** Computes the checksum of a file while it is read in order, and notes it at checkpoints. */
class CrcCounter implements Checkpoint {
  readonly #version: FileVersion;
  readonly #checksums: Checksums;
  readonly #interval: number;
  #noted: number;
  position: number;
  crc: number;

  constructor(version: FileVersion, { position, crc }: Checkpoint, checksums: Checksums) {
    this.#version = version;
    this.#checksums = checksums;
    this.#interval = checkpointInterval(version.size);
    this.#noted = position;
    this.position = position;
    this.crc = crc;
  }

  add(bytes: Buffer): void {
    this.crc = crc32(bytes, this.crc);
    this.position += bytes.length;
    if (this.position - this.#noted < this.#interval || this.position >= this.#version.size) return;
    this.#noted = this.position;
    this.#checksums.note(this.#version, this);
  }
}
