import { type BoundedItem, ownerOf, SizeBound } from '../files/size-bound.ts';
import { isExpired, recordingTime } from '../model/clock.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { pageOfIds } from '../model/page.ts';
import { type FilePath, type FolderPath, isFolder, isWithin } from '../model/path.ts';
import type { ExpiredVersions, FileVersion, TrashedItem, TrashListing, VersionListing } from '../model/store.ts';
import { notInTrash, versionNotFound, wrongRestoreKind } from '../model/store-errors.ts';
import type { MemoryTree, StoredFile, Subtree } from './memory-tree.ts';

/** The id of a new item or version, and the user who deleted or replaced it. */
interface Kept {
  readonly id: KeptId;
  readonly user: string | undefined;
}

/** The trash of the reference store. */
export class MemoryTrash {
  readonly #tree: MemoryTree;
  readonly #items = new Map<KeptId, { readonly item: TrashedItem; readonly content: Subtree }>();

  constructor(tree: MemoryTree) {
    this.#tree = tree;
  }

  add(path: FilePath | FolderPath, { id, user }: Kept): TrashedItem {
    const content = this.#tree.take(path);
    const item = {
      id,
      path,
      deletedAt: new Date(recordingTime()),
      size: sizeOf(content),
      ...(user !== undefined && { user }),
    };
    this.#items.set(id, { item, content });
    return item;
  }

  get(id: KeptId): { readonly item: TrashedItem; readonly content: Subtree } {
    const found = this.#items.get(id);
    if (!found) throw notInTrash(id);
    return found;
  }

  list(options: { cursor?: string; limit?: number }): TrashListing {
    const { ids, cursor } = pageOfIds([...this.#items.keys()].toSorted(), options);
    return { items: ids.map((id) => this.get(id).item), ...(cursor !== undefined && { cursor }) };
  }

  measure(id: KeptId): number {
    return sizeOf(this.get(id).content);
  }

  restore(id: KeptId, to: FilePath | FolderPath): void {
    const { content } = this.get(id);
    if (isFolder(to) !== isFolder(content.path)) throw wrongRestoreKind(content.path, to);
    this.#tree.place(content, to);
    this.#items.delete(id);
  }

  purge(id: KeptId): void {
    if (!this.#items.delete(id)) throw notInTrash(id);
  }
}

const sizeOf = ({ files }: Subtree) => files.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** A version with its content. */
interface StoredVersion extends StoredFile {
  readonly version: FileVersion;
}

interface PathVersion extends BoundedItem {
  readonly file: FilePath;
  readonly version: FileVersion;
}

/** The versions of the reference store. */
export class MemoryVersions {
  readonly #byPath = new Map<FilePath, Map<KeptId, StoredVersion>>();

  add(path: FilePath, file: StoredFile, { id, user }: Kept): void {
    const version = {
      id,
      size: file.entry.size,
      modified: file.entry.modified,
      replacedAt: new Date(recordingTime()),
      ...(user !== undefined && { replacedBy: user }),
    };
    const versions = this.#byPath.get(path) ?? new Map<KeptId, StoredVersion>();
    this.#byPath.set(path, versions.set(id, { version, ...file }));
  }

  get(path: FilePath, id: KeptId): StoredVersion {
    const found = this.#byPath.get(path)?.get(id);
    if (!found) throw versionNotFound(path, id);
    return found;
  }

  list(path: FilePath, options: { cursor?: string; limit?: number }): VersionListing {
    const { ids, cursor } = pageOfIds([...(this.#byPath.get(path)?.keys() ?? [])].toSorted(), options);
    return { versions: ids.map((id) => this.get(path, id).version), ...(cursor !== undefined && { cursor }) };
  }

  purge(path: FilePath | FolderPath, before: Date | undefined): void {
    for (const { file, version } of this.#all()) {
      const isMeant = isFolder(path) ? isWithin(file, path) : file === path;
      if (isMeant && (before === undefined || version.replacedAt < before)) this.#remove(file, version.id);
    }
  }

  expire({ before, maxBytes = Number.POSITIVE_INFINITY }: { before?: Date; maxBytes?: number }): ExpiredVersions {
    const isOld = ({ version }: PathVersion) => before !== undefined && isExpired(version.replacedAt, before);
    const bound = new SizeBound(maxBytes);
    const all = this.#all();
    do {
      for (const each of all) if (!isOld(each)) bound.note(each);
    } while (bound.decide());
    // Ids sort the newest first.
    const undecided = all
      .filter((each) => !isOld(each) && bound.verdict(each) === 'undecided')
      .toSorted((left, right) => (left.version.id < right.version.id ? -1 : 1));
    const removed = [
      ...all.filter((each) => isOld(each) || bound.verdict(each) === 'remove'),
      ...bound.choose(undecided),
    ];
    for (const { file, version } of removed) this.#remove(file, version.id);
    const remaining = this.#all();
    const bytes = remaining.reduce((sum, { size }) => sum + size, 0);
    return { removed: removed.length, remaining: remaining.length, bytes };
  }

  #all(): PathVersion[] {
    return [...this.#byPath].flatMap(([file, versions]) =>
      Array.from(versions.values(), ({ version }) => {
        const { replacedAt: time, replacedBy, size } = version;
        return { file, version, owner: ownerOf(file, replacedBy), time, size };
      }),
    );
  }

  #remove(path: FilePath, id: KeptId): void {
    this.#byPath.get(path)?.delete(id);
  }
}
