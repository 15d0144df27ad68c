import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDiskFull, StoreError, systemErrorCode } from '../model/error.ts';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import { SettingsError } from '../settings/setting.ts';
import { makeFolder, syncNames } from '../system.ts';
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

/** Returns the key in a state folder. Throws a `SettingsError` if the folder can't be used, and `state-full` if it has no space. */
export async function loadKeyFrom(stateFolder: string): Promise<Buffer> {
  try {
    return await loadSigningKey(stateFolder);
  } catch (error) {
    if (!isDiskFull(error)) throw unusableState(stateFolder, error);
    // A later start can succeed without another setting.
    const message = `The disk of STATE_DIR ${stateFolder} is full, so it can't take the signing key. Free space on it.`;
    throw new StoreError('state-full', message, { cause: error });
  }
}

/** Returns a settings error for the operator: why the folder can't store state. */
export function unusableState(folder: string, error: unknown): SettingsError {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
  return new SettingsError([`STATE_DIR ${folder} can't be used: ${reason}. Example: STATE_DIR=/var/lib/holdall`]);
}

/** File name of the key. */
const NAME = 'signing-key';

/** Reads of an empty key file, because another process might be writing it, and the milliseconds between them. */
const READS = { maxAttempts: 50, delayMs: 20 };

/**
 * Returns the signing key in `folder`. Creates the key, readable only by its owner, and the folder on first use.
 * Concurrent processes get the same key. Throws if the file does not contain a valid key.
 */
export async function loadSigningKey(folder: string): Promise<Buffer> {
  const path = join(folder, NAME);
  let text = (await readIfPresent(path)) ?? (await createKey(folder, path));
  for (let attempts = 1; text === '' && attempts < READS.maxAttempts; attempts++) {
    await delay(READS.delayMs);
    text = await readFile(path, 'utf8');
  }
  return parseKey(text, path);
}

/** Creates the key file unless another process created it. Returns its text, which is empty while it is written. */
async function createKey(folder: string, path: string): Promise<string> {
  makeFolder(folder);
  const temporary = `${path}.${randomUUID()}`;
  const text = `${randomBytes(MIN_KEY_BYTES).toString('hex')}\n`;
  const options = { mode: 0o600, flush: true, flag: 'wx' };
  try {
    await writeFile(temporary, text, options);
    await link(temporary, path).catch((error: unknown) => {
      if (systemErrorCode(error) === 'EEXIST') return undefined;
      // The file system has no hard links. A rename would replace the key of another process.
      return writeFile(path, text, options).catch(ignoreExisting);
    });
    // Sessions and signed URLs must survive a power failure.
    await syncNames(folder);
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

function ignoreExisting(error: unknown): void {
  if (systemErrorCode(error) !== 'EEXIST') throw error;
}

async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}
