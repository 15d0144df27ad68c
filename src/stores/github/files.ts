import { Readable } from 'node:stream';
import { pageOf } from '../../model/page.ts';
import {
  comparePaths,
  type FilePath,
  type FolderPath,
  foundFile,
  foundFolder,
  MAX_KEY_BYTES,
  nameOf,
  parentOf,
  withoutSlash,
} from '../../model/path.ts';
import { resolveRange } from '../../model/range.ts';
import {
  type Cancellable,
  type Content,
  type Entry,
  type FileEntry,
  type Keeping,
  MAX_OMITTED_NAMES,
  type Store,
  type WriteCondition,
} from '../../model/store.ts';
import { notFound, requireEtag, requireSize } from '../../model/store-errors.ts';
import type { BlobCache } from './blobs/blob-cache.ts';
import type { LfsObject, LfsObjects } from './blobs/lfs.ts';
import { fileEntry, isFile, isFolder, type Tree, type TreeEntry } from './branch/objects.ts';
import { isReserved, MARKER, requireWritable } from './branch/reserved-names.ts';
import type { ServedFolder } from './branch/served-folder.ts';
import type { Snapshot, Snapshots } from './branch/snapshots.ts';
import type { Trees } from './branch/trees.ts';
import {
  type Change,
  copyFile,
  type FileContent,
  type History,
  type KeptResult,
  moveFile,
  putFile,
  removeFile,
} from './commits/changes.ts';
import type { CommitQueue } from './commits/commit-queue.ts';
import { Draft } from './commits/draft.ts';
import type { EnsureFirstCommit } from './commits/push.ts';
import { BlobUploader } from './commits/upload.ts';
import { MAX_FILE_BYTES, tooLarge } from './host/errors.ts';
import type { Host } from './host/host.ts';

/** A file on the branch. */
export interface FoundFile {
  readonly file: FileEntry;
  readonly snapshot: Snapshot;
  readonly blob: TreeEntry;
  /** The Git LFS object, if the blob is a pointer and GitHub has its object. */
  readonly object: LfsObject | undefined;
}

export interface Reader extends Pick<Store, 'list' | 'stat' | 'read'> {
  find(file: FilePath, options?: Cancellable): Promise<FoundFile>;
  /** Finds a file in a snapshot of the branch. Throws `not-found`. */
  findIn(snapshot: Snapshot, file: FilePath, options: Cancellable): Promise<FoundFile>;
  /** Opens a file that was found. */
  open(found: FoundFile, options: NonNullable<Parameters<Store['read']>[1]>): Promise<Content>;
}

export function createReader(
  host: Host,
  trees: Trees,
  snapshots: Snapshots,
  blobs: BlobCache,
  lfs: LfsObjects,
  served: ServedFolder,
): Reader {
  const sortedEntriesOf = cacheLast(entriesOf);

  /** Returns the trees from the root of the branch to a folder; undefined if the folder does not exist. */
  const treesTo = async ({ root }: Snapshot, folder: FolderPath, options: Cancellable): Promise<Tree[] | undefined> => {
    const chain = await served.chain(root, options);
    for (const name of withoutSlash(folder).split('/').filter(Boolean)) {
      const entry = chain.at(-1)?.entries.get(name);
      if (!entry || !isFolder(entry) || isReserved(folder)) return undefined;
      chain.push(await trees.read(entry.sha, options));
    }
    return chain;
  };

  const findIn: Reader['findIn'] = async (snapshot, file, { signal }) => {
    const chain = isReserved(file) ? undefined : await treesTo(snapshot, parentOf(file), { signal });
    const blob = chain?.at(-1)?.entries.get(nameOf(file));
    if (!chain || !blob || !isFile(blob)) throw notFound(file);
    const object = await lfs.find(blob, chain, { signal });
    return { file: fileEntry(file, { sha: blob.sha, size: object?.size ?? blob.size }), snapshot, blob, object };
  };

  const find: Reader['find'] = async (file, { signal } = {}) =>
    findIn(await snapshots.current({ signal }), file, { signal });

  const open: Reader['open'] = async ({ file, blob, object }, options) => {
    const { range, ifMatch, maxSize = Number.POSITIVE_INFINITY, signal } = options;
    requireEtag(file, ifMatch);
    if (file.size > maxSize) return { file, body: Readable.from([]) };
    const resolved = range && resolveRange(range, file.size);
    const part = { ...(resolved && { range: resolved }), ...(signal && { signal }) };
    const body = object
      ? await lfs.open(object, part)
      : await blobs.open(blob, (cancelled) => host.blob(blob.sha, { signal: cancelled }), part);
    return { file, range: resolved, body };
  };

  return {
    find,
    findIn,
    open,

    async list(folder, { signal, ...page } = {}) {
      const snapshot = await snapshots.current({ signal });
      const tree = (await treesTo(snapshot, folder, { signal }))?.at(-1);
      if (!tree) throw notFound(folder);
      const { items, cursor } = pageOf(folder, sortedEntriesOf(tree, folder), page, ({ path }) => path);
      const omitted = page.cursor === undefined ? omittedFrom(tree, folder) : [];
      return { entries: items, cursor, ...(omitted.length > 0 && { omitted }) };
    },

    stat: async (file, options) => (await find(file, options)).file,

    read: async (path, options = {}) => open(await find(path, options), options),
  };
}

/** Returns the files and folders of a tree that a valid path can name, except the marker, in listing order. */
function entriesOf(tree: Tree, folder: FolderPath): readonly Entry[] {
  const entries: Entry[] = [];
  for (const [name, entry] of tree.entries) {
    const file = isFile(entry) && name !== MARKER ? foundFile(folder, name, MAX_KEY_BYTES) : undefined;
    const below = isFolder(entry) ? foundFolder(folder, name, MAX_KEY_BYTES) : undefined;
    if (file !== undefined) entries.push(fileEntry(file, entry));
    if (below !== undefined && name !== MARKER) entries.push({ kind: 'folder', path: below });
  }
  return entries.toSorted((left, right) => comparePaths(left.path, right.path));
}

/** Returns the names of files and folders that no path can name. */
function omittedFrom({ entries, nonUtf8Names }: Tree, folder: FolderPath): string[] {
  const isOmitted = ([name, entry]: [string, TreeEntry]) =>
    (isFile(entry) && foundFile(folder, name, MAX_KEY_BYTES) === undefined) ||
    (isFolder(entry) && foundFolder(folder, name, MAX_KEY_BYTES) === undefined);
  const invalid = [...entries].filter(isOmitted).map(([name]) => name);
  return [...invalid, ...nonUtf8Names].slice(0, MAX_OMITTED_NAMES);
}

/** Caches the last result per tree, because clients request the pages of a folder one after the other. */
function cacheLast(read: typeof entriesOf): typeof entriesOf {
  const last = new WeakMap<Tree, { folder: FolderPath; entries: readonly Entry[] }>();
  return (tree, folder) => {
    const known = last.get(tree);
    if (known?.folder === folder) return known.entries;
    const entries = read(tree, folder);
    last.set(tree, { folder, entries });
    return entries;
  };
}

type FileOperations = Required<Pick<Store, 'write' | 'stage' | 'remove' | 'copy' | 'move'>>;

/** Creates the operations that change files. Each is one change in a commit. */
export function createFileOperations(
  host: Host,
  trees: Trees,
  queue: CommitQueue,
  ensureFirstCommit: EnsureFirstCommit,
  served: ServedFolder,
  { lastCommitOf }: History,
): FileOperations {
  const uploader = new BlobUploader(host);

  const prepare = async ({ signal }: Cancellable) => {
    queue.requireOpen();
    return ensureFirstCommit({ signal });
  };

  /** Checks a write and its condition, so that an upload that must fail does so before its bytes are sent. */
  const prepareWrite = async (file: FilePath, condition: WriteCondition | undefined, { signal }: Cancellable) => {
    const { head, root } = await prepare({ signal });
    const base = await trees.read(root, { signal });
    await putFile(file, UNKNOWN_CONTENT, { condition, lastCommitOf }).apply(
      new Draft(trees, { head, base, served: served.path }),
    );
  };

  return {
    async write(file, { body, size }, { signal, ...options } = {}) {
      try {
        requireWritable(file);
        if (size !== undefined && size > MAX_FILE_BYTES) throw tooLarge();
        const content = await uploader.upload(body, {
          prepare: () => prepareWrite(file, options.condition, { signal }),
          checkSize: (actual) => requireSize(file, actual, size),
          signal,
        });
        return await runKeeping(queue, putFile(file, content, { ...options, lastCommitOf }), {
          keep: options.keep,
          signal,
        });
      } finally {
        body.destroy();
      }
    },

    // GitHub removes blobs that no commit refers to, so `abort` has nothing to do.
    async stage({ body }, { signal } = {}) {
      const content = await uploader.upload(body, { prepare: async () => void (await prepare({ signal })), signal });
      return {
        commit: (file, _upload, options = {}) =>
          runKeeping(queue, putFile(file, content, { ...options, lastCommitOf }), options),
        abort: async () => {},
      };
    },

    remove: (file, { ifMatch, signal } = {}) => queue.run(removeFile(file, ifMatch), signal),
    copy: async (from, to, options) => runKeeping(queue, copyFile(from, to, { ...options, lastCommitOf }), options),
    move: async (from, to, options) => runKeeping(queue, moveFile(from, to, { ...options, lastCommitOf }), options),
  };
}

/** Makes a change, and reports the id of what it kept. */
export async function runKeeping<Result>(
  queue: CommitQueue,
  change: Change<KeptResult<Result>>,
  { keep, signal }: Keeping & Cancellable,
): Promise<Result> {
  const { result, kept, isUnchanged } = await queue.run(change, signal);
  if (kept !== undefined) keep?.onKept?.(kept);
  if (isUnchanged) keep?.onUnchanged?.();
  return result;
}

/** Placeholder for a blob that does not exist yet. */
const UNKNOWN_CONTENT: FileContent = { sha: '', size: 0 };
