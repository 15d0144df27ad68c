import { Readable } from 'node:stream';
import sharp from 'sharp';
import { createFiles } from '../../src/domain/files.ts';
import { mediaTypeOf } from '../../src/domain/media-type.ts';
import { parseFile, parseFolder, ROOT } from '../../src/domain/path.ts';
import type { Store } from '../../src/domain/store.ts';
import { walk } from '../../src/domain/walk.ts';

/** The folders that the requests of the table are about; `RENAMED` is not there yet. */
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
  'top/abx/x.txt': Buffer.from('alike'),
  'top/cd/sub/deep.txt': Buffer.from('deep in the destination'),
  'top/cd/taken.txt': Buffer.from('taken'),
  'top/next/x.txt': Buffer.from('next'),
  'root.txt': Buffer.from('root'),
};

/** A store with the same files in it whenever it was put right. */
export interface PlantedStore {
  /** Whether everything is as it was planted; what is not is put right. */
  putRight(): Promise<boolean>;
}

export async function plantStore(store: Store): Promise<PlantedStore> {
  const files = createFiles(store, { presignExpires: 60 });
  /** The etags of what was planted. */
  const planted = new Map<string, string>();

  const remove = async (strangers: ReadonlySet<string>) => {
    for (const path of strangers) {
      if (path.endsWith('/')) await files.deleteFolder(parseFolder(path));
      else await files.deleteFile(parseFile(path));
    }
  };
  const plant = async (path: string, bytes: Buffer) => {
    const upload = { body: Readable.from([bytes]), size: bytes.length, type: mediaTypeOf(path) };
    planted.set(path, (await store.write(parseFile(path), upload)).etag);
  };

  const putRight = async () => {
    const found = await etagsIn(store);
    const strangers = new Set([...found.keys()].flatMap((path) => strangerIn(path) ?? []));
    const lacking = Object.entries(PLANTED).filter(
      ([path]) => !planted.has(path) || found.get(path) !== planted.get(path),
    );
    await remove(strangers);
    await Promise.all(lacking.map(([path, bytes]) => plant(path, bytes)));
    return strangers.size === 0 && lacking.length === 0;
  };
  await putRight();
  return { putRight };
}

/** What of a path was not planted: the uppermost folder on the way to it, or itself. */
function strangerIn(path: string): string | undefined {
  const way = [...foldersOf(path), path];
  return way.find((place) => !FOLDERS.has(place) && !(place in PLANTED));
}

/** The folders that a path is in, itself too if it is one. */
const foldersOf = (path: string) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1));

/** Those that what is planted is in. */
const FOLDERS: ReadonlySet<string> = new Set(Object.keys(PLANTED).flatMap(foldersOf));

/** The etag of every file of a store, and nothing for a folder, by their paths. */
async function etagsIn(store: Store): Promise<ReadonlyMap<string, string>> {
  const etags = new Map<string, string>();
  for await (const entry of walk(store, ROOT)) etags.set(entry.path, entry.kind === 'file' ? entry.etag : '');
  return etags;
}
