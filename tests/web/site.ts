import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createManyFiles } from '../../bench/harness/many-files.ts';
import { hashPassword } from '../../src/access/passwords.ts';
import { atEnd, type Holdall, type LogLine, startHoldall, temporaryFolder } from '../process/holdall.ts';
import { until } from '../process/until.ts';
import { createBucket } from '../servers/bucket.ts';
import { allowOrigin, type Stored, storedInBucket, storedOnDisk } from './stored.ts';

/** The real service on a port of its own, and what it has stored, as it is behind its back. */
export interface Site extends Omit<Stored, 'settings'> {
  /** Ends with a `/`, and stays the same through `restart`. */
  readonly url: string;
  /** The folder that it serves; undefined for a bucket. */
  readonly root: string | undefined;
  /** The lines of its log since it was started last. */
  log(): readonly LogLine[];
  /** Has others be allowed what they are, and waits until that is so. */
  grant(access: SiteAccess): Promise<void>;
  /** Ends the service as SIGTERM does, and waits until it has ended; the page is left without it. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL, as a machine that loses power would: connections break off at once. */
  kill(): Promise<void>;
  /** Starts it again at the same address, with settings beside those it had; stops it before where it runs. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
}

export interface SiteOptions {
  /** A new folder, or a new bucket of the run's object store; the path of a test of it has to contain `s3`. */
  readonly store: 'disk' | 's3';
  /** What is stored before the service starts: paths, with a `/` at the end for an empty folder, to contents. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Environment variables beside the usual ones. */
  readonly settings?: Readonly<Record<string, string>>;
  /** With `false`, the bucket has no CORS configuration; else it has the documented one, for the page's origin. */
  readonly cors?: boolean;
  /** Who may do what. Without it, everybody on this machine may do everything. */
  readonly access?: SiteAccess;
}

export interface SiteAccess {
  /** Names, and the passwords as people type them. */
  readonly people: Readonly<Record<string, string>>;
  readonly grants: readonly {
    readonly folder: string;
    readonly to: 'everyone' | 'signed-in' | { readonly person: string };
    readonly rights: readonly ('read' | 'write' | 'manage')[];
  }[];
}

/** Starts the service on a new store. It ends with the test, and all that it stored goes with it. */
export async function startSite(
  t: TestContext,
  { store, files = {}, settings, cors = true, access }: SiteOptions,
): Promise<Site> {
  const { stored, root, open } = await (store === 'disk' ? onDisk(t) : inBucket(t, cors));
  await stored.place(files);
  const accessFile = access && join(await temporaryFolder(t), 'access.json');
  if (access && accessFile) await writeAccessFile(accessFile, access);
  let chosen = { ...QUICK_END, ...stored.settings, ...(accessFile && { ACCESS_FILE: accessFile }), ...settings };
  let holdall: Holdall | undefined = await startHoldall(t, { root, settings: chosen });
  const { port } = holdall;
  const url = `http://127.0.0.1:${port}/`;
  await open(new URL(url).origin);

  const stop = async () => {
    holdall?.signal('SIGTERM');
    await holdall?.ended;
    holdall = undefined;
  };
  /** How often a new access file was taken over. */
  const changes = () =>
    (holdall?.log ?? []).filter(({ msg }) => String(msg).startsWith('The access file has changed')).length;
  return {
    ...stored,
    url,
    root,
    log: () => holdall?.log ?? [],
    stop,
    async grant(next) {
      assert.ok(accessFile !== undefined, 'Only a site with people has grants.');
      const before = changes();
      await writeAccessFile(accessFile, next);
      await until('the new grants are in force', async () => changes() > before);
    },
    async kill() {
      await holdall?.kill();
      holdall = undefined;
    },
    async restart(further) {
      await stop();
      chosen = { ...chosen, ...further };
      holdall = await startHoldall(t, { root, settings: { ...chosen, PORT: String(port) } });
    },
  };
}

/**
 * Two seconds for what is under way when it stops. A browser is under way nearly always, and a connection whose last
 * answer began just before that is waited for until then.
 */
const QUICK_END = { SHUTDOWN_TIMEOUT: '2' };

async function writeAccessFile(file: string, { people, grants }: SiteAccess): Promise<void> {
  const hashed = Object.entries(people).map(async ([name, password]) => [name, { password: await hashOf(password) }]);
  await writeFile(file, JSON.stringify({ people: Object.fromEntries(await Promise.all(hashed)), grants }));
}

const hashes = new Map<string, Promise<string>>();

/** The same for the same password: with another hash it would be a new one, and end the sessions of its person. */
function hashOf(password: string): Promise<string> {
  const hash = hashes.get(password) ?? hashPassword(password);
  hashes.set(password, hash);
  return hash;
}

/** Puts so many files of a few bytes into a new folder of a site on disk, in a few seconds for 100,000. */
export async function fillFolder({ root }: Site, folder: string, count: number): Promise<void> {
  assert.ok(root !== undefined, 'Only a folder on disk is filled that fast.');
  await mkdir(join(root, folder), { recursive: true });
  createManyFiles(join(root, folder), count);
}

/** Where a site's files are, before it has an address. */
interface Place {
  readonly stored: Stored;
  readonly root: string | undefined;
  /** Lets pages of this origin read what the store answers by itself. */
  open(origin: string): Promise<void>;
}

async function onDisk(t: TestContext): Promise<Place> {
  const root = await temporaryFolder(t);
  return { stored: storedOnDisk(root), root, open: async () => {} };
}

async function inBucket(t: TestContext, cors: boolean): Promise<Place> {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  const stored = storedInBucket(bucket, await temporaryFolder(t));
  return { stored, root: undefined, open: async (origin) => void (cors && (await allowOrigin(bucket, origin))) };
}
