import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { entryName } from '../../testing/many-files.ts';
import { run } from '../../testing/processes.ts';
import type { ServedFolder } from './servers.ts';

/** The files that every contender serves or receives, on one file system. */
export interface Stage {
  /** The root of the servers: the files of `servedFiles`, the folder `entries/` and an empty folder `incoming/`. */
  readonly root: string;
  /** The path of uploads in the root. */
  readonly incoming: string;
  /** Random bytes for uploads of the warm-up: 4 KiB, and 16 MiB. */
  readonly smallFile: string;
  readonly warmUpFile: string;
  /** Random bytes for the measured upload: 1 GiB. No server serves this file. */
  readonly uploadFile: string;
  /** The root with a new scratch folder, for one process of a server. */
  newSite(): ServedFolder;
  /** Empties `incoming/` and flushes the file system, so that no upload waits for the data of another one. */
  clearIncoming(signal: AbortSignal): Promise<void>;
  /**
   * Creates an empty folder next to `incoming/`, flushes the file system, and returns the name of the folder. It is for many
   * small files, which stay until the end: ext4 takes 15 times as long to create a file where others were just removed.
   */
  makeIncoming(signal: AbortSignal): Promise<string>;
}

/** The files to fetch, by name, with their length in bytes. */
export const servedFiles = { '4KiB.bin': 4 * 1024, '5MiB.bin': 5 * 1024 * 1024 } as const;

/** The files of the folder to list. */
export const entryNames: readonly string[] = Array.from({ length: 1000 }, (_, index) => entryName(index + 1, 4));

export const uploadBytes = 2 ** 30;

/** Returns the paths of the files in an empty folder. Writes nothing. */
export function planStage(folder: string): Stage {
  const root = join(folder, 'root');
  const incoming = join(root, 'incoming');
  let sites = 0;
  let folders = 0;
  return {
    root,
    incoming,
    smallFile: join(folder, 'small.bin'),
    warmUpFile: join(folder, 'warm-up.bin'),
    uploadFile: join(folder, 'upload.bin'),
    newSite: () => ({ root, scratch: join(folder, `scratch-${++sites}`) }),
    clearIncoming: async (signal) => {
      for (const name of await readdir(incoming)) await rm(join(incoming, name), { recursive: true });
      await flush(folder, signal);
    },
    makeIncoming: async (signal) => {
      const name = `incoming-${++folders}`;
      await mkdir(join(root, name));
      await flush(folder, signal);
      return name;
    },
  };
}

/** Writes the served files, and on request those to upload, which takes some seconds. */
export async function fillStage(stage: Stage, withUploads: boolean, signal: AbortSignal): Promise<void> {
  const entries = join(stage.root, 'entries');
  await mkdir(entries, { recursive: true });
  await mkdir(stage.incoming);
  for (const [name, bytes] of Object.entries(servedFiles)) await writeRandom(join(stage.root, name), bytes, signal);
  for (const name of entryNames) await writeFile(join(entries, name), `${name}\n`);
  if (withUploads) {
    await writeRandom(stage.smallFile, 4 * 1024, signal);
    await writeRandom(stage.warmUpFile, 16 * 2 ** 20, signal);
    await writeRandom(stage.uploadFile, uploadBytes, signal);
  }
  await flush(stage.root, signal);
}

/**
 * Waits until a file has been unchanged for a minute, as most requested files are: Holdall does not cache the bytes of newer
 * ones.
 */
export async function untilOld(file: string, signal: AbortSignal): Promise<void> {
  const { ctimeMs } = await stat(file);
  await delay(Math.max(0, ctimeMs + 61_000 - Date.now()), undefined, { signal });
}

/** Random bytes, so that compression and holes save no work. */
export async function writeRandom(file: string, bytes: number, signal: AbortSignal): Promise<void> {
  await run({ file: 'sh', args: ['-c', 'head -c "$0" /dev/urandom > "$1"', String(bytes), file] }, signal);
}

/** Flushes the file system of a folder. */
export async function flush(folder: string, signal: AbortSignal): Promise<void> {
  await run({ file: 'sync', args: ['--file-system', folder] }, signal);
}
