import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServedFolder, Server } from './servers.ts';
import { holdall } from './servers.ts';
import { keyOf } from './synthetic-objects.ts';
import type { Calls, Family, SyntheticStore } from './synthetic-store.ts';
import { startSyntheticStore } from './synthetic-store.ts';

/** A store with filled folders of one size, for one service at a time. */
export interface ScaleStore extends AsyncDisposable {
  readonly server: Server;
  newSite(): ServedFolder;
  /** Returns the requests to the store since the last call; undefined without a synthetic store. */
  takeCalls(signal: AbortSignal): Promise<Calls | undefined>;
  /** Rejects unless the folder contains exactly the files of a family. */
  requireFamily(family: Family, folder: string, signal: AbortSignal): Promise<void>;
  requireNothing(folder: string, signal: AbortSignal): Promise<void>;
}

export interface ScaleStoreOptions {
  readonly families: readonly Family[];
  readonly folder: string;
  /** The path of the service's script. */
  readonly service: string;
  /** Milliseconds per request to the store. */
  readonly latency: number;
}

/** One process handles one operation, so its memory is that of a worker. */
const WORKERS = 1;

/** Opens a bucket in a synthetic store. */
export async function openScaleBucket(options: ScaleStoreOptions, signal: AbortSignal): Promise<ScaleStore> {
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
export async function openScaleFolder({ families, folder, service }: ScaleStoreOptions): Promise<ScaleStore> {
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

function sitesIn(folder: string, root = join(folder, 'root')): () => ServedFolder {
  let sites = 0;
  return () => ({ root, scratch: join(folder, `scratch-${++sites}`) });
}

/** Most files are hard links, because creating a file takes ten times as long. */
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
