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
  const tree = new MemoryTree();
  return {
    async list(folder, options = {}) {
      const { items, cursor } = pageOf(folder, tree.childrenOf(folder), options, ({ path }) => path);
      return { entries: items, cursor };
    },

    stat: async (file) => tree.get(file).entry,

    async read(file, { range, ifMatch } = {}) {
      const { entry, bytes } = tree.get(file);
      requireEtag(entry, ifMatch);
      const resolved = range && resolveRange(range, entry.size);
      const part = resolved ? bytes.subarray(resolved.start, resolved.end + 1) : bytes;
      return new BufferedContent(entry, resolved, part);
    },

    async write(file, { body, size, type, modified }, { condition, signal } = {}) {
      try {
        const bytes = await buffer(signal ? addAbortSignal(signal, body) : body);
        requireSize(file, bytes.length, size);
        requireCondition(file, tree.find(file)?.entry, condition);
        return tree.put(file, bytes, { type, modified: modified?.() ?? null });
      } finally {
        body.destroy();
      }
    },

    async remove(file, { ifMatch } = {}) {
      requireEtag(tree.get(file).entry, ifMatch);
      tree.remove(file);
    },

    createFolder: async (folder) => tree.createFolder(folder),
    removeFolder: async (folder) => tree.removeFolder(folder),
    copy: async (from, to, options) => tree.copy(from, to, options),
    async move(from, to, options) {
      tree.copy(from, to, options);
      tree.remove(from);
    },
    removeTree: async (folder) => tree.removeTree(folder),
    copyFolder: async (from, to, options) => tree.copyFolder(from, to, options),
    async moveFolder(from, to, options) {
      tree.copyFolder(from, to, options);
      tree.removeTree(from);
    },
  };
}

interface StoredFile {
  readonly entry: FileEntry;
  readonly bytes: Buffer;
}

/** Files and folders in memory. Each change is complete when its method returns. */
class MemoryTree {
  readonly #files = new Map<FilePath, StoredFile>();
  readonly #folders = new Set<FolderPath>([ROOT]);

  find(path: FilePath): StoredFile | undefined {
    return this.#files.get(path);
  }

  get(path: FilePath): StoredFile {
    const file = this.#files.get(path);
    if (!file) throw notFound(path);
    return file;
  }

  put(
    path: FilePath,
    bytes: Buffer,
    { type, modified }: { readonly type: string; readonly modified: Date | null },
  ): FileEntry {
    if (this.#folders.has(`${path}/` as FolderPath)) throw kindConflict(path);
    this.createFolder(parentOf(path));
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const now = new Date();
    const times = modified ? { modified, changed: now } : { modified: now };
    const entry: FileEntry = { kind: 'file', path, size: bytes.length, etag, ...times, type };
    this.#files.set(path, { entry, bytes });
    return entry;
  }

  remove(path: FilePath): void {
    this.#files.delete(path);
  }

  copy(from: FilePath, to: FilePath, { replace }: Replacing): FileEntry {
    const { entry, bytes } = this.get(from);
    if (!replace && this.#files.has(to)) throw alreadyExists(to);
    return this.put(to, bytes, entry);
  }

  /** Returns the entries of a folder in the order of listings. */
  childrenOf(folder: FolderPath): Entry[] {
    this.#requireFolder(folder);
    const files = Array.from(this.#files.values(), ({ entry }) => entry);
    const folders = Array.from(this.#folders, (path) => ({ kind: 'folder' as const, path }));
    return [...files, ...folders]
      .filter(({ path }) => path !== ROOT && parentOf(path) === folder)
      .toSorted((left, right) => comparePaths(left.path, right.path));
  }

  /** Creates a folder and its parents. Checks all names first, so that a conflict changes nothing. */
  createFolder(folder: FolderPath): void {
    const missing: FolderPath[] = [];
    for (let path = folder; !this.#folders.has(path); path = parentOf(path)) {
      if (this.#files.has(withoutSlash(path) as FilePath)) throw kindConflict(path);
      missing.push(path);
    }
    for (const path of missing) this.#folders.add(path);
  }

  removeFolder(folder: FolderPath): void {
    if (this.childrenOf(folder).length > 0) throw notEmpty(folder);
    this.#folders.delete(folder);
  }

  removeTree(folder: FolderPath): void {
    this.#requireFolder(folder);
    for (const path of this.#files.keys()) if (isWithin(path, folder)) this.#files.delete(path);
    for (const path of this.#folders) if (path !== ROOT && isWithin(path, folder)) this.#folders.delete(path);
  }

  copyFolder(from: FolderPath, to: FolderPath, { replace, signal }: Replacing & Cancellable): void {
    signal?.throwIfAborted();
    this.#requireFolder(from);
    if (!replace && this.#folders.has(to)) throw alreadyExists(to);
    const folders = [...this.#folders].filter((path) => isWithin(path, from)).map((path) => rebase(path, from, to));
    const files = [...this.#files.keys()]
      .filter((path) => isWithin(path, from))
      .map((path) => [path, rebase(path, from, to)] as const);
    this.createFolder(parentOf(to));
    if (this.#folders.has(to)) this.removeTree(to);
    this.createFolder(to);
    for (const folder of folders) this.createFolder(folder);
    for (const [source, destination] of files) this.copy(source, destination, { replace });
  }

  #requireFolder(folder: FolderPath): void {
    if (!this.#folders.has(folder)) throw notFound(folder);
  }
}
