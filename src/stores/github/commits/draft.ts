import type { FilePath, FolderPath } from '../../../model/path.ts';
import { kindConflict } from '../../../model/store-errors.ts';
import { EMPTY_TREE, FOLDER, isFolder, shaOfTree, type Tree, type TreeEntry } from '../branch/objects.ts';
import type { Trees } from '../branch/trees.ts';
import type { TreeEdit } from '../host/host.ts';

/**
 * Thrown if a change can't share a commit with earlier ones. GitHub applies the edits of a tree in no defined order, so
 * a folder can't be both added and modified. The change goes into the next commit.
 */
export class NeedsOwnCommit extends Error {
  override readonly name = 'NeedsOwnCommit';
}

/** Result of a draft. */
export interface Drafted {
  readonly edits: readonly TreeEdit[];
  /**
   * Expected SHA of the new tree. Undefined if GitHub could not return all names, so that the SHA can't be computed.
   */
  readonly root: string | undefined;
  /** The new trees. */
  readonly trees: readonly Tree[];
}

/** A modified copy of a tree, in memory. A member that throws has changed nothing. */
export interface Draft {
  /** Returns the entry at a path, with current mode and size. The SHA of a modified folder is not current. */
  find(path: FilePath | FolderPath): Promise<TreeEntry | undefined>;
  /**
   * Returns the number of entries in a folder, including names that are not UTF-8; undefined if the folder does not
   * exist.
   */
  count(folder: FolderPath): Promise<number | undefined>;
  /**
   * Returns a folder's entry with its current SHA, for a copy; undefined if the folder does not exist. Throws
   * `NeedsOwnCommit` if the folder was modified.
   */
  folder(path: FolderPath): Promise<TreeEntry | undefined>;
  /**
   * Writes an entry, replaces an existing one, and creates parent folders. `content` is the text of a blob that GitHub
   * does not have yet. Throws `wrong-kind` if a parent is a file, and `NeedsOwnCommit`.
   */
  put(path: FilePath | FolderPath, entry: TreeEntry, content?: string): Promise<void>;
  /** Throws if the entry at a path can't be removed in the same commit. For changes that remove and do more. */
  requireRemovable(path: FilePath | FolderPath): Promise<void>;
  /** Removes the entry at a path and all parent folders that become empty. */
  remove(path: FilePath | FolderPath): Promise<void>;
  finish(): Drafted;
}

/** A folder whose tree was read. */
interface OpenFolder {
  /** The tree on the branch; undefined for a new folder. */
  readonly base: Tree | undefined;
  readonly entries: Map<string, TreeEntry>;
  readonly children: Map<string, OpenFolder>;
  /** Whether anything below differs from `base`. */
  isChanged: boolean;
}

/** Placeholder for a folder whose SHA is not known yet. */
const UNKNOWN: TreeEntry = { mode: FOLDER, sha: '', size: 0 };

export function createDraft(trees: Trees, base: Tree): Draft {
  const root = opened(base);
  const contents = new Map<string, string>();

  /** Opens a child folder; returns undefined if it does not exist or is not a folder. */
  const open = async (parent: OpenFolder, name: string): Promise<OpenFolder | undefined> => {
    const child = parent.children.get(name);
    if (child) return child;
    const entry = parent.entries.get(name);
    if (!entry || !isFolder(entry)) return undefined;
    const folder = opened(await trees.read(entry.sha));
    parent.children.set(name, folder);
    return folder;
  };

  const openPath = async (names: readonly string[]): Promise<OpenFolder | undefined> => {
    let folder: OpenFolder | undefined = root;
    for (const name of names) folder = folder && (await open(folder, name));
    return folder;
  };

  const find: Draft['find'] = async (path) => {
    const { parents, name } = split(path);
    return (await openPath(parents))?.entries.get(name);
  };

  /**
   * Returns the folders from the root to the parent of the last name. New folders are not linked to their parents yet.
   * Throws if one can't be modified.
   */
  const chainAbove = async (names: readonly string[]): Promise<OpenFolder[]> => {
    const chain = [root];
    for (const [index, name] of names.slice(0, -1).entries()) {
      const above = chain[index] ?? root;
      requireChangeable(above, name, `${names.slice(0, index + 1).join('/')}/` as FolderPath);
      chain.push((await open(above, name)) ?? opened(undefined));
    }
    return chain;
  };

  return {
    find,

    async count(path) {
      const folder = await openPath(segmentsOf(path));
      return folder && countOf(folder);
    },

    async folder(path) {
      const entry = await find(path);
      if (!entry || !isFolder(entry)) return undefined;
      if ((await openPath(segmentsOf(path)))?.isChanged) throw new NeedsOwnCommit();
      return entry;
    },

    async put(path, entry, content) {
      const { parents, name } = split(path);
      const chain = await chainAbove([...parents, name]);
      const folder = chain.at(-1) ?? root;
      if (folder.base?.untold.has(name)) throw kindConflict(path);
      const before = folder.base?.entries.get(name);
      if (before && isFolder(before) !== isFolder(entry)) throw new NeedsOwnCommit();
      for (const [index, parent] of parents.entries()) join(chain[index] ?? root, parent, chain[index + 1] ?? root);
      folder.entries.set(name, entry);
      folder.children.delete(name);
      for (const changed of chain) changed.isChanged = true;
      if (content !== undefined) contents.set(entry.sha, content);
    },

    requireRemovable: async (path) => void (await chainAbove(segmentsOf(path))),

    async remove(path) {
      const names = segmentsOf(path);
      const chain = await chainAbove(names);
      for (const folder of chain) folder.isChanged = true;
      for (let depth = chain.length - 1; depth >= 0; depth--) {
        const [folder, name] = [chain[depth] ?? root, names[depth] ?? ''];
        folder.entries.delete(name);
        folder.children.delete(name);
        if (countOf(folder) > 0) return;
      }
    },

    finish() {
      const made: Tree[] = [];
      return { edits: [...editsOf(root, '', contents)], root: settle(root, made)?.sha, trees: made };
    },
  };
}

/**
 * Throws unless the entries below a child can be modified. The child must be an unchanged folder, a folder that this
 * draft created entry by entry, or absent from both the branch and the draft.
 */
function requireChangeable(parent: OpenFolder, name: string, path: FolderPath): void {
  const [before, now] = [parent.base?.entries.get(name), parent.entries.get(name)];
  // GitHub returned this name in place of one that is not UTF-8, so its entry is unknown.
  if (parent.base?.untold.has(name)) throw kindConflict(path);
  if (now && !isFolder(now)) throw kindConflict(path);
  if (now === UNKNOWN) return;
  if (before?.sha !== now?.sha) throw new NeedsOwnCommit();
}

function opened(base: Tree | undefined): OpenFolder {
  return { base, entries: new Map(base?.entries), children: new Map(), isChanged: base === undefined };
}

const countOf = ({ entries, base }: OpenFolder) => entries.size + (base?.untold.size ?? 0);

function join(parent: OpenFolder, name: string, child: OpenFolder): void {
  parent.children.set(name, child);
  if (!parent.entries.has(name)) parent.entries.set(name, UNKNOWN);
}

/** Yields the edits that turn a folder's tree on the branch into the new one. */
function* editsOf(folder: OpenFolder, prefix: string, contents: ReadonlyMap<string, string>): Generator<TreeEdit> {
  if (!folder.isChanged) return;
  const before = folder.base?.entries ?? EMPTY_TREE.entries;
  for (const [name, { mode }] of before) {
    if (!folder.entries.has(name)) yield { path: prefix + name, mode, sha: null };
  }
  for (const [name, { mode, sha }] of folder.entries) {
    const [path, child, old] = [prefix + name, folder.children.get(name), before.get(name)];
    const content = contents.get(sha);
    if (child?.isChanged) yield* editsOf(child, `${path}/`, contents);
    else if (old?.sha === sha && old.mode === mode) continue;
    else if (content === undefined) yield { path, mode, sha };
    else yield { path, mode, content };
  }
}

/** Returns the new tree of a folder; undefined if it can't be computed. Adds new trees to `made`. */
function settle(folder: OpenFolder, made: Tree[]): Tree | undefined {
  if (!folder.isChanged && folder.base) return folder.base;
  const entries = new Map(folder.entries);
  for (const [name, child] of folder.children) {
    const tree = settle(child, made);
    if (!tree) return undefined;
    entries.set(name, { mode: FOLDER, sha: tree.sha, size: 0 });
  }
  if (folder.base && folder.base.untold.size > 0) return undefined;
  const tree: Tree = { sha: shaOfTree(entries), entries, untold: EMPTY_TREE.untold };
  made.push(tree);
  return tree;
}

function split(path: FilePath | FolderPath): { parents: readonly string[]; name: string } {
  const names = segmentsOf(path);
  return { parents: names.slice(0, -1), name: names.at(-1) ?? '' };
}

const segmentsOf = (path: FilePath | FolderPath) => path.split('/').filter(Boolean);
