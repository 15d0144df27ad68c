import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { newKeptId } from '../model/kept-ids.ts';
import { pageOf } from '../model/page.ts';
import { type FilePath, type FolderPath, isFolder, MAX_KEY_BYTES } from '../model/path.ts';
import { resolveRange } from '../model/range.ts';
import type { Capability, Content, Keep, Replacing, Store } from '../model/store.ts';
import { notFound, requireCondition, requireEtag, requireSize } from '../model/store-errors.ts';
import { BufferedContent } from '../streams/bodies.ts';
import { limitPaths } from './layers/limit-paths.ts';
import { MemoryTrash, MemoryVersions } from './memory-kept.ts';
import { MemoryTree, type OnReplace, type StoredFile } from './memory-tree.ts';

/** The optional members of the reference store. */
export const MEMORY_CAPABILITIES: readonly Capability[] = [
  'copy',
  'move',
  'copyFolder',
  'moveFolder',
  'removeTree',
  'setModified',
  'hasFolder',
  'identify',
  'moveToTrash',
  'listTrash',
  'findTrashed',
  'measureTrashed',
  'restoreTrashed',
  'purgeTrashed',
  'listVersions',
  'readVersion',
  'restoreVersion',
  'purgeVersions',
  'expireVersions',
  'maxPathBytes',
];

/**
 * Creates the reference store: files in memory, for tests and as an example of a store. Like a file system, it rejects
 * a file and a folder of the same name, and it keeps empty folders. It has no `presign`.
 */
export function createMemoryStore(): Store {
  const tree = new MemoryTree();
  const trash = new MemoryTrash(tree);
  const versions = new MemoryVersions();

  /** Returns what to do with the file or folder that an operation replaces. */
  const keepWith = (keep: Keep | undefined): OnReplace | undefined =>
    keep &&
    ((path) => {
      const id = newKeptId();
      if (isFolder(path)) trash.add(path, { id, user: keep.user });
      else versions.add(path, tree.get(path), { id, user: keep.user });
      keep.onKept?.(id);
    });
  const replacing = ({ replace, keep }: Replacing & { keep?: Keep | undefined }) => ({
    replace,
    onReplace: keepWith(keep),
  });

  const requireIdentity = (path: FilePath | FolderPath, identity: string | undefined) => {
    if (identity !== undefined && tree.identify(path) !== identity) throw notFound(path);
  };

  const store: Store = {
    async list(folder, options = {}) {
      const { items, cursor } = pageOf(folder, tree.childrenOf(folder), options, ({ path }) => path);
      return { entries: items, cursor };
    },

    stat: async (file) => tree.get(file).entry,
    read: async (file, options = {}) => contentOf(tree.get(file), options),

    async write(file, { body, size, type, modified }, { condition, keep, onOutcome, signal } = {}) {
      try {
        const bytes = await buffer(signal ? addAbortSignal(signal, body) : body);
        requireSize(file, bytes.length, size);
        const present = tree.find(file)?.entry;
        requireCondition(file, present, condition);
        const entry = tree.put(file, bytes, { type, modified: modified?.() ?? null }, keepWith(keep));
        onOutcome?.({ replaced: present !== undefined });
        return entry;
      } finally {
        body.destroy();
      }
    },

    async remove(file, { ifMatch } = {}) {
      requireEtag(tree.get(file).entry, ifMatch);
      tree.remove(file);
    },

    setModified: async (file, modified) => tree.setModified(file, modified),

    identify: async (path) => tree.identify(path),
    hasFolder: async (folder) => tree.hasFolder(folder),
    createFolder: async (folder) => tree.createFolder(folder),
    removeFolder: async (folder) => tree.removeFolder(folder),
    copy: async (from, to, options) => tree.copy(from, to, replacing(options)),
    async move(from, to, options) {
      tree.move(from, to, replacing(options));
    },
    async removeTree(folder, { identity } = {}) {
      requireIdentity(folder, identity);
      tree.removeTree(folder);
    },
    async copyFolder(from, to, { signal, ...options }) {
      signal?.throwIfAborted();
      tree.copyFolder(from, to, replacing(options));
    },
    async moveFolder(from, to, { signal, ...options }) {
      signal?.throwIfAborted();
      tree.moveFolder(from, to, replacing(options));
    },

    async moveToTrash(path, { id, user, ifMatch, identity, signal }) {
      signal?.throwIfAborted();
      requireIdentity(path, identity);
      if (!isFolder(path)) requireEtag(tree.get(path).entry, ifMatch);
      return trash.add(path, { id, user });
    },
    listTrash: async (options = {}) => trash.list(options),
    findTrashed: async (id) => trash.get(id).item,
    measureTrashed: async (id) => trash.measure(id),
    async restoreTrashed(id, to, { signal } = {}) {
      signal?.throwIfAborted();
      trash.restore(id, to);
    },
    purgeTrashed: async (id) => trash.purge(id),

    listVersions: async (file, options = {}) => versions.list(file, options),
    readVersion: async (file, id, options = {}) => contentOf(versions.get(file, id), options),
    async restoreVersion(file, id, { condition, keep }) {
      const { entry, bytes } = versions.get(file, id);
      requireCondition(file, tree.find(file)?.entry, condition);
      return tree.put(file, bytes, entry, keepWith(keep));
    },
    purgeVersions: async (path: FilePath | FolderPath, { before } = {}) => versions.purge(path, before),
    expireVersions: async (limits) => versions.expire(limits),
  };
  return limitPaths(store, MAX_KEY_BYTES);
}

function contentOf(
  { entry, bytes }: StoredFile,
  { range, ifMatch }: Pick<NonNullable<Parameters<Store['read']>[1]>, 'range' | 'ifMatch'>,
): Content {
  requireEtag(entry, ifMatch);
  const resolved = range && resolveRange(range, entry.size);
  return new BufferedContent(entry, resolved, resolved ? bytes.subarray(resolved.start, resolved.end + 1) : bytes);
}
