import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles } from '../../src/files/files.ts';
import type { Change } from '../../src/model/change.ts';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { mediaTypeOf } from '../../src/model/presentation.ts';
import type { Keep, Store } from '../../src/model/store.ts';

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

/** A folder that is only in the trash. */
export const GONE = parseFolder('top/gh');

/** The file in the trash that `top/ab/` had. */
export const GONE_FILE = 'top/ab/gone.txt';

/** Files with one version. The last one exists only as a version. */
const WITH_VERSIONS = ['top/ab/x.txt', 'top/ab/picture.png', 'top/ab/former.txt'];

/** The files of a store under test. */
export interface TestTree {
  /** Restores all files, and the items in the trash. Returns whether nothing had changed. */
  restore(): Promise<boolean>;
  /**
   * Replaces `{gone}` with the id of `GONE` in the trash, `{version of PATH}` with the id of the version, and
   * `{change of PATH}` with the ID of the change that created the file.
   */
  withIds(text: string): string;
}

/** `record` adds a change to the change log, and returns its ID. */
export async function plantStore(
  store: Store,
  record: (change: Change) => Promise<string | undefined>,
): Promise<TestTree> {
  const files = createFiles(store, { presignExpires: 60 });
  /** The etags of the planted files. */
  const planted = new Map<string, string>();

  const remove = async (unplanted: ReadonlySet<string>) => {
    for (const path of unplanted) {
      if (path.endsWith('/')) await files.deleteFolder(parseFolder(path));
      else await files.deleteFile(parseFile(path));
    }
  };
  const write = (path: string, bytes: Buffer, keep?: Keep) =>
    store.write(
      parseFile(path),
      { body: Readable.from([bytes]), size: bytes.length, type: mediaTypeOf(path) },
      { keep },
    );
  /** The IDs of the changes that created the files. */
  const created = new Map<string, string | undefined>();
  const plant = async (path: string, bytes: Buffer) => {
    const { etag, size } = await write(path, bytes);
    planted.set(path, etag);
    created.set(path, await record({ type: 'file.created', path: parseFile(path), size, etag }));
  };

  const restore = async () => {
    const areVersionsUnchanged = await restoreVersions();
    const found = await etagsIn(store);
    const unplanted = new Set([...found.keys()].flatMap((path) => unplantedIn(path) ?? []));
    const missing = Object.entries(PLANTED).filter(
      ([path]) => !planted.has(path) || found.get(path) !== planted.get(path),
    );
    await remove(unplanted);
    await Promise.all(missing.map(([path, bytes]) => plant(path, bytes)));
    const isTrashUnchanged = await restoreTrash();
    return unplanted.size === 0 && missing.length === 0 && isTrashUnchanged && areVersionsUnchanged;
  };

  /** The ids of the planted items in the trash, by path. */
  const trashed = new Map<string, KeptId>();
  const restoreTrash = async () => {
    if (!store.listTrash || !store.moveToTrash) return true;
    const { items } = await store.listTrash();
    const extra = items.filter(({ path, id }) => trashed.get(path) !== id);
    for (const { id } of extra) await store.purgeTrashed?.(id);
    const lost = [GONE, GONE_FILE].filter((path) => !items.some(({ id }) => trashed.get(path) === id));
    for (const path of lost) {
      const id = newKeptId();
      const isFolder = path.endsWith('/');
      await write(isFolder ? `${path}sub/deep.txt` : path, Buffer.from('gone'));
      await store.moveToTrash(isFolder ? parseFolder(path) : parseFile(path), { id });
      trashed.set(path, id);
    }
    return extra.length === 0 && lost.length === 0;
  };

  /** The ids of the planted versions, by path. */
  const versions = new Map<string, KeptId>();
  const restoreVersions = async () => {
    let isUnchanged = true;
    for (const path of WITH_VERSIONS) {
      const known = await store.listVersions?.(parseFile(path));
      if (!known || known.versions.some(({ id }) => versions.get(path) === id)) continue;
      await write(path, PICTURE);
      await write(path, Buffer.from('replaced'), { onKept: (id) => void versions.set(path, id) });
      isUnchanged = false;
    }
    return isUnchanged;
  };
  await restore();
  return {
    restore,
    withIds: (text) =>
      text
        .replace('{gone}', () => trashed.get(GONE) ?? assert.fail('The folder is not in the trash.'))
        .replace(/\{change of (.*?)\}/, (_, path: string) => created.get(path) ?? assert.fail(path))
        .replace(/\{version of (.*?)\}/, (_, path: string) => versions.get(path) ?? assert.fail(path)),
  };
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
