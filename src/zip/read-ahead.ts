import type { Archive } from './archive.ts';
import { readWhole } from './read-content.ts';
import type { ZipFiles } from './walk.ts';

/** Maximum size of a file that is read in advance, as a whole. */
const MAX_FILE_BYTES = 256 * 1024;

/** Limits for the files that are read in advance, of one download. */
const MAX_FILES = 16;
const MAX_BYTES = 4 * 2 ** 20;

/** Entries to search for the next small file, so that an archive of large ones is not searched each time. */
const MAX_DISTANCE = 256;

/**
 * Reads the small files of an archive in advance, in order: each request to a bucket takes some milliseconds, in which
 * nothing would be sent.
 */
export class ReadAhead {
  readonly #archive: Archive;
  readonly #files: ZipFiles;
  readonly #signal: AbortSignal;
  /** The index after the last entry that may be read. */
  readonly #end: number;
  readonly #reads = new Map<number, Promise<Buffer>>();
  #bytes = 0;
  #next = 0;

  constructor(
    archive: Archive,
    files: ZipFiles,
    { end, signal }: { readonly end: number; readonly signal: AbortSignal },
  ) {
    this.#archive = archive;
    this.#files = files;
    this.#end = end;
    this.#signal = signal;
  }

  /** Returns the content of a file, or undefined if it is too large. Call for each file in order. */
  async take(index: number): Promise<Buffer | undefined> {
    const size = this.#archive.sizeOf(index);
    if (size > MAX_FILE_BYTES) {
      this.#fill(index + 1);
      return undefined;
    }
    const reading = this.#reads.get(index) ?? this.#start(index, size);
    this.#fill(index + 1);
    try {
      return await reading;
    } finally {
      this.#reads.delete(index);
      this.#bytes -= size;
    }
  }

  #fill(from: number): void {
    this.#next = Math.max(this.#next, from);
    const end = Math.min(this.#end, from + MAX_DISTANCE);
    for (; this.#next < end && this.#reads.size < MAX_FILES; this.#next++) {
      const size = this.#archive.sizeOf(this.#next);
      if (size === 0 || size > MAX_FILE_BYTES || this.#archive.textOf(this.#next)) continue;
      if (this.#bytes + size > MAX_BYTES) return;
      void this.#start(this.#next, size);
    }
  }

  #start(index: number, size: number): Promise<Buffer> {
    const reading = readWhole(this.#files, { ...this.#archive.source(index), size }, { signal: this.#signal });
    // The error is thrown by `take`, which might never be called if the download ends first.
    reading.catch(() => {});
    this.#reads.set(index, reading);
    this.#bytes += size;
    return reading;
  }
}
