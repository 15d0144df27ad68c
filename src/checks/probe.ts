import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { untilAborted } from '../concurrency/single-flight.ts';
import type { Files } from '../files/files.ts';
import { exists, undefinedIfNotFound } from '../model/error.ts';
import { type FolderPath, parseFile, parseFolder } from '../model/path.ts';
import type { FileEntry, Store, WriteCondition } from '../model/store.ts';
import { type Finding, failed, ok } from './check.ts';

/** Returns a random folder name, which is free in every store. */
export function nameProbe(): FolderPath {
  return parseFolder(`holdall-doctor-${randomBytes(8).toString('hex')}`);
}

/** A store, and the probe folder in it. */
interface Probed {
  readonly store: Store;
  readonly probe: FolderPath;
}

/** A name with characters that stores and proxies often mishandle, in a folder and a file. */
export const HOSTILE_NAME = "a b+c%2Fd%25 é 中 🙂 #&?=;'(1).txt";

/**
 * Returns the bytes of a probe file: numbered lines of 64 bytes, which reveal their position and compress well in a
 * repository.
 */
export function probeBytes(length: number): Buffer {
  const line = (index: number) => `${String(index).padStart(10, '0')}${' holdall doctor'.repeat(4).slice(0, 53)}\n`;
  return Buffer.from(Array.from({ length: Math.ceil(length / 64) }, (_, index) => line(index)).join('')).subarray(
    0,
    length,
  );
}

export const PLAIN_NAME = 'plain.txt';
/** Folder of the large file. It is copied as a folder. */
export const LARGE_FOLDER = 'large';
export const LARGE_NAME = `${LARGE_FOLDER}/large.txt`;

export const SMALL = probeBytes(4096);

/** Larger than 6 MB, above which downloads are redirects, and than 8 MiB, the part size of multipart uploads. */
export const LARGE = probeBytes(9 * 2 ** 20);

/** An ETag that matches no file. */
export const OTHER_ETAG = '0123456789abcdef0123456789abcdef';

export async function writeProbe(
  { store, probe }: Probed,
  name: string,
  bytes: Buffer,
  options: { condition?: WriteCondition; signal: AbortSignal },
): Promise<FileEntry> {
  const upload = { body: Readable.from([bytes]), size: bytes.length, type: 'text/plain' };
  return store.write(parseFile(probe + name), upload, options);
}

/** Reads a file or a range of it. */
export async function readProbe(
  { store, probe }: Probed,
  name: string,
  options: { range?: { start: number; end: number }; signal: AbortSignal },
): Promise<Buffer> {
  const content = await store.read(parseFile(probe + name), options);
  return content.bytes ? Buffer.from(content.bytes) : buffer(content.body);
}

/** Removes the probe folder, and verifies that it is gone. */
export async function removeProbe(files: Files, probe: FolderPath, signal: AbortSignal): Promise<Finding> {
  try {
    await untilAborted(undefinedIfNotFound(files.deleteFolder(probe, { permanent: true, signal })), signal);
    const remains = await untilAborted(exists(files.list(probe, { signal, limit: 1 })), signal);
    if (!remains) return ok(`Removed the probe folder "${probe}".`);
    return notRemoved(probe, 'The store confirmed the removal, but still lists the folder.');
  } catch (error) {
    return notRemoved(probe, error instanceof Error ? error.message : String(error));
  }
}

function notRemoved(probe: FolderPath, reason: string): Finding {
  return failed(
    `The probe folder "${probe}" was not removed: ${reason}`,
    `Delete the folder "${probe}" manually. It contains only files of the doctor.`,
  );
}

/** Returns the folder, or its nearest existing ancestor if it is missing. */
export async function nearestFolder(folder: string): Promise<string> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const isPresent = await stat(current).then(
      () => true,
      () => false,
    );
    if (isPresent || current === dirname(current)) return current;
  }
}

export async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
