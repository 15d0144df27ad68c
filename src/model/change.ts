import type { KeptId } from './kept-ids.ts';
import type { FilePath, FolderPath } from './path.ts';

/**
 * The types of changes.
 * - `file.written`: the file was created or replaced, in a store that does not tell which.
 * - `file.restored`, `folder.restored`: an item of the trash is at the path.
 * - `file.touched`: the modification time was set, and the content is the same.
 * - `folder.changed`: anything in the folder can have changed, as after an operation that failed halfway.
 * - `resync`: changes are missing from the log, so anything can have changed.
 */
export const CHANGE_TYPES = [
  'file.created',
  'file.replaced',
  'file.written',
  'file.copied',
  'file.moved',
  'file.deleted',
  'file.restored',
  'file.touched',
  'folder.created',
  'folder.copied',
  'folder.moved',
  'folder.deleted',
  'folder.restored',
  'folder.changed',
  'resync',
] as const;

export type ChangeType = (typeof CHANGE_TYPES)[number];

/** A change of a file or folder. */
export interface Change {
  readonly type: ChangeType;
  /** The path after the change. A copy or move replaces the existing content. The root for `resync`. */
  readonly path: FilePath | FolderPath;
  /** The source of a copy or move. */
  readonly from?: FilePath | FolderPath;
  /** Size in bytes of a file that was written, copied or touched. */
  readonly size?: number;
  /** The ETag of that file, and of a file that was moved if the move changed it. */
  readonly etag?: string;
  /** The username. Absent for an anonymous user, and for a visitor of a share link. */
  readonly user?: string;
  /** The ID of the share link through which a visitor made the change. */
  readonly link?: string;
}

/** A change with what is needed to undo it. */
export interface ChangeRecord extends Change {
  /**
   * The ID of what the change put away: the item in the trash of what it deleted, or of a folder that it replaced; the
   * version of a file that it replaced. For a restored item, the ID that it had in the trash. Null if it replaced something without keeping it, or can have done so.
   */
  readonly kept?: KeptId | null;
  /** The sequence number of the change that this one undoes. */
  readonly undoes?: number;
  /**
   * The identity of a file that was moved, or of a folder that was moved, copied or restored, as `identifyItem` returns it.
   * Undefined if it is unknown.
   */
  readonly identity?: string | undefined;
  /** Whether another program made the change. It was noticed afterwards. */
  readonly isExternal?: boolean;
}

/** A change in the log. */
export interface LoggedChange extends Change {
  /** The ID, which is also the cursor of all later changes. It reveals nothing about other changes. */
  readonly id: string;
  readonly time: Date;
}
