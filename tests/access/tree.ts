import { Readable } from 'node:stream';
import sharp from 'sharp';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles } from '../../src/files/files.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { mediaTypeOf } from '../../src/model/presentation.ts';
import type { Store } from '../../src/model/store.ts';

/** The folders in the requests of the table. `RENAMED` does not exist. */
export const SOURCE = parseFolder('top/ab');
export const DESTINATION = parseFolder('top/cd');
export const RENAMED = parseFolder('top/ef');

const PICTURE = await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
  .png()
  .toBuffer();

const PLANTED: Readonly<Record<string, Buffer>> = {
  'top/ab/picture.png': PICTURE,
  'top/ab/sub/deep.txt': Buffer.from('deep'),
  'top/ab/x.txt': Buffer.from('x'),
  'top/abx/x.txt': Buffer.from('similar'),
  'top/cd/sub/deep.txt': Buffer.from('deep in the destination'),
  'top/cd/taken.txt': Buffer.from('taken'),
  'top/next/x.txt': Buffer.from('next'),
  'root.txt': Buffer.from('root'),
};

/** The files of a store under test. */
export interface TestTree {
  /** Restores all files. Returns whether nothing had changed. */
  restore(): Promise<boolean>;
}

export async function plantStore(store: Store): Promise<TestTree> {
  const files = createFiles(store, { presignExpires: 60 });
  /** The etags of the planted files. */
  const planted = new Map<string, string>();

  const remove = async (unplanted: ReadonlySet<string>) => {
    for (const path of unplanted) {
      if (path.endsWith('/')) await files.deleteFolder(parseFolder(path));
      else await files.deleteFile(parseFile(path));
    }
  };
  const plant = async (path: string, bytes: Buffer) => {
    const upload = { body: Readable.from([bytes]), size: bytes.length, type: mediaTypeOf(path) };
    planted.set(path, (await store.write(parseFile(path), upload)).etag);
  };

  const restore = async () => {
    const found = await etagsIn(store);
    const unplanted = new Set([...found.keys()].flatMap((path) => unplantedIn(path) ?? []));
    const missing = Object.entries(PLANTED).filter(
      ([path]) => !planted.has(path) || found.get(path) !== planted.get(path),
    );
    await remove(unplanted);
    await Promise.all(missing.map(([path, bytes]) => plant(path, bytes)));
    return unplanted.size === 0 && missing.length === 0;
  };
  await restore();
  return { restore };
}

/** Returns the topmost ancestor folder that was not planted, or the path itself if it was not. */
function unplantedIn(path: string): string | undefined {
  return [...foldersOf(path), path].find((place) => !FOLDERS.has(place) && !(place in PLANTED));
}

/** Returns the ancestor folders of a path, and the path itself if it is a folder. */
const foldersOf = (path: string) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1));

/** The ancestor folders of the planted files. */
const FOLDERS: ReadonlySet<string> = new Set(Object.keys(PLANTED).flatMap(foldersOf));

/** Returns the etag of each file, and an empty string for each folder, by path. */
async function etagsIn(store: Store): Promise<ReadonlyMap<string, string>> {
  const etags = new Map<string, string>();
  for await (const entry of walk(store, ROOT)) etags.set(entry.path, entry.kind === 'file' ? entry.etag : '');
  return etags;
}
