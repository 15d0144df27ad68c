import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';

/** A version of a file: its path, its ETag and its size. */
export interface FileVersion {
  readonly path: string;
  readonly etag: string;
  readonly size: number;
}

/** The CRC-32 of the first `position` bytes of a file. */
export interface Checkpoint {
  readonly position: number;
  readonly crc: number;
}

/** A checksum that a process learned, to be stored for other processes. */
export interface StoredChecksum extends Checkpoint {
  /** The key of the version: see `keyOf`. */
  readonly key: string;
}

/** Checksums for all processes of the service, and after a restart. Never rejects: without them, files are read again. */
export interface ChecksumStore {
  add(checksum: StoredChecksum): void;
  /** Returns the known checksums of these keys, of whole files or not. */
  find(keys: readonly string[]): Promise<readonly StoredChecksum[]>;
  /** Resolves when everything that was added is stored, or can't be. */
  flush(): Promise<void>;
}

/** Files of which only a part was read, as after an interrupted download. */
const MAX_PARTIAL_FILES = 1000;

/** Bytes between two checkpoints of a file that is read: a resumed download reads at most so much again. */
const MIN_CHECKPOINT_BYTES = 32 * 2 ** 20;
const MAX_CHECKPOINTS = 128;

/** Size from which checksums are stored at once. */
const LARGE_BYTES = 4 * 2 ** 20;

/** Small files that are stored together. */
const STORE_BATCH = 500;

/** Returns whether the checksum of a file is stored at once. */
export function isLarge({ size }: FileVersion): boolean {
  return size >= LARGE_BYTES;
}

/** Returns the positions at which the checksum of a file that is read should be noted: multiples of this number. */
export function checkpointInterval(size: number): number {
  return Math.max(MIN_CHECKPOINT_BYTES, Math.ceil(size / MAX_CHECKPOINTS));
}

/**
 * The checksums of files, so that a resumed download does not read again what earlier responses have sent. An archive
 * needs the checksum of each file twice: after its content, and in the directory at the end.
 *
 * The key includes the ETag, which changes with the content. Nothing has to be removed when a file changes.
 */
export class Checksums {
  readonly #whole = new PackedChecksums();
  readonly #partial = new LRUCache<string, Checkpoint[]>(maxEntries(MAX_PARTIAL_FILES));
  readonly #store: ChecksumStore | undefined;

  constructor(store?: ChecksumStore) {
    this.#store = store;
  }

  /** Notes the checksum of the beginning of a file, or of all of it. That of a small file needs `store`. */
  note(version: FileVersion, { position, crc }: Checkpoint): void {
    const key = keyOf(version);
    this.#remember(key, version.size, { position, crc });
    if (isLarge(version)) this.#store?.add({ key, position, crc });
  }

  /**
   * Stores the checksums of small files for other processes. Only an interrupted download needs that, and the database
   * would take as long as the download.
   */
  async store(files: Iterable<FileVersion & { readonly crc: number }>): Promise<void> {
    if (!this.#store) return;
    let count = 0;
    for (const { crc, ...version } of files) {
      if (isLarge(version)) continue;
      this.#store.add({ key: keyOf(version), position: version.size, crc });
      if (++count % STORE_BATCH === 0) await this.#store.flush();
    }
    await this.#store.flush();
  }

  /** Returns the checksum of a file if this process knows it. */
  recall(version: FileVersion): number | undefined {
    return this.#whole.get(keyOf(version));
  }

  /** Returns the longest known beginning of a file of at most `maxPosition` bytes, or all of the file if that is known. */
  async findStart(version: FileVersion, maxPosition: number): Promise<Checkpoint> {
    const whole = (await this.findAll([version]))[0];
    if (whole !== undefined) return { position: version.size, crc: whole };
    const known = this.#partial.get(keyOf(version)) ?? [];
    return known.findLast(({ position }) => position <= maxPosition) ?? { position: 0, crc: 0 };
  }

  /** Returns the checksums of files, undefined for those that are not known. */
  async findAll(versions: readonly FileVersion[]): Promise<(number | undefined)[]> {
    const found = versions.map((version) => this.recall(version));
    const missing = new Map(
      versions.flatMap((version, index) => (found[index] === undefined ? [[keyOf(version), version]] : [])),
    );
    if (missing.size === 0 || !this.#store) return found;
    for (const { key, position, crc } of await this.#store.find([...missing.keys()])) {
      const version = missing.get(key);
      if (version) this.#remember(key, version.size, { position, crc });
    }
    return versions.map((version) => this.recall(version));
  }

  /** Resolves when all checksums of large files are stored, or can't be. */
  flush(): Promise<void> {
    return this.#store?.flush() ?? Promise.resolve();
  }

  #remember(key: string, size: number, checkpoint: Checkpoint): void {
    if (checkpoint.position === size) {
      this.#whole.set(key, checkpoint.crc);
      this.#partial.delete(key);
      return;
    }
    const others = this.#partial.get(key)?.filter(({ position }) => position !== checkpoint.position) ?? [];
    this.#partial.set(
      key,
      [...others, checkpoint].toSorted((left, right) => left.position - right.position),
    );
  }
}

/** Returns the key of a version: 128 bits of a cryptographic hash, in 22 characters. */
function keyOf({ path, etag, size }: FileVersion): string {
  return hash('sha256', `${size} ${etag.length} ${etag}${path}`, 'base64url').slice(0, 22);
}

/** Checksums in a table of 5 MB: 262,144 in sets of eight. */
const SETS = 2 ** 15;
const SET_SIZE = 8;
const KEY_WORDS = 4;

/**
 * A cache of checksums of fixed size in typed arrays: objects would take six times the memory. A key can only be in the
 * set that its hash determines, where it replaces the one that was used the longest time ago.
 */
class PackedChecksums {
  // Allocated with the first checksum.
  #keys: Uint32Array | undefined;
  #crcs = new Uint32Array();
  #used = new Uint32Array();
  #clock = 0;

  get(key: string): number | undefined {
    const words = wordsOf(key);
    const slot = this.#slotOf(words);
    if (slot === undefined) return undefined;
    this.#used[slot] = this.#tick();
    return this.#crcs[slot];
  }

  set(key: string, crc: number): void {
    const words = wordsOf(key);
    const keys = this.#allocate();
    const slot = this.#slotOf(words) ?? this.#oldestSlot(words);
    for (let word = 0; word < KEY_WORDS; word++) keys[slot * KEY_WORDS + word] = words[word] ?? 0;
    this.#crcs[slot] = crc;
    this.#used[slot] = this.#tick();
  }

  #allocate(): Uint32Array {
    if (this.#keys) return this.#keys;
    this.#keys = new Uint32Array(SETS * SET_SIZE * KEY_WORDS);
    this.#crcs = new Uint32Array(SETS * SET_SIZE);
    this.#used = new Uint32Array(SETS * SET_SIZE);
    return this.#keys;
  }

  #slotOf(words: Uint32Array): number | undefined {
    const keys = this.#keys;
    if (!keys) return undefined;
    const first = firstSlot(words);
    for (let slot = first; slot < first + SET_SIZE; slot++) {
      if (this.#used[slot] !== 0 && words.every((word, index) => keys[slot * KEY_WORDS + index] === word)) return slot;
    }
    return undefined;
  }

  #oldestSlot(words: Uint32Array): number {
    const first = firstSlot(words);
    let oldest = first;
    for (let slot = first; slot < first + SET_SIZE; slot++) {
      if ((this.#used[slot] ?? 0) < (this.#used[oldest] ?? 0)) oldest = slot;
    }
    return oldest;
  }

  /** Returns the next time. After 2³² uses, starts again with an empty table. */
  #tick(): number {
    if (this.#clock === 0xffffffff) {
      this.#clock = 0;
      this.#used.fill(0);
    }
    return ++this.#clock;
  }
}

const firstSlot = (words: Uint32Array) => ((words[0] ?? 0) % SETS) * SET_SIZE;

/** Returns the 128 bits of a key, of which the last characters contain all but a few. */
function wordsOf(key: string): Uint32Array {
  const bytes = Buffer.from(key, 'base64url');
  return Uint32Array.from({ length: KEY_WORDS }, (_, word) => bytes.readUInt32LE(word * 4));
}
