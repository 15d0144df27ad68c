import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pageOf } from '../model/page.ts';
import {
  comparePaths,
  type FilePath,
  type FolderPath,
  isWithin,
  parentOf,
  ROOT,
  rebase,
  withoutSlash,
} from '../model/path.ts';
import { resolveRange } from '../model/range.ts';
import type { Cancellable, Entry, FileEntry, Replacing, Store } from '../model/store.ts';
import {
  alreadyExists,
  kindConflict,
  notEmpty,
  notFound,
  requireCondition,
  requireEtag,
  requireSize,
} from '../model/store-errors.ts';
import { BufferedContent } from '../streams/bodies.ts';

/**
 * Creates the reference store: files in memory, for tests and as an example of a store. Like a file system, it rejects
 * a file and a folder of the same name, and it keeps empty folders. It has no `presign`.
 */
export function createMemoryStore(): Store {
  const files = new Map<FilePath, { entry: FileEntry; bytes: Buffer }>();
  const folders = new Set<FolderPath>([ROOT]);

  const get = (path: FilePath) => {
    const file = files.get(path);
    if (!file) throw notFound(path);
    return file;
  };

  const requireFolder = (folder: FolderPath) => {
    if (!folders.has(folder)) throw notFound(folder);
  };

  /** Creates a folder and its parents. Checks all names first, so that a conflict changes nothing. */
  const makeFolders = (folder: FolderPath) => {
    const missing: FolderPath[] = [];
    for (let path = folder; !folders.has(path); path = parentOf(path)) {
      if (files.has(withoutSlash(path) as FilePath)) throw kindConflict(path);
      missing.push(path);
    }
    for (const path of missing) folders.add(path);
  };

  const put = (path: FilePath, bytes: Buffer, { type, modified }: { type: string; modified?: Date | null }) => {
    if (folders.has(`${path}/` as FolderPath)) throw kindConflict(path);
    makeFolders(parentOf(path));
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const now = new Date();
    const times = modified ? { modified, changed: now } : { modified: now };
    const entry: FileEntry = { kind: 'file', path, size: bytes.length, etag, ...times, type };
    files.set(path, { entry, bytes });
    return entry;
  };

  const copy = (from: FilePath, to: FilePath, { replace }: Replacing): FileEntry => {
    const { entry, bytes } = get(from);
    if (!replace && files.has(to)) throw alreadyExists(to);
    return put(to, bytes, entry);
  };

  const entriesIn = (folder: FolderPath): Entry[] =>
    [
      ...[...files.values()].map(({ entry }) => entry),
      ...[...folders].map((path) => ({ kind: 'folder' as const, path })),
    ]
      .filter(({ path }) => path !== ROOT && parentOf(path) === folder)
      .toSorted((left, right) => comparePaths(left.path, right.path));

  const removeTree = (folder: FolderPath) => {
    requireFolder(folder);
    for (const path of files.keys()) if (isWithin(path, folder)) files.delete(path);
    for (const path of folders) if (path !== ROOT && isWithin(path, folder)) folders.delete(path);
  };

  const copyFolder = (from: FolderPath, to: FolderPath, { replace, signal }: Replacing & Cancellable) => {
    signal?.throwIfAborted();
    requireFolder(from);
    if (!replace && folders.has(to)) throw alreadyExists(to);
    const below = [...folders].filter((path) => isWithin(path, from)).map((path) => rebase(path, from, to));
    const moved = [...files.keys()]
      .filter((path) => isWithin(path, from))
      .map((path) => [path, rebase(path, from, to)] as const);
    makeFolders(parentOf(to));
    if (folders.has(to)) removeTree(to);
    makeFolders(to);
    below.forEach(makeFolders);
    for (const [source, destination] of moved) copy(source, destination, { replace });
  };

  return {
    async list(folder, options = {}) {
      requireFolder(folder);
      const { items, cursor } = pageOf(folder, entriesIn(folder), options, ({ path }) => path);
      return { entries: items, cursor };
    },

    stat: async (file) => get(file).entry,

    async read(file, { range, ifMatch } = {}) {
      const { entry, bytes } = get(file);
      requireEtag(entry, ifMatch);
      const resolved = range && resolveRange(range, entry.size);
      const part = resolved ? bytes.subarray(resolved.start, resolved.end + 1) : bytes;
      return new BufferedContent(entry, resolved, part);
    },

    async write(file, { body, size, type, modified }, { condition, signal } = {}) {
      try {
        const bytes = await buffer(signal ? addAbortSignal(signal, body) : body);
        requireSize(file, bytes.length, size);
        requireCondition(file, files.get(file)?.entry, condition);
        return put(file, bytes, { type, modified: modified?.() ?? null });
      } finally {
        body.destroy();
      }
    },

    async remove(file, { ifMatch } = {}) {
      requireEtag(get(file).entry, ifMatch);
      files.delete(file);
    },

    createFolder: async (folder) => makeFolders(folder),

    async removeFolder(folder) {
      requireFolder(folder);
      if (entriesIn(folder).length > 0) throw notEmpty(folder);
      folders.delete(folder);
    },

    copy: async (from, to, options) => copy(from, to, options),
    async move(from, to, options) {
      copy(from, to, options);
      files.delete(from);
    },
    removeTree: async (folder) => removeTree(folder),
    copyFolder: async (from, to, options) => copyFolder(from, to, options),
    async moveFolder(from, to, options) {
      copyFolder(from, to, options);
      removeTree(from);
    },
  };
}
