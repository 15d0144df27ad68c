import type { Entry } from '../platform/service/service.ts';

/** The questions that changes and uploads ask the user. Each method resolves to null if the user cancels. */
export interface Prompts {
  /** Asks for the name of a new folder. */
  promptName(parent: NewFolderParent): Promise<string | null>;
  /** Asks for new names of several entries. */
  promptNames(
    entries: readonly Entry[],
    isTaken: (name: string) => boolean,
  ): Promise<readonly { readonly entry: Entry; readonly name: string }[] | null>;
  confirmDelete(entries: readonly Entry[]): Promise<true | null>;
  /** Asks whether to delete the earlier versions of a file with this name. */
  confirmDeleteVersions(name: string): Promise<true | null>;
  /** Asks what to do with an item whose name is taken. */
  resolveConflict(conflict: Conflict): Promise<ConflictAnswer | null>;
  /** Asks for the destination folder of a copy or move. Rejects if the dialog can't be loaded. */
  pickFolder(transfer: PickedTransfer): Promise<string | null>;
}

/** The folder in which the user creates a folder. */
export interface NewFolderParent {
  readonly folder: string;
  readonly isTaken: (name: string) => boolean;
}

export type ItemKind = 'file' | 'folder';

/** The kinds of the items of a conflict. An item can replace only an item of the same kind. */
export interface ItemKinds {
  readonly incoming: ItemKind;
  readonly existing: ItemKind;
}

export interface Conflict {
  /** The name of both items. */
  readonly name: string;
  /** The path of the folder that contains the existing item. */
  readonly folder: string;
  /** Returns the number of other items that are known to conflict. Reads signals, because the number changes. */
  readonly others: () => number;
  readonly kinds: ItemKinds;
  /** The file to upload, or the entry to copy or move; undefined if unknown. */
  readonly incoming: File | Entry | undefined;
  /** Whether the user has permission to replace the existing item. */
  readonly mayReplace: boolean;
}

/** `replace-with-versions`: also deletes the earlier versions, which include the replaced content. */
export interface ConflictAnswer {
  readonly decision: 'replace' | 'replace-with-versions' | 'keep-both' | 'skip';
  /** Whether the decision applies to all other conflicts too. */
  readonly forAll: boolean;
}

/** A copy or move whose destination the user chooses, or files that another app has shared. */
export interface PickedTransfer {
  readonly kind: 'copy' | 'move' | 'save';
  /** The paths of the items to copy or move. */
  readonly paths: readonly string[];
  /** The files to save; undefined for a copy or move. */
  readonly files?: readonly File[];
  /** The path of the folder that the dialog shows first. */
  readonly start: string;
  /** Creates a folder. Resolves to whether that succeeded. */
  readonly create: (path: string) => Promise<boolean>;
}
