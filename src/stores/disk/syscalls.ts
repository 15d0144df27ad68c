import type { BigIntStats } from 'node:fs';
import type { MaybePromise } from './blocking-budget.ts';

/** A name in a folder, and what has it. */
export interface NamedEntry {
  readonly name: Buffer;
  isFile(): boolean;
  isDirectory(): boolean;
}

/**
 * The calls of the system that requests are made of. Open files are numbers, and whoever opens one closes it. Errors are
 * those of the system.
 */
export interface Syscalls {
  open(path: string, flags: number): MaybePromise<number>;
  /** Opens a new file for writing. */
  create(path: string): MaybePromise<number>;
  close(file: number): MaybePromise<void>;
  statOpen(file: number): MaybePromise<BigIntStats>;
  /** Links are not followed. Undefined where nothing has the name. */
  lookUp(path: string): MaybePromise<BigIntStats | undefined>;
  /** As `lookUp`, for many. */
  lookUpAll(paths: readonly string[]): MaybePromise<(BigIntStats | undefined)[]>;
  readLink(path: string): MaybePromise<string>;
  /** Fills the buffer from `position` on, unless the file ends before, and says how many bytes that were. */
  read(file: number, buffer: Buffer, position: number): MaybePromise<number>;
  /** Gives `take` all that is in a folder, in no order. `isLarge`: reading its names takes long even from memory. */
  readFolder(path: string, options: { isLarge: boolean }, take: (entry: NamedEntry) => void): MaybePromise<void>;
  makeFolder(path: string): MaybePromise<void>;
  rename(from: string, to: string): MaybePromise<void>;
  /** Appends a few bytes. */
  write(file: number, bytes: Buffer): MaybePromise<void>;
  /** Appends many bytes. */
  writeMany(file: number, chunks: Buffer[]): Promise<void>;
  /** Makes the bytes of a file survive a loss of power. */
  syncBytes(file: number): Promise<void>;
  /** Makes the names in a folder survive it. */
  syncFolder(folder: number): Promise<void>;
}

/** How names of a folder are asked for: bytes, as not every name is text, and with what has them. */
export const NAMED = { withFileTypes: true, encoding: 'buffer' } as const;

/** The mode of any new file: what the process's umask leaves of this. */
export const NEW_FILE = 0o666;
