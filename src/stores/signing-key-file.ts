import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../model/error.ts';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import { makeFolder } from '../system.ts';

/** What the key is called in its folder. */
const NAME = 'signing-key';

/**
 * The key that is kept in `folder`, for its owner alone, made on first use with the folder. Several processes that make
 * it at once end up with the same one: it gets its name whole, and only where none is.
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
    // Some file systems have no hard links.
    await link(fresh, path).catch((error: unknown) => {
      if (errorCode(error) === 'EEXIST') throw error;
      return copyFile(fresh, path, constants.COPYFILE_EXCL);
    });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
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
  if (errorCode(error) === 'ENOENT') return undefined;
  throw error;
}
