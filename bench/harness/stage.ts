import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { entryName } from '../../testing/many-files.ts';
import { run } from '../../testing/processes.ts';
import type { ServedFolder } from './servers.ts';

/** The files that every contender serves or takes, all on one file system. */
export interface Stage {
  /** What servers serve: the files of `servedFiles`, the folder `entries/` and an empty folder `incoming/`. */
  readonly root: string;
  /** Where uploads go, below the root. */
  readonly incoming: string;
  /** Random bytes for uploads that are not measured: 4 KiB, and 16 MiB. */
  readonly smallFile: string;
  readonly warmUpFile: string;
  /** Random bytes for the upload that is: 1 GiB. It is not among the files served. */
  readonly uploadFile: string;
  /** The root with a new scratch folder, for one process of a server. */
  newSite(): ServedFolder;
  /** Empties `incoming/` and has the file system write out all it holds back, so that no upload pays for another. */
  clearIncoming(signal: AbortSignal): Promise<void>;
  /**
   * Makes an empty folder beside `incoming/`, has all that is held back written out, and gives its name. For many small
   * files, which stay until the end: ext4 takes 15 times as long to make one where others were removed in the last minutes.
   */
  makeIncoming(signal: AbortSignal): Promise<string>;
}

/** The files to fetch, by name, with their length in bytes. */
export const servedFiles = { '4KiB.bin': 4 * 1024, '5MiB.bin': 5 * 1024 * 1024 } as const;

/** The files of the folder to list. */
export const entryNames: readonly string[] = Array.from({ length: 1000 }, (_, index) => entryName(index + 1, 4));

export const uploadBytes = 2 ** 30;

/** Where everything will be in an empty folder; nothing is written yet. */
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

/** Writes the files; those to upload, a few seconds' work, only where they are asked for. */
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
 * Waits until a file has been left alone for a minute, as most files have that are asked for: of younger ones Holdall does not
 * remember the bytes.
 */
export async function untilOld(file: string, signal: AbortSignal): Promise<void> {
  const { ctimeMs } = await stat(file);
  await delay(Math.max(0, ctimeMs + 61_000 - Date.now()), undefined, { signal });
}

/** Random, so that nothing on the way saves work by compressing or by leaving holes. */
export async function writeRandom(file: string, bytes: number, signal: AbortSignal): Promise<void> {
  await run({ file: 'sh', args: ['-c', 'head -c "$0" /dev/urandom > "$1"', String(bytes), file] }, signal);
}

/** Has the file system of a folder write out all it holds back. */
export async function flush(folder: string, signal: AbortSignal): Promise<void> {
  await run({ file: 'sync', args: ['--file-system', folder] }, signal);
}
