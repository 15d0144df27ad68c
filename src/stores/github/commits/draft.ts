import type { KeptId } from '../../../model/kept-ids.ts';
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
export interface DraftResult {
  readonly edits: readonly TreeEdit[];
  /**
   * Expected SHA of the new tree. Undefined if GitHub could not return all names, so that the SHA can't be computed.
   */
  readonly root: string | undefined;
  /** The new trees. */
  readonly trees: readonly Tree[];
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

/**
 * A modified copy of the tree of a branch, in memory. A method that throws has changed nothing. Paths are relative to the
 * served folder. Entries outside it do not change.
 */
export class Draft {
  /** SHA of the commit that the draft modifies. */
  readonly head: string;
  /** Ids of items in the trash that the draft restores. */
  readonly restored = new Set<KeptId>();
  readonly #trees: Trees;
  /** The segments of the path of the served folder. */
  readonly #served: readonly string[];
  readonly #root: OpenFolder;
  /** Texts of blobs that GitHub does not have yet, by SHA. */
  readonly #texts = new Map<string, string>();

  /**
   * `base` is the root of the branch at the commit `head`. Each part of the path `served` is a folder in it, or missing.
   */
  constructor(trees: Trees, { head, base, served }: { head: string; base: Tree; served: FolderPath }) {
    this.head = head;
    this.#trees = trees;
    this.#served = segmentsOf(served);
    this.#root = openFolder(base);
  }

  /** Returns the entry at a path, with current mode and size. The SHA of a modified folder is not current. */
  async find(path: FilePath | FolderPath): Promise<TreeEntry | undefined> {
    const { parents, name } = this.#split(path);
    return (await this.#openPath(parents))?.entries.get(name);
  }

  /**
   * Returns the number of entries in a folder, including names that are not UTF-8; undefined if the folder does not
   * exist.
   */
  async count(path: FolderPath): Promise<number | undefined> {
    const folder = await this.#openPath(this.#segmentsOf(path));
    return folder && countOf(folder);
  }

  /**
   * Returns a folder's entry with its current SHA, for a copy; undefined if the folder does not exist. Throws
   * `NeedsOwnCommit` if the folder was modified.
   */
  async folder(path: FolderPath): Promise<TreeEntry | undefined> {
    const entry = await this.find(path);
    if (!entry || !isFolder(entry)) return undefined;
    if ((await this.#openPath(this.#segmentsOf(path)))?.isChanged) throw new NeedsOwnCommit();
    return entry;
  }

  /**
   * Writes an entry, replaces an existing one, and creates parent folders. `text` is the content of a blob that GitHub
   * does not have yet. Throws `wrong-kind` if a parent is a file, and `NeedsOwnCommit`.
   */
  async put(path: FilePath | FolderPath, entry: TreeEntry, text?: string): Promise<void> {
    const { parents, name } = this.#split(path);
    const chain = await this.#chainAbove([...parents, name]);
    const folder = chain.at(-1) ?? this.#root;
    if (folder.base?.nonUtf8Names.has(name)) throw kindConflict(path);
    const before = folder.base?.entries.get(name);
    if (before && isFolder(before) !== isFolder(entry)) throw new NeedsOwnCommit();
    for (const [index, parent] of parents.entries()) {
      linkChild(chain[index] ?? this.#root, parent, chain[index + 1] ?? this.#root);
    }
    folder.entries.set(name, entry);
    folder.children.delete(name);
    for (const changed of chain) changed.isChanged = true;
    if (text !== undefined) this.#texts.set(entry.sha, text);
  }

  /**
   * Throws `NeedsOwnCommit` if the draft has modified the entry at a path. The history then would not contain the entry,
   * so that it could not be restored.
   */
  async requireCommitted(path: FilePath | FolderPath): Promise<void> {
    const names = this.#segmentsOf(path);
    const folder = (await this.#chainAbove(names)).at(-1) ?? this.#root;
    const name = names.at(-1) ?? '';
    const [before, now] = [folder.base?.entries.get(name), folder.entries.get(name)];
    if (before?.sha !== now?.sha || before?.mode !== now?.mode) throw new NeedsOwnCommit();
  }

  /** Throws if the entry at a path can't be removed in the same commit. For changes that remove and do more. */
  async requireRemovable(path: FilePath | FolderPath): Promise<void> {
    await this.#chainAbove(this.#segmentsOf(path));
  }

  /** Removes the entry at a path and all parent folders that become empty, except the served folder. */
  async remove(path: FilePath | FolderPath): Promise<void> {
    const names = this.#segmentsOf(path);
    const chain = await this.#chainAbove(names);
    for (const folder of chain) folder.isChanged = true;
    for (let depth = chain.length - 1; depth >= this.#served.length; depth--) {
      const [folder, name] = [chain[depth] ?? this.#root, names[depth] ?? ''];
      folder.entries.delete(name);
      folder.children.delete(name);
      if (countOf(folder) > 0) return;
    }
  }

  finish(): DraftResult {
    const trees: Tree[] = [];
    return { edits: [...editsOf(this.#root, '', this.#texts)], root: computeTree(this.#root, trees)?.sha, trees };
  }

  /** Returns the segments of a path from the root of the branch. */
  #segmentsOf(path: FilePath | FolderPath): readonly string[] {
    return [...this.#served, ...segmentsOf(path)];
  }

  #split(path: FilePath | FolderPath): { parents: readonly string[]; name: string } {
    const names = this.#segmentsOf(path);
    return { parents: names.slice(0, -1), name: names.at(-1) ?? '' };
  }

  async #openPath(names: readonly string[]): Promise<OpenFolder | undefined> {
    let folder: OpenFolder | undefined = this.#root;
    for (const name of names) folder = folder && (await this.#openChild(folder, name));
    return folder;
  }

  /** Opens a child folder; returns undefined if it does not exist or is not a folder. */
  async #openChild(parent: OpenFolder, name: string): Promise<OpenFolder | undefined> {
    const child = parent.children.get(name);
    if (child) return child;
    const entry = parent.entries.get(name);
    if (!entry || !isFolder(entry)) return undefined;
    const folder = openFolder(await this.#trees.read(entry.sha));
    parent.children.set(name, folder);
    return folder;
  }

  /**
   * Returns the folders from the root to the parent of the last name. New folders are not linked to their parents yet.
   * Throws if one can't be modified.
   */
  async #chainAbove(names: readonly string[]): Promise<OpenFolder[]> {
    const chain = [this.#root];
    for (const [index, name] of names.slice(0, -1).entries()) {
      const above = chain[index] ?? this.#root;
      requireChangeable(above, name, `${names.slice(this.#served.length, index + 1).join('/')}/` as FolderPath);
      chain.push((await this.#openChild(above, name)) ?? openFolder(undefined));
    }
    return chain;
  }
}

/**
 * Throws unless the entries below a child can be modified. The child must be an unchanged folder, a folder that this
 * draft created entry by entry, or absent from both the branch and the draft.
 */
function requireChangeable(parent: OpenFolder, name: string, path: FolderPath): void {
  const [before, now] = [parent.base?.entries.get(name), parent.entries.get(name)];
  // GitHub returned this name in place of one that is not UTF-8, so its entry is unknown.
  if (parent.base?.nonUtf8Names.has(name)) throw kindConflict(path);
  if (now && !isFolder(now)) throw kindConflict(path);
  if (now === UNKNOWN) return;
  if (before?.sha !== now?.sha) throw new NeedsOwnCommit();
}

function openFolder(base: Tree | undefined): OpenFolder {
  return { base, entries: new Map(base?.entries), children: new Map(), isChanged: base === undefined };
}

const countOf = ({ entries, base }: OpenFolder) => entries.size + (base?.nonUtf8Names.size ?? 0);

function linkChild(parent: OpenFolder, name: string, child: OpenFolder): void {
  parent.children.set(name, child);
  if (!parent.entries.has(name)) parent.entries.set(name, UNKNOWN);
}

/** Yields the edits that turn a folder's tree on the branch into the new one. */
function* editsOf(folder: OpenFolder, prefix: string, texts: ReadonlyMap<string, string>): Generator<TreeEdit> {
  if (!folder.isChanged) return;
  const before = folder.base?.entries ?? EMPTY_TREE.entries;
  for (const [name, { mode }] of before) {
    if (!folder.entries.has(name)) yield { path: prefix + name, mode, sha: null };
  }
  for (const [name, { mode, sha }] of folder.entries) {
    const [path, child, old] = [prefix + name, folder.children.get(name), before.get(name)];
    const content = texts.get(sha);
    if (child?.isChanged) yield* editsOf(child, `${path}/`, texts);
    else if (old?.sha === sha && old.mode === mode) continue;
    else if (content === undefined) yield { path, mode, sha };
    else yield { path, mode, content };
  }
}

/** Returns the new tree of a folder; undefined if it can't be computed. Adds new trees to `created`. */
function computeTree(folder: OpenFolder, created: Tree[]): Tree | undefined {
  if (!folder.isChanged && folder.base) return folder.base;
  const entries = new Map(folder.entries);
  for (const [name, child] of folder.children) {
    const tree = computeTree(child, created);
    if (!tree) return undefined;
    entries.set(name, { mode: FOLDER, sha: tree.sha, size: 0 });
  }
  if (folder.base && folder.base.nonUtf8Names.size > 0) return undefined;
  const tree: Tree = { sha: shaOfTree(entries), entries, nonUtf8Names: EMPTY_TREE.nonUtf8Names };
  created.push(tree);
  return tree;
}

const segmentsOf = (path: FilePath | FolderPath) => path.split('/').filter(Boolean);
