import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MIN_KEY_BYTES } from '../../domain/url-signer.ts';
import { renameToNew } from './place.ts';
import type { Temporary } from './temporary.ts';
import { codeOf } from './translate.ts';

/**
 * The key for signed URLs that is kept in `folder`, made on first use. Several processes that make it at once end
 * up with the same one: it gets its name whole, and only where none is.
 */
export async function signingKeyIn(folder: string, temporary: Temporary): Promise<Buffer> {
  const path = join(folder, 'signing-key');
  const fresh = await temporary.name();
  try {
    await writeFile(fresh, `${randomBytes(MIN_KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flush: true });
    await renameToNew(fresh, path, temporary);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(fresh, { force: true });
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'hex');
  if (key.length >= MIN_KEY_BYTES) return key;
  throw new Error(`${path} does not hold a key of ${MIN_KEY_BYTES} bytes; remove it, and a new one is made.`);
}
