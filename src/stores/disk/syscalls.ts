import type { BigIntStats } from 'node:fs';
import type { MaybePromise } from './blocking-budget.ts';

/** A name in a folder, with its type. */
export interface NamedEntry {
  readonly name: Buffer;
  isFile(): boolean;
  isDirectory(): boolean;
}

/**
 * The system calls that requests use. Open files are file descriptors, which the caller must close. Errors are those of
 * Node.js, with an errno code.
 */
export interface Syscalls {
  open(path: string, flags: number): MaybePromise<number>;
  /** Creates a file and opens it for writing. Throws EEXIST if it exists. */
  create(path: string): MaybePromise<number>;
  close(file: number): MaybePromise<void>;
  statOpen(file: number): MaybePromise<BigIntStats>;
  /** Returns the stats of a path without following a symbolic link; undefined if it does not exist. */
  lookUp(path: string): MaybePromise<BigIntStats | undefined>;
  /** Returns the result of `lookUp` for each path, in the same order. */
  lookUpAll(paths: readonly string[]): MaybePromise<(BigIntStats | undefined)[]>;
  readLink(path: string): MaybePromise<string>;
  /** Reads from `position` until the buffer is full or the file ends. Returns the number of bytes. */
  read(file: number, buffer: Buffer, position: number): MaybePromise<number>;
  /** Passes each entry of a folder to `take`, unordered. `isLarge`: reading takes long even if it is cached. */
  readFolder(path: string, options: { isLarge: boolean }, take: (entry: NamedEntry) => void): MaybePromise<void>;
  makeFolder(path: string): MaybePromise<void>;
  rename(from: string, to: string): MaybePromise<void>;
  /** Appends a small number of bytes. */
  write(file: number, bytes: Buffer): MaybePromise<void>;
  /** Appends all chunks. Always runs in the thread pool. */
  writeMany(file: number, chunks: Buffer[]): Promise<void>;
  /** Makes the content of a file durable: fdatasync(2). */
  syncBytes(file: number): Promise<void>;
  /** Makes the names in a folder durable: fsync(2). */
  syncFolder(folder: number): Promise<void>;
}

/** Options of `readdir`: names as bytes, because they need not be UTF-8, with their types. */
export const NAMED = { withFileTypes: true, encoding: 'buffer' } as const;

/** Mode of new files, before the umask of the process. */
export const NEW_FILE = 0o666;
