import type { FilePath, FolderPath } from '../../../model/path.ts';
import { kindConflict } from '../../../model/store-errors.ts';
import { EMPTY_TREE, FOLDER, isFolder, shaOfTree, type Tree, type TreeEntry } from '../branch/objects.ts';
import type { Trees } from '../branch/trees.ts';
import type { TreeEdit } from '../host/host.ts';

/**
 * A change that can't go into the same commit as those before it: the host takes a list of edits in no order, so that
 * a folder which they put somewhere can't be changed by them as well. It goes into the next commit.
 */
export class NeedsOwnCommit extends Error {
  override readonly name = 'NeedsOwnCommit';
}

/** What a draft comes to. */
export interface Drafted {
  readonly edits: readonly TreeEdit[];
  /** The sha that the tree will have; undefined where the host could not tell all names, so that it can't be known. */
  readonly root: string | undefined;
  /** The trees that are new. */
  readonly trees: readonly Tree[];
}

/**
 * A tree of the branch that is being changed, in memory. Every member that changes it looks first, and where it throws
 * it changed nothing.
 */
export interface Draft {
  /** What is at a path: an entry with an up-to-date mode and size; of a folder that is being changed, not the sha. */
  find(path: FilePath | FolderPath): Promise<TreeEntry | undefined>;
  /** How many entries a folder has, also of names that the host could not tell; undefined where there is none. */
  count(folder: FolderPath): Promise<number | undefined>;
  /** A folder's entry with its sha, to be put elsewhere; undefined where there is none. */
  folder(path: FolderPath): Promise<TreeEntry | undefined>;
  /**
   * Puts a file or folder at a path, in the place of what is there; folders on the way are made. `content` is the text
   * of a blob that the host does not have yet. Throws `wrong-kind` where a file is on the way.
   */
  put(path: FilePath | FolderPath, entry: TreeEntry, content?: string): Promise<void>;
  /** Throws where what is at a path can't be removed in the same commit, for changes that do more than that. */
  requireRemovable(path: FilePath | FolderPath): Promise<void>;
  /** Removes what is at a path, and the folders above it that hold nothing any more. */
  remove(path: FilePath | FolderPath): Promise<void>;
  finish(): Drafted;
}

/** A folder that was looked into. */
interface OpenFolder {
  /** What it is on the branch; undefined for one that is new. */
  readonly base: Tree | undefined;
  readonly entries: Map<string, TreeEntry>;
  readonly children: Map<string, OpenFolder>;
  /** Whether anything in it, at any depth, is another than in `base`. */
  isChanged: boolean;
}

/** Stands for the sha of a folder until it is known. */
const UNKNOWN: TreeEntry = { mode: FOLDER, sha: '', size: 0 };

export function createDraft(trees: Trees, base: Tree): Draft {
  const root = opened(base);
  const contents = new Map<string, string>();

  /** Opens the child of a folder; undefined where it has none of that name that is a folder. */
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
   * The folders from the root down to the one that has, or takes, the last of the names. Those that are new are not
   * joined to theirs yet. Throws where one can't be changed.
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
 * Throws unless what is in the child can be changed: it is no folder, or one that the same commit puts there or takes
 * away.
 */
function requireChangeable(parent: OpenFolder, name: string, path: FolderPath): void {
  const [before, now] = [parent.base?.entries.get(name), parent.entries.get(name)];
  // One of the names that stand for others: nobody knows what is there.
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

/** What makes of a folder as the branch has it the one that is wanted. */
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

/** The tree that a folder becomes; undefined where it can't be told. Those that are new are added to `made`. */
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
