/** A file of the simulated disk. It remains the same file when its names change. */
export interface SimulatedFile {
  readonly kind: 'file';
  /** The content that programs read. Each change replaces the buffer, so that trees keep the content that they had. */
  content: Buffer;
  /** The content after a power loss: the content at the start of the last completed sync. */
  durable: Buffer;
}

/** A folder of the simulated disk. */
export interface SimulatedFolder {
  readonly kind: 'folder';
  /** The names that programs see. */
  readonly names: Map<string, SimulatedNode>;
  /** The names after a power loss, if no change survives that was not synced. */
  readonly durable: Map<string, SimulatedNode>;
}

export type SimulatedNode = SimulatedFile | SimulatedFolder;

/** A name in a folder. */
export interface Location {
  readonly folder: SimulatedFolder;
  readonly name: string;
}

/** The path of each file with its content, and of each folder, which ends with `/`, with null. */
export type Tree = ReadonlyMap<string, Buffer | null>;

/** A change of names that is not yet durable: a name is removed, added, or both. */
interface Change {
  readonly node: SimulatedNode;
  readonly from?: Location;
  readonly to?: Location;
  isFromSynced: boolean;
  isToSynced: boolean;
}

/**
 * A disk that loses power. It distinguishes what programs see from what a sync has made durable:
 *
 * - The content of a file is durable after fsync(2) or fdatasync(2) of that file, as it was when the sync began.
 * - A new name is durable after fsync(2) of its folder, and a folder only if its own name is durable too. The sync of a
 *   file makes no name durable (fsync(2), "Calling fsync() does not necessarily ensure that the entry in the directory
 *   containing the file has also reached disk").
 * - A removed name is durable after fsync(2) of its folder.
 * - rename(2) is atomic: without a sync, a file has its old name or its new name after a power loss, never neither, and a name
 *   that is replaced has the old or the new file. A rename between two folders becomes durable in each of them by its own
 *   sync: first that of the destination, because that of the source alone can leave the file without a name.
 * - All other changes that were not synced survive or not, independently of their order.
 *
 * File systems guarantee more. On ext4 and XFS, for example, names survive in the order of their changes. Times, owners and
 * modes are not simulated, and neither are sectors that were written in part.
 */
export class SimulatedDisk {
  readonly root: SimulatedFolder = createFolder();
  /** The changes that are not durable, in their order. */
  #pending: Change[] = [];

  /** Gives a new file or folder its name. */
  create({ folder, name }: Location, node: SimulatedNode): void {
    this.#add({ folder, name }, node);
  }

  /** Gives a file an additional name. */
  link(node: SimulatedNode, to: Location): void {
    this.#add(to, node);
  }

  rename(from: Location, to: Location): void {
    const node = nodeAt(from);
    // Two names of one file: rename(2) does nothing.
    if (to.folder.names.get(to.name) === node) return;
    from.folder.names.delete(from.name);
    to.folder.names.set(to.name, node);
    this.#pending.push({ node, from, to, isFromSynced: false, isToSynced: false });
  }

  remove(from: Location): void {
    const node = nodeAt(from);
    from.folder.names.delete(from.name);
    this.#pending.push({ node, from, isFromSynced: false, isToSynced: true });
  }

  /** Begins a sync. The returned function completes it. */
  beginSync(node: SimulatedNode): () => void {
    if (node.kind === 'file') {
      const { content } = node;
      return () => void (node.durable = content);
    }
    const changes = this.#pending.filter(({ from, to }) => from?.folder === node || to?.folder === node);
    return () => {
      for (const change of changes) this.#sync(change, node);
      this.#pending = this.#pending.filter(({ isFromSynced, isToSynced }) => !isFromSynced || !isToSynced);
    };
  }

  /** Returns what programs see. */
  current(): Tree {
    return treeOf(this.root, { names: (folder) => folder.names, content: (file) => file.content });
  }

  /** Returns what a power loss leaves if only synced changes survive. */
  afterPowerLoss(): Tree {
    return treeOf(this.root, { names: (folder) => folder.durable, content: (file) => file.durable });
  }

  /** Returns what a power loss leaves if all names survive, but only the contents that were synced. */
  afterPowerLossWithNames(): Tree {
    return treeOf(this.root, { names: (folder) => folder.names, content: (file) => file.durable });
  }

  /** Returns what a power loss leaves if names that were removed and renamed stay so, and no other change survives. */
  afterPowerLossWithRemovals(): Tree {
    const changed = new Map<SimulatedFolder, Map<string, SimulatedNode>>();
    const namesOf = (folder: SimulatedFolder) => {
      const names = changed.get(folder) ?? new Map(folder.durable);
      changed.set(folder, names);
      return names;
    };
    for (const { node, from, to, isFromSynced, isToSynced } of this.#pending) {
      if (!from) continue;
      const isRemoving = !isFromSynced && namesOf(from.folder).get(from.name) === node;
      const isReplacing = to && !isToSynced && namesOf(to.folder).has(to.name);
      if (isRemoving) namesOf(from.folder).delete(from.name);
      if (to && !isToSynced && (isRemoving || isReplacing)) namesOf(to.folder).set(to.name, node);
    }
    return treeOf(this.root, {
      names: (folder) => changed.get(folder) ?? folder.durable,
      content: (file) => file.durable,
    });
  }

  #add(to: Location, node: SimulatedNode): void {
    to.folder.names.set(to.name, node);
    this.#pending.push({ node, to, isFromSynced: true, isToSynced: false });
  }

  #sync(change: Change, folder: SimulatedFolder): void {
    const { node, from, to } = change;
    if (to?.folder === folder && !change.isToSynced) {
      change.isToSynced = true;
      to.folder.durable.set(to.name, node);
    }
    if (from?.folder === folder && !change.isFromSynced) {
      change.isFromSynced = true;
      if (from.folder.durable.get(from.name) === node) from.folder.durable.delete(from.name);
    }
  }
}

export const createFolder = (): SimulatedFolder => ({ kind: 'folder', names: new Map(), durable: new Map() });

export const createFile = (): SimulatedFile => ({ kind: 'file', content: Buffer.alloc(0), durable: Buffer.alloc(0) });

/** Returns the file or folder of a name. */
export function nodeAt({ folder, name }: Location): SimulatedNode {
  const node = folder.names.get(name);
  if (!node) throw new Error(`The simulated disk has no ${JSON.stringify(name)}.`);
  return node;
}

/** Writes bytes to a file at an offset in bytes. */
export function writeAt(file: SimulatedFile, bytes: Buffer, offset: number): void {
  const content = Buffer.alloc(Math.max(file.content.length, offset + bytes.length));
  file.content.copy(content);
  bytes.copy(content, offset);
  file.content = content;
}

/** Sets the size of a file in bytes. */
export function resize(file: SimulatedFile, size: number): void {
  if (size === file.content.length) return;
  const content = Buffer.alloc(size);
  file.content.copy(content);
  file.content = content;
}

interface View {
  names(folder: SimulatedFolder): ReadonlyMap<string, SimulatedNode>;
  content(file: SimulatedFile): Buffer;
}

function treeOf(root: SimulatedFolder, view: View): Tree {
  const tree = new Map<string, Buffer | null>();
  const add = (folder: SimulatedFolder, path: string, parents: readonly SimulatedFolder[]): void => {
    for (const [name, node] of view.names(folder)) {
      if (node.kind === 'file') tree.set(path + name, view.content(node));
      else if (!parents.includes(node)) {
        tree.set(`${path}${name}/`, null);
        add(node, `${path}${name}/`, [...parents, node]);
      }
    }
  };
  add(root, '', [root]);
  return tree;
}
