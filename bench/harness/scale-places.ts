import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Server, Site } from './servers.ts';
import { holdall } from './servers.ts';
import { keyOf } from './synthetic-objects.ts';
import type { Calls, Family, SyntheticStore } from './synthetic-store.ts';
import { startSyntheticStore } from './synthetic-store.ts';

/** Where the folders of one size are, filled, for one service after the other. */
export interface Place extends AsyncDisposable {
  readonly server: Server;
  newSite(): Site;
  /** Requests that the store had since the last call; undefined where there is none. */
  takeCalls(signal: AbortSignal): Promise<Calls | undefined>;
  /** Rejects unless exactly what was made for a family is in the folder. */
  requireFamily(family: Family, folder: string, signal: AbortSignal): Promise<void>;
  requireNothing(folder: string, signal: AbortSignal): Promise<void>;
}

export interface PlaceOptions {
  readonly families: readonly Family[];
  readonly folder: string;
  /** The file that starts the service. */
  readonly service: string;
  /** Milliseconds for each request to the store. */
  readonly latency: number;
}

/** One operation is done by one process, so there is one: its memory is that of a worker. */
const WORKERS = 1;

/** A bucket in a synthetic store. */
export async function bucketPlace(options: PlaceOptions, signal: AbortSignal): Promise<Place> {
  const store: SyntheticStore = await startSyntheticStore(options, signal);
  const { account, bucket } = store;
  return {
    server: holdall(options.service, WORKERS, {
      STORAGE_TYPE: 's3',
      S3_ENDPOINT: account.endpoint,
      S3_REGION: account.region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: account.accessKeyId,
      S3_SECRET_ACCESS_KEY: account.secretAccessKey,
    }),
    newSite: sitesIn(options.folder),
    takeCalls: store.takeCalls,
    requireFamily: store.requireFamily,
    requireNothing: store.requireNothing,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** A folder of this machine. */
export async function diskPlace({ families, folder, service }: PlaceOptions): Promise<Place> {
  const root = join(folder, 'root');
  for (const family of families) makeFiles(root, family);
  const namesIn = async (path: string) => {
    const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  };
  return {
    server: holdall(service, WORKERS),
    newSite: sitesIn(folder, root),
    takeCalls: async () => undefined,
    async requireFamily(family, path) {
      const found = new Set(await namesIn(path));
      const expected = Array.from({ length: family.count }, (_, number) => {
        return join(root, path, keyOf(family, number).slice(family.prefix.length));
      });
      const missing = expected.find((file) => !found.has(file));
      if (missing !== undefined) throw new Error(`${missing} is missing`);
      if (found.size !== family.count) throw new Error(`${path} holds ${found.size} files, not ${family.count}`);
    },
    async requireNothing(path) {
      const found = await namesIn(path);
      if (found.length > 0) throw new Error(`${found[0]} should not be there`);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function sitesIn(folder: string, root = join(folder, 'root')): () => Site {
  let sites = 0;
  return () => ({ root, scratch: join(folder, `scratch-${++sites}`) });
}

/** Nearly all are hard links, since a file of its own takes a file system ten times as long. */
function makeFiles(root: string, family: Family): void {
  let folder = '';
  for (let number = 0; number < family.count; number++) {
    const file = join(root, keyOf(family, number));
    if (join(file, '..') !== folder) {
      folder = join(file, '..');
      mkdirSync(folder, { recursive: true });
    }
    const first = number - (number % linksOfOne);
    if (number === first) writeFileSync(file, 'An entry.\n');
    else linkSync(join(root, keyOf(family, first)), file);
  }
}

/** Below what file systems allow: 65,000 on ext4, 65,535 on btrfs. */
const linksOfOne = 50_000;
