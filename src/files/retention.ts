import { isStoreError, quoted, StoreError } from '../model/error.ts';
import { type KeptId, newKeptId } from '../model/kept-ids.ts';
import type { FilePath, FolderPath } from '../model/path.ts';
import type { Bounded, Cancellable, Keep, Replacing, Reporting, Store, TrashStore } from '../model/store.ts';
import type { FolderFilter } from './empty-trees.ts';
import { noTrash, trashOf } from './trash.ts';

/** Which content is kept. A store without the capability keeps nothing. */
export interface RetentionOptions {
  /** Whether deletes move files and folders to the trash. */
  readonly trash: boolean;
  /** Whether a replaced file becomes a version. */
  readonly versions: boolean;
}

/** The user who makes a change, for the records of the trash and of versions, and who wants to know what is kept. */
export interface ByUser {
  /** The username; undefined for an anonymous user. */
  readonly user?: string | undefined;
  /**
   * Called before the operation ends, with the ID of what it put away (`ChangeRecord.kept`). Called with null if it can have
   * replaced something without keeping it. Not called otherwise.
   */
  readonly onKept?: ((id: KeptId | null) => void) | undefined;
  /** Called instead if the operation changed nothing (`Keep.onUnchanged`). */
  readonly onUnchanged?: (() => void) | undefined;
}

export type DeleteOptions = ByUser &
  Bounded & {
    /** Whether to delete at once, and with all versions, instead of moving to the trash. */
    readonly permanent?: boolean | undefined;
  } & Reporting &
  Cancellable;

/** `ifMatch`: the ETag of the file to delete. Another one is `condition-failed`, and nothing is deleted. */
export type DeleteFileOptions = DeleteOptions & { readonly ifMatch?: string };

export type DeleteFolderOptions = DeleteOptions & {
  /** Whether to delete the folder only if it is empty: permanently, because it has no content to keep. */
  readonly onlyEmpty?: boolean;
  /** Deletes the content of the folder first, if it contains only folders that this function accepts, at any depth. */
  readonly withEmptyFolders?: FolderFilter | undefined;
  /** Whether to throw `unsupported` if there is no trash, instead of deleting the folder permanently. */
  readonly onlyToTrash?: boolean;
};

/** Decides what happens to content that a user deletes or replaces. */
export class Retention {
  readonly #store: Store;
  readonly #trash: TrashStore | undefined;
  readonly #keepsVersions: boolean;

  constructor(store: Store, { trash, versions }: RetentionOptions) {
    this.#store = store;
    this.#trash = trash ? trashOf(store) : undefined;
    this.#keepsVersions = versions && store.listVersions !== undefined;
  }

  /** Moves a file or folder to the trash, or deletes it permanently by `remove`, with the versions of its path. */
  async delete(
    path: FilePath | FolderPath,
    { permanent = false, onlyToTrash = false, user, onKept, ...options }: DeleteFileOptions & DeleteFolderOptions,
    remove: (options: { readonly ifMatch?: string } & Bounded & Reporting & Cancellable) => Promise<void>,
  ): Promise<void> {
    if (this.#trash && !permanent) {
      const item = await this.#trash
        .moveToTrash(path, { id: newKeptId(), user, ...options })
        .catch((error: unknown) => {
          throw isStoreError(error) && error.code === 'store-full' ? noSpaceForTrash(path, error) : error;
        });
      onKept?.(item.id);
      return;
    }
    if (onlyToTrash) throw noTrash();
    const { before, identity } = options;
    if (!permanent && !this.#trash && !this.#keepsVersions) return remove(options);
    try {
      await remove(options);
    } catch (error) {
      // The versions remain if the first attempt was interrupted after it had removed the file. Others belong to another item.
      const areOwn = identity === undefined || before !== undefined;
      if (permanent && areOwn && isStoreError(error, 'not-found')) await this.#store.purgeVersions?.(path, { before });
      throw error;
    }
    await this.#store.purgeVersions?.(path, { before });
  }

  /** Returns how to keep a file that a change replaces; undefined if it is not kept. */
  keepFile(change: ByUser & Replacing): Keep | undefined {
    return keepFor(change, this.#keepsVersions);
  }

  /**
   * Returns how to keep a folder that a change replaces; undefined if it is not kept. The fallbacks for stores without
   * the member merge folders item by item and keep nothing.
   */
  keepFolder(member: 'copyFolder' | 'moveFolder', change: ByUser & Replacing): Keep | undefined {
    return keepFor(change, this.#trash !== undefined && this.#store[member] !== undefined);
  }
}

function keepFor({ user, onKept, onUnchanged, replace }: ByUser & Replacing, canKeep: boolean): Keep | undefined {
  if (canKeep) return { user, ...(onKept && { onKept }), ...(onUnchanged && { onUnchanged }) };
  if (replace) onKept?.(null);
  return undefined;
}

function noSpaceForTrash(path: FilePath | FolderPath, cause: StoreError): StoreError {
  const message = `The store has no space to record ${quoted(path)} in the trash. Delete it permanently to free space.`;
  return new StoreError('store-full', message, { cause, ...(cause.retryAfter && { retryAfter: cause.retryAfter }) });
}
