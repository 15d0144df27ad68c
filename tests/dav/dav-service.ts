import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createToken } from '../../src/access/credentials.ts';
import { type Holdall, type Owner, type Start, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';

/** The user of the tests, who has all permissions. */
export const USER = 'ann';
export const PASSWORD = 'correct horse';

const TOKEN = createToken();

/** A service for WebDAV clients. */
export interface DavService extends Holdall {
  /** The URL of the root for WebDAV clients, with a slash at its end. */
  readonly url: string;
  /** The path of that URL. */
  readonly path: string;
}

/** The header by which requests of `USER` are authenticated without computing the hash of a password. */
export const BEARER = { authorization: `Bearer ${TOKEN.token}` } as const;

/** Starts a service with an access file. `USER` has all permissions, and anonymous users have none. */
export async function startDav(
  t: Owner,
  { basePath = '', settings, ...start }: Start & { readonly basePath?: string } = {},
): Promise<DavService> {
  const file = join(await temporaryFolder(t), 'access.json');
  const ann = { password: hashForTest(PASSWORD), tokens: [{ name: 'tests', hash: TOKEN.hash }] };
  const grant = { folder: '/', to: { person: USER }, rights: ['read', 'write', 'manage'] };
  await writeFile(file, JSON.stringify({ people: { [USER]: ann }, grants: [grant] }));
  const holdall = await startHoldall(t, {
    ...start,
    settings: { ACCESS_FILE: file, ...(basePath !== '' && { BASE_PATH: basePath }), ...settings },
  });
  const path = `${basePath}/-/dav/`;
  return { ...holdall, path, url: `http://127.0.0.1:${holdall.port}${path}` };
}
