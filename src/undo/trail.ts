import type { StoredChange } from '../changes/log.ts';
import type { ChangeType } from '../model/change.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, isWithin } from '../model/path.ts';

type Path = FilePath | FolderPath;

export const isMove = (type: ChangeType) => type === 'file.moved' || type === 'folder.moved';

const isRestore = (type: ChangeType) => type === 'file.restored' || type === 'folder.restored';

/** Where the file or folder of a change is after later changes. */
export class Trail {
  #path: Path;
  #putAwayBy: StoredChange | undefined;
  /** The change that put another folder in its place, where it was empty. Reversing that change brings it back. */
  #displacedBy: StoredChange | undefined;
  /** The sequence numbers of that change, and of the later steps of its undo: redoing any of them reverses all. */
  readonly #displacing = new Set<number>();
  #etag: string | undefined;
  #identity: string | undefined;
  /** The paths at which it was, and the IDs that it had in the trash. */
  readonly paths: Set<Path>;
  readonly keptIds = new Set<KeptId>();

  private constructor(
    path: Path,
    { putAwayBy, etag, identity }: { putAwayBy?: StoredChange } & Pick<StoredChange, 'etag' | 'identity'>,
  ) {
    this.#path = path;
    this.#etag = etag;
    this.#identity = identity;
    this.paths = new Set([path]);
    if (putAwayBy) this.#putAway(putAwayBy);
  }

  /** Begins at the path of a change, with the file or folder that the change left there. */
  static afterChange({ path, ...change }: StoredChange): Trail {
    return new Trail(path, change);
  }

  /** Begins in the trash, with the item that a change deleted or replaced. */
  static ofPutAway(change: StoredChange): Trail {
    return new Trail(change.path, { putAwayBy: change });
  }

  /** The current path, or the last one if it was deleted or replaced. */
  get path(): Path {
    return this.#path;
  }

  /** The last ETag in the log; undefined for a folder, and if the log does not have it. */
  get etag(): string | undefined {
    return this.#etag;
  }

  /** The last identity in the log; undefined for a file that was written since, and if the log does not have it. */
  get identity(): string | undefined {
    return this.#identity;
  }

  /** The ID under which it is in the trash; undefined if it is not, or as a part of a folder. */
  get idInTrash(): KeptId | undefined {
    return this.#putAwayBy?.path === this.#path ? (this.#putAwayBy.kept ?? undefined) : undefined;
  }

  /** Returns whether a change restores it, in any way. */
  isRestoredBy({ type, path, kept, undoes }: StoredChange): boolean {
    const by = this.#putAwayBy;
    if (!by) return false;
    if (isRestore(type) && kept) return kept === by.kept;
    const isReversal = undoes === by.sequence && path === by.path;
    return isReversal && !isMove(type) && type !== 'file.deleted' && type !== 'folder.deleted';
  }

  /** Follows one more change. Call it for all later changes in their order. */
  follow(change: StoredChange): void {
    const { type, path, from, kept } = change;
    if (this.#putAwayBy) {
      if (!this.isRestoredBy(change)) return;
      this.#moveTo(rebased(this.#path, this.#putAwayBy.path, path) ?? this.#path);
      this.#putAwayBy = undefined;
      // The reversal of the deletion of an empty folder creates another one.
      if (type === 'folder.created') this.#identity = undefined;
      if (path === this.#path) this.#renew(change);
      return;
    }
    if (this.#displacedBy) {
      if (change.undoes === undefined) return;
      if (change.undoes === this.#displacedBy.undoes) this.#displacing.add(change.sequence);
      else if (this.#displacing.has(change.undoes)) this.#displacedBy = undefined;
      return;
    }
    const moved = isMove(type) && from !== undefined ? rebased(this.#path, from, path) : undefined;
    if (moved !== undefined) {
      // A move leaves the content the same. The log has the ETag of the moved file only if it is another one.
      if (moved === path) this.#renew({ ...change, etag: change.etag ?? this.#etag });
      this.#moveTo(moved);
    } else if (rebased(this.#path, path, path) !== undefined) {
      const isReplaced = kept !== undefined && (isMove(type) || type === 'folder.copied');
      if (isReplaced || type === 'file.deleted' || type === 'folder.deleted') this.#putAway(change);
      // Only an empty folder is replaced without being kept. Changes until the reversal affect the other folder.
      else if (type === 'folder.restored' || type === 'folder.moved') this.#displace(change);
      else if (path === this.#path) this.#renew(change);
    }
  }

  #moveTo(path: Path): void {
    this.#path = path;
    this.paths.add(path);
  }

  /** Notes what a change of it, at its path, says about it. */
  #renew({ type, etag, identity, isExternal }: StoredChange): void {
    this.#etag = etag;
    // These changes leave the item the same. If another program replaced a file, it put another one there.
    const isSame = isExternal || type === 'file.touched' || type === 'folder.created' || type === 'folder.changed';
    if (!isSame) this.#identity = identity;
  }

  #displace(change: StoredChange): void {
    // Reversing the change creates the empty folder again.
    this.#identity = undefined;
    this.#displacedBy = change;
    this.#displacing.clear();
    this.#displacing.add(change.sequence);
  }

  #putAway(change: StoredChange): void {
    this.#putAwayBy = change;
    if (change.kept) this.keptIds.add(change.kept);
  }
}

/** Returns `path` after a move of a file or folder; undefined if that is another one. */
export function rebased(path: Path, from: Path, to: Path): Path | undefined {
  if (path === from) return to;
  return isFolder(from) && isWithin(path, from) ? ((to + path.slice(from.length)) as Path) : undefined;
}
