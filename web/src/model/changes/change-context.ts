import type { ReadonlySignal, Signal } from '@preact/signals';
import { isWithin, nameOf } from '../../platform/paths.ts';
import type { ChangeService } from '../../platform/service/file-operations.ts';
import type { Entry } from '../../platform/service/service.ts';
import { asServiceError, ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Permissions } from '../account/permissions.ts';
import type { Clipboard } from '../clipboard.ts';
import { type Folder, refreshUnlessLarge } from '../folder/folder.ts';
import type { Message, Messages } from '../messages.ts';
import type { PathLocks } from '../path-locks.ts';
import type { Prompts } from '../prompts.ts';
import type { Selection } from '../selection.ts';
import { createOperations, type Operation, type Operations } from './operations.ts';
import { UndoQueue } from './undo-queue.ts';

export interface ChangesOptions {
  readonly service: ChangeService;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly messages: Messages;
  readonly pathLocks: PathLocks;
  readonly permissions: Permissions;
  readonly language: ReadonlySignal<FullLanguage>;
  /** Whether the service moves deleted files and folders to a trash. */
  readonly hasTrash: boolean;
}

export type Undos = Signal<readonly (() => void)[]>;

/** State of changes that other parts of the page read. */
export interface SharedState {
  /** The operations that take longer than a moment. */
  readonly running: Signal<readonly Operation[]>;
  /** Functions that undo changes, the last change at the end. */
  readonly undos: Undos;
  /** Functions that redo changes, the last undone change at the end. */
  readonly redos: Undos;
  /** The number of times that items were added to the trash, or that an undo removed some. */
  readonly trashChanges: Signal<number>;
}

/** What all kinds of changes and their undo use. */
export interface BaseContext extends ChangesOptions, Pick<SharedState, 'undos' | 'redos' | 'trashChanges'> {
  readonly prompts: Prompts;
  readonly operations: Operations;
  readonly undoQueue: UndoQueue;
  /** Returns the error of a change that was not started because an earlier change failed. */
  readonly dependencyError: () => ServiceError;
  /** Refreshes the shown folder if it is one of the changed folders or inside a removed one, unless it is large. */
  refresh(changed: readonly string[], removed?: readonly string[]): void;
  /** Returns whether a folder exists. Assumes that it does if the service can't tell. */
  folderExists(path: string): Promise<boolean>;
}

/** A change of one file or folder that the service can undo. */
export interface Undoable {
  /** The ID of the change; undefined if it is not known, such as after a lost response. */
  readonly change: string | undefined;
  /** The path of the item: after the change, or before a deletion. */
  readonly path: string;
  /** The entries that the undo removes, as far as known. */
  readonly removed: readonly string[];
  /** The entries that the undo adds, as far as known. */
  readonly added: readonly Entry[];
  /** Whether the service can have undone the change already, because the response to an earlier request was lost. */
  readonly isUncertain?: boolean;
}

/** What all kinds of changes use. */
export interface ChangeContext extends BaseContext {
  /**
   * Makes changes undoable by Ctrl+Z, and by the returned button of their message. They are undone together, the last one
   * first. Returns undefined if none can be undone. `description` says what they did, such as “3 files uploaded”.
   */
  readonly offerUndo: (changes: readonly Undoable[], description: string) => Message['action'];
  /**
   * Makes a change that Ctrl+Z also undoes while it is in progress: once it has ended, and without undoing the change before it. The
   * change calls the `offerUndo` that it gets.
   */
  trackChange<Result>(change: (offerUndo: ChangeContext['offerUndo']) => Promise<Result>): Promise<Result>;
}

/** The HTTP status "Failed Dependency", for changes that were not started. The service itself never sends it. */
export const FAILED_DEPENDENCY = 424;

export function createChangeContext(
  options: ChangesOptions,
  prompts: Prompts,
  { running, ...state }: SharedState,
): BaseContext {
  const { folder, service, pathLocks } = options;
  const dependencyError = () =>
    new ServiceError(FAILED_DEPENDENCY, 'An earlier change failed.', { code: 'change-not-started' });
  return {
    ...options,
    ...state,
    prompts,
    dependencyError,
    undoQueue: new UndoQueue(),
    operations: createOperations({ running, pathLocks, dependencyError }),
    refresh(changed, removed = []) {
      const shown = folder.path.value;
      if (changed.includes(shown) || removed.some((path) => isWithin(shown, path))) refreshUnlessLarge(folder);
    },
    async folderExists(path) {
      try {
        await service.list(path, { limit: 1 });
        return true;
      } catch (error) {
        return asServiceError(error).code !== 'not-found';
      }
    },
  };
}

/** Returns whether Retry can help: the error is transient, or the user can free space. */
export function canRetry({ isTransient, code }: ServiceError): boolean {
  return isTransient || code === 'store-full';
}

/** Returns a stored entry with another path. */
export function entryAt(path: string, entry: Entry): Entry {
  return { ...entry, path, name: nameOf(path) };
}

/** Returns an entry with the path that the service will give it. Its ETag is not known yet. */
export function pendingEntryAt(path: string, entry: Entry): Entry {
  return { ...entryAt(path, entry), ...(entry.type === 'file' && { etag: '' }) };
}

/** If the focused entry is among those to remove, moves the focus to the next remaining one, or else the previous one. */
export function moveFocusOff(folder: Folder, removed: ReadonlySet<string>): void {
  const entries = folder.entries.value;
  const { value: focused } = folder.focused;
  if (focused === null || !removed.has(focused)) return;
  const remains = ({ path }: Entry) => !removed.has(path);
  const index = folder.indexOf(focused);
  const next = entries.slice(index + 1).find(remains) ?? entries.slice(0, Math.max(0, index)).findLast(remains);
  folder.focused.value = next?.path ?? null;
}

/** Moves the focus and the selection to the new paths of their entries. Call before the new paths are shown. */
export function remapPaths({ folder, selection }: BaseContext, newPaths: ReadonlyMap<string, string>): void {
  const newPathOf = (path: string) => newPaths.get(path) ?? path;
  const selected = [...selection.paths.value];
  const { value: focused } = folder.focused;
  if (focused !== null) folder.focused.value = newPathOf(focused);
  if (!selected.some((path) => newPaths.has(path))) return;
  const [first, ...others] = selected.map(newPathOf);
  if (first !== undefined && others.length === 0) selection.only(first);
  else selection.set(selected.map(newPathOf));
}
