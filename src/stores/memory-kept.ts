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
    const result = { removed: 0, remaining: 0, bytes: 0 };
    let isFull = false;
    // Ids sort the newest first.
    for (const { file, version } of this.#all().toSorted((a, b) => (a.version.id < b.version.id ? -1 : 1))) {
      isFull ||= result.bytes + version.size > maxBytes;
      if (isFull || (before !== undefined && isExpired(version.replacedAt, before))) {
        this.#remove(file, version.id);
        result.removed++;
      } else {
        result.remaining++;
        result.bytes += version.size;
      }
    }
    return result;
  }

  #all(): { readonly file: FilePath; readonly version: FileVersion }[] {
    return [...this.#byPath].flatMap(([file, versions]) =>
      Array.from(versions.values(), ({ version }) => ({ file, version })),
    );
  }

  #remove(path: FilePath, id: KeptId): void {
    this.#byPath.get(path)?.delete(id);
  }
}
