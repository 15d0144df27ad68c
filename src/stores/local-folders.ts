import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { systemErrorCode } from '../model/error.ts';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import { SettingsError } from '../settings/setting.ts';
import { makeFolder } from '../system.ts';
import type { OpenedStore, ServiceSettings } from './backend.ts';

/**
 * Returns the local folders and the key of a remote store. `name` identifies the store, so that each one has folders of
 * its own.
 */
export function localFoldersOf(
  name: string,
  { STATE_DIR, SIGNING_KEY }: ServiceSettings,
): Pick<OpenedStore, 'cacheFolder' | 'stateFolder' | 'signingKey'> {
  const id = createHash('sha256').update(name).digest('hex').slice(0, 16);
  const stateFolder = STATE_DIR ?? join(homedir(), '.local', 'state', 'holdall', id);
  return {
    cacheFolder: join(homedir(), '.cache', 'holdall', id),
    stateFolder,
    signingKey: async () => SIGNING_KEY ?? loadKeyFrom(stateFolder),
  };
}

/** Returns the key in a state folder. Throws a `SettingsError` if the folder can't be used. */
export async function loadKeyFrom(stateFolder: string): Promise<Buffer> {
  try {
    return await loadSigningKey(stateFolder);
  } catch (error) {
    throw unusableState(stateFolder, error);
  }
}

/** Returns a settings error for the operator: why the folder can't store state. */
export function unusableState(folder: string, error: unknown): SettingsError {
  const reason = error instanceof Error ? error.message : String(error);
  return new SettingsError([`STATE_DIR ${folder} can't be used: ${reason}. Example: STATE_DIR=/var/lib/holdall`]);
}

/** File name of the key. */
const NAME = 'signing-key';

/**
 * Returns the signing key in `folder`. Creates the key, readable only by its owner, and the folder on first use.
 * Concurrent processes get the same key, because a complete file is linked to the final name only if that name is free.
 * On file systems without hard links, this holds only if the processes don't create the key in the same millisecond.
 * Throws if the file does not contain a valid key.
 */
export async function loadSigningKey(folder: string): Promise<Buffer> {
  const path = join(folder, NAME);
  const known = await readIfPresent(path);
  return parseKey(known ?? (await createKey(folder, path)), path);
}

async function createKey(folder: string, path: string): Promise<string> {
  makeFolder(folder);
  const temporary = `${path}.${randomUUID()}`;
  try {
    const text = `${randomBytes(MIN_KEY_BYTES).toString('hex')}\n`;
    await writeFile(temporary, text, { mode: 0o600, flush: true, flag: 'wx' });
    await link(temporary, path).catch(async (error: unknown) => {
      if (systemErrorCode(error) === 'EEXIST') return;
      // The file system has no hard links. A rename is atomic too, so that no process reads half a key.
      if ((await readIfPresent(path)) === undefined) await rename(temporary, path);
    });
  } finally {
    await rm(temporary, { force: true });
  }
  return readFile(path, 'utf8');
}

function parseKey(text: string, path: string): Buffer {
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length >= MIN_KEY_BYTES) return key;
  throw new Error(
    `${path} does not contain a key of ${MIN_KEY_BYTES} bytes. Delete it, and Holdall creates a new key.`,
  );
}

async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}
