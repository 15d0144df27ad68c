import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createToken } from '../../src/access/credentials.ts';
import { type Holdall, type Owner, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';

/** The user of the tests, who has all permissions. */
export const USER = 'ann';
export const PASSWORD = 'correct horse';

const TOKEN = createToken();

/** Where WebDAV clients find a service. */
interface DavAddress {
  /** The URL of the root for WebDAV clients, with a slash at its end. */
  readonly url: string;
  /** The path of that URL. */
  readonly path: string;
}

/** A service for WebDAV clients, in this process. */
export type DavService = ServiceInProcess & DavAddress;

interface DavOptions {
  readonly root?: string;
  readonly basePath?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** The header by which requests of `USER` are authenticated without computing the hash of a password. */
export const BEARER = { authorization: `Bearer ${TOKEN.token}` } as const;

/** Starts a service with an access file. `USER` has all permissions, and anonymous users have none. */
export async function startDav(t: Owner, options: DavOptions = {}): Promise<DavService> {
  const service = await startInProcess(t, { ...options, settings: await settingsFor(t, options) });
  return { ...service, ...addressOf(service.port, options) };
}

/** Like `startDav`, in a process that can be killed. */
export async function startDavProcess(t: Owner, options: DavOptions = {}): Promise<Holdall & DavAddress> {
  const holdall = await startHoldall(t, { ...options, settings: await settingsFor(t, options) });
  return { ...holdall, ...addressOf(holdall.port, options) };
}

async function settingsFor(t: Owner, { basePath, settings }: DavOptions): Promise<Readonly<Record<string, string>>> {
  const file = join(await temporaryFolder(t), 'access.json');
  const ann = { password: hashForTest(PASSWORD), tokens: [{ name: 'tests', hash: TOKEN.hash }] };
  const grant = { folder: '/', to: { person: USER }, rights: ['read', 'write', 'manage'] };
  await writeFile(file, JSON.stringify({ people: { [USER]: ann }, grants: [grant] }));
  return { ACCESS_FILE: file, ...(basePath !== undefined && { BASE_PATH: basePath }), ...settings };
}

function addressOf(port: number, { basePath = '' }: DavOptions): DavAddress {
  const path = `${basePath}/-/dav/`;
  return { path, url: `http://127.0.0.1:${port}${path}` };
}
