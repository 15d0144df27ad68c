import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import sharp from 'sharp';
import { createToken } from '../../src/access/credentials.ts';
import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { snapshot } from '../faults/trees.ts';
import { type Call, type HttpResponse, send } from '../http/client.ts';

/** The content of every file that the client may not read. One file name in each folder also contains it. */
export const SECRET = 'the-treasure-of-others';

/** A request: its unescaped path and its options. */
export type Attack = readonly [path: string, call?: Call];

/**
 * A service with an attacker: a client with all permissions in `mine/`, and none elsewhere. Everything else is secret.
 */
export interface AttackedService {
  readonly service: ServiceInProcess;
  readonly port: number;
  /** The parent folder of the served folder. */
  readonly base: string;
  readonly root: string;
  readonly accessFile: string;
  /** Sends a request of the client. Throws if the response contains a secret, or is a fault of the service. */
  attack(...attack: Attack): Promise<HttpResponse>;
  /** Sends a request of the owner, who has all permissions. */
  requestAsOwner(...attack: Attack): Promise<HttpResponse>;
  /** Restores the initial files of `mine/`, and removes all others. */
  restore(): void;
  /** Throws if anything except `mine/` has changed. */
  assertUntouched(what: string): Promise<void>;
}

export interface AttackedServiceOptions {
  /** Folders next to `mine/` and in it that the client may not access. Each has the same files. */
  readonly closed?: readonly string[];
  /** Additional grants for `client`. */
  readonly grants?: readonly { readonly folder: string; readonly rights: readonly string[] }[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Files above this size, in bytes, are downloaded by a signed URL. */
const LARGE = 6 * 1024 * 1024;

/**
 * Starts the service. `mine/` contains `image.png`, `large.bin` and `note.txt`, and its folder `folder/` contains the
 * same.
 */
export async function startAttackedService(
  t: Owner,
  { closed = ['other/'], grants = [], settings = {} }: AttackedServiceOptions = {},
): Promise<AttackedService> {
  const base = await temporaryFolder(t);
  const root = join(base, 'root');
  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  for (const folder of ['root/', 'other/', ...closed.map((path) => `root/${path}`)])
    createSecrets(join(base, folder), image);
  writeFileSync(join(base, 'secret.txt'), SECRET);

  const [owner, client] = [createToken(), createToken()];
  const accessFile = join(await temporaryFolder(t), 'access.json');
  const userWith = (name: string, { hash }: { hash: string }) => ({ tokens: [{ name, hash }] });
  const rights = ['read', 'write', 'manage'];
  const policy = {
    people: { owner: userWith('owner', owner), client: userWith('client', client) },
    grants: [
      { folder: '/', to: { person: 'owner' }, rights },
      { folder: '/mine/', to: { person: 'client' }, rights },
      ...grants.map((grant) => ({ ...grant, to: { person: 'client' } })),
    ],
  };
  await writeFile(accessFile, JSON.stringify(policy));

  const restore = () => createFiles(join(root, 'mine'), image, closed);
  restore();
  const service = await startInProcess(t, {
    root,
    settings: { ACCESS_FILE: accessFile, RATE_LIMIT: '0', ...settings },
  });
  const { port } = service;
  const before = await snapshotSurroundings(base, closed);
  const agent = new Agent({ keepAlive: true });
  atEnd(t, () => agent.destroy());
  const request = ({ token }: { token: string }, [path, call = {}]: Attack) =>
    send(port, path, { agent, ...call, headers: { authorization: `Bearer ${token}`, ...call.headers } });

  return {
    service,
    port,
    base,
    root,
    accessFile,
    async attack(...attack) {
      const response = await request(client, attack);
      assertNoSecret(response, attack);
      return response;
    },
    requestAsOwner: (...attack) => request(owner, attack),
    restore,
    async assertUntouched(what) {
      assert.deepEqual(
        await snapshotSurroundings(base, closed),
        before,
        `${what}: something outside of mine/ has changed.`,
      );
    },
  };
}

/** Creates the files of a folder that the client may not access. */
function createSecrets(folder: string, image: Buffer): void {
  mkdirSync(join(folder, 'folder'), { recursive: true });
  for (const name of ['secret.txt', `${SECRET}.txt`, 'folder/secret.txt']) writeFileSync(join(folder, name), SECRET);
  writeFileSync(join(folder, 'image.png'), image);
}

function createFiles(mine: string, image: Buffer, closed: readonly string[]): void {
  mkdirSync(mine, { recursive: true });
  for (const name of readdirSync(mine)) {
    // Folders with a closed folder in them are compared later, so they are not created again.
    if (!closed.some((path) => path.startsWith(`mine/${name}/`))) rmSync(join(mine, name), { recursive: true });
  }
  for (const folder of [mine, join(mine, 'folder')]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'image.png'), image);
    writeFileSync(join(folder, 'note.txt'), 'mine');
    writeFileSync(join(folder, 'large.bin'), '');
    // Smaller in the folder, because folders are copied many times.
    truncateSync(join(folder, 'large.bin'), folder === mine ? LARGE : 1);
  }
}

/** Describes everything except `mine/` and the service's own folder, including the closed folders in `mine/`. */
async function snapshotSurroundings(base: string, closed: readonly string[]): Promise<Record<string, unknown>> {
  const root = join(base, 'root');
  const names = (await readdir(root)).filter((name) => name !== 'mine' && name !== '.holdall');
  const inside = [...names, ...closed.filter((path) => path.startsWith('mine/'))].toSorted();
  const inRoot = inside.map(async (name) => [name, await snapshot(join(root, name))] as const);
  const siblings = (await readdir(base)).filter((name) => name !== 'root').toSorted();
  const outsideRoot = siblings.map(async (name) => [`../${name}`, await snapshot(join(base, name))] as const);
  return Object.fromEntries(await Promise.all([...inRoot, ...outsideRoot]));
}

function assertNoSecret({ status, headers, body }: HttpResponse, [path, call]: Attack): void {
  const description = `${call?.method ?? 'GET'} ${path} ${call?.body?.toString() ?? ''}: ${status} ${body.toString().slice(0, 500)}`;
  assert.ok(!body.includes(SECRET) && !JSON.stringify(headers).includes(SECRET), description);
  assert.ok(status < 500, description);
}
