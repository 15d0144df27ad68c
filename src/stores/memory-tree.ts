import { createHash } from 'node:crypto';
import {
  comparePaths,
  type FilePath,
  type FolderPath,
  isFolder,
  isWithin,
  MAX_KEY_BYTES,
  parentOf,
  ROOT,
  rebase,
  withoutSlash,
} from '../model/path.ts';
import type { Entry, FileEntry, Replacing } from '../model/store.ts';
import { alreadyExists, kindConflict, notEmpty, notFound } from '../model/store-errors.ts';

export interface StoredFile {
  readonly entry: FileEntry;
  readonly bytes: Buffer;
  readonly identity: string;
}

/** Called for a file or folder immediately before it is replaced. */
export type OnReplace = (path: FilePath | FolderPath) => void;

/** A file, or a folder and everything in it. The paths are those at which it was. */
export interface Subtree {
  readonly path: FilePath | FolderPath;
  readonly files: readonly StoredFile[];
  /** The identity of each folder. */
  readonly folders: ReadonlyMap<FolderPath, string>;
}

/** Files and folders in memory. Each change is complete when its method returns. */
export class MemoryTree {
  readonly #files = new Map<FilePath, StoredFile>();
  /** The identity of each folder. */
  readonly #folders = new Map<FolderPath, string>([[ROOT, '0']]);
  #identities = 0;

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
    onReplace?: OnReplace,
  ): FileEntry {
    if (this.#folders.has(`${path}/` as FolderPath)) throw kindConflict(path);
    this.createFolder(parentOf(path));
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const now = new Date();
    const times = modified ? { modified, changed: now } : { modified: now };
    const entry: FileEntry = { kind: 'file', path, size: bytes.length, etag, ...times, type };
    if (this.#files.has(path)) onReplace?.(path);
    this.#files.set(path, { entry, bytes, identity: this.#newIdentity() });
    return entry;
  }

  setModified(path: FilePath, modified: Date): FileEntry {
    const file = this.get(path);
    const entry = { ...file.entry, modified, changed: new Date() };
    this.#files.set(path, { ...file, entry });
    return entry;
  }

  remove(path: FilePath): void {
    this.#files.delete(path);
  }

  copy(
    from: FilePath,
    to: FilePath,
    { replace, onReplace }: Replacing & { onReplace?: OnReplace | undefined },
  ): FileEntry {
    const { entry, bytes } = this.get(from);
    if (!replace && this.#files.has(to)) throw alreadyExists(to);
    return this.put(to, bytes, entry, onReplace);
  }

  identify(path: FilePath | FolderPath): string | undefined {
    return isFolder(path) ? this.#folders.get(path) : this.#files.get(path)?.identity;
  }

  move(from: FilePath, to: FilePath, options: Replacing & { onReplace?: OnReplace | undefined }): void {
    const { identity } = this.get(from);
    this.copy(from, to, options);
    this.#files.set(to, { ...this.get(to), identity });
    this.remove(from);
  }

  hasFolder(folder: FolderPath): boolean {
    return this.#folders.has(folder);
  }

  /** Returns the entries of a folder in the order of listings. */
  childrenOf(folder: FolderPath): Entry[] {
    this.#requireFolder(folder);
    const files = Array.from(this.#files.values(), ({ entry }) => entry);
    const folders = Array.from(this.#folders.keys(), (path) => ({ kind: 'folder' as const, path }));
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
    for (const path of missing) this.#folders.set(path, this.#newIdentity());
  }

  removeFolder(folder: FolderPath): void {
    if (this.childrenOf(folder).length > 0) throw notEmpty(folder);
    this.#folders.delete(folder);
  }

  removeTree(folder: FolderPath): void {
    this.#requireFolder(folder);
    for (const path of this.#files.keys()) if (isWithin(path, folder)) this.#files.delete(path);
    for (const path of this.#folders.keys()) if (path !== ROOT && isWithin(path, folder)) this.#folders.delete(path);
  }

  copyFolder(
    from: FolderPath,
    to: FolderPath,
    { replace, onReplace }: Replacing & { onReplace?: OnReplace | undefined },
  ): void {
    this.#requireFolder(from);
    if (!replace && this.#folders.has(to)) throw alreadyExists(to);
    const folders = [...this.#folders.keys()]
      .filter((path) => isWithin(path, from))
      .map((path) => rebase(path, from, to, MAX_KEY_BYTES));
    const files = [...this.#files.keys()]
      .filter((path) => isWithin(path, from))
      .map((path) => [path, rebase(path, from, to, MAX_KEY_BYTES)] as const);
    this.createFolder(parentOf(to));
    if (this.#folders.has(to)) {
      if (onReplace) onReplace(to);
      else this.removeTree(to);
    }
    this.createFolder(to);
    for (const folder of folders) this.createFolder(folder);
    for (const [source, destination] of files) this.copy(source, destination, { replace });
  }

  moveFolder(from: FolderPath, to: FolderPath, options: Replacing & { onReplace?: OnReplace | undefined }): void {
    this.copyFolder(from, to, options);
    const { files, folders } = this.take(from);
    for (const [path, identity] of folders) this.#folders.set(rebase(path, from, to, MAX_KEY_BYTES), identity);
    for (const { entry, identity } of files) {
      const path = rebase(entry.path, from, to, MAX_KEY_BYTES);
      this.#files.set(path, { ...this.get(path), identity });
    }
  }

  /** Removes a file or folder and returns it. */
  take(path: FilePath | FolderPath): Subtree {
    if (!isFolder(path)) {
      const file = this.get(path);
      this.remove(path);
      return { path, files: [file], folders: new Map() };
    }
    this.#requireFolder(path);
    const files = [...this.#files.values()].filter((file) => isWithin(file.entry.path, path));
    const folders = new Map([...this.#folders].filter(([folder]) => isWithin(folder, path)));
    this.removeTree(path);
    return { path, files, folders };
  }

  /** Adds a subtree at `to`. Replaces nothing. */
  place({ path, files, folders }: Subtree, to: FilePath | FolderPath): void {
    if (isFolder(to) ? this.#folders.has(to) : this.#files.has(to)) throw alreadyExists(to);
    if (!isFolder(to) && this.#folders.has(`${to}/` as FolderPath)) throw kindConflict(to);
    const move = <Path extends FilePath | FolderPath>(each: Path) =>
      rebase<FilePath | FolderPath>(each, path as FolderPath, to as FolderPath, MAX_KEY_BYTES) as Path;
    // All paths are checked before the first change.
    const moved = files.map((file) => ({ ...file, entry: { ...file.entry, path: move(file.entry.path) } }));
    const movedFolders = Array.from(folders, ([folder, identity]) => [move(folder), identity] as const);
    this.createFolder(isFolder(to) ? to : parentOf(to));
    for (const [folder, identity] of movedFolders) this.#folders.set(folder, identity);
    for (const file of moved) this.#files.set(file.entry.path, file);
  }

  #newIdentity(): string {
    this.#identities++;
    return String(this.#identities);
  }

  #requireFolder(folder: FolderPath): void {
    if (!this.#folders.has(folder)) throw notFound(folder);
  }
}
