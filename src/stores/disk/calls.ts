import type { BigIntStats } from 'node:fs';
import type { Soon } from './pace.ts';

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
export interface Calls {
  open(path: string, flags: number): Soon<number>;
  /** Opens a new file for writing. */
  create(path: string): Soon<number>;
  close(file: number): Soon<void>;
  statOpen(file: number): Soon<BigIntStats>;
  /** Links are not followed. Undefined where nothing has the name. */
  lookUp(path: string): Soon<BigIntStats | undefined>;
  /** As `lookUp`, for many. */
  lookUpAll(paths: readonly string[]): Soon<(BigIntStats | undefined)[]>;
  readLink(path: string): Soon<string>;
  /** Fills the buffer from `position` on, unless the file ends before, and says how many bytes that were. */
  read(file: number, buffer: Buffer, position: number): Soon<number>;
  /** Gives `take` all that is in a folder, in no order. `isLarge`: reading its names takes long even from memory. */
  readFolder(path: string, options: { isLarge: boolean }, take: (entry: NamedEntry) => void): Soon<void>;
  makeFolder(path: string): Soon<void>;
  rename(from: string, to: string): Soon<void>;
  /** Appends a few bytes. */
  write(file: number, bytes: Buffer): Soon<void>;
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
