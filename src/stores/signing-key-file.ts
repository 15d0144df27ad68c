import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemErrorCode } from '../model/error.ts';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import { makeFolder } from '../system.ts';

/** File name of the key. */
const NAME = 'signing-key';

/**
 * Returns the signing key in `folder`. Creates the key, readable only by its owner, and the folder on first use.
 * Concurrent processes get the same key, because a complete file is linked to the final name only if that name is free.
 * Throws if the file does not contain a valid key.
 */
export async function loadSigningKey(folder: string): Promise<Buffer> {
  const path = join(folder, NAME);
  const known = await readFile(path, 'utf8').catch(whereMissing);
  return parseKey(known ?? (await makeKey(folder, path)), path);
}

async function makeKey(folder: string, path: string): Promise<string> {
  makeFolder(folder);
  const fresh = `${path}.${randomUUID()}`;
  try {
    await writeFile(fresh, `${randomBytes(MIN_KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flush: true, flag: 'wx' });
    // Not all file systems support hard links. COPYFILE_EXCL does not replace an existing key either.
    await link(fresh, path).catch((error: unknown) => {
      if (systemErrorCode(error) === 'EEXIST') throw error;
      return copyFile(fresh, path, constants.COPYFILE_EXCL);
    });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(fresh, { force: true });
  }
  return readFile(path, 'utf8');
}

function parseKey(text: string, path: string): Buffer {
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length >= MIN_KEY_BYTES) return key;
  throw new Error(`${path} does not hold a key of ${MIN_KEY_BYTES} bytes; remove it, and a new one is made.`);
}

function whereMissing(error: unknown): undefined {
  if (systemErrorCode(error) === 'ENOENT') return undefined;
  throw error;
}
