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

/** State of changes that other parts of the page read. */
export interface SharedState {
  /** The operations that take longer than a moment. */
  readonly running: Signal<readonly Operation[]>;
  /** Functions that undo changes, the last change at the end. */
  readonly undos: Signal<readonly (() => void)[]>;
  /** The number of times that items were added to the trash, or that an undo removed some. */
  readonly trashChanges: Signal<number>;
}

/** What all kinds of changes use. */
export interface ChangeContext extends ChangesOptions, Pick<SharedState, 'trashChanges'> {
  readonly prompts: Prompts;
  readonly operations: Operations;
  /** Returns the error of a change that was not started because an earlier change failed. */
  readonly dependencyError: () => ServiceError;
  /** Refreshes the shown folder if it is one of the changed folders or inside a removed one, unless it is large. */
  refresh(changed: readonly string[], removed?: readonly string[]): void;
  /** Makes a change undoable by Ctrl+Z, and by the returned button of its message. */
  offerUndo(undo: () => void): NonNullable<Message['action']>;
  /** Returns whether a folder exists. Assumes that it does if the service can't tell. */
  folderExists(path: string): Promise<boolean>;
}

/** The HTTP status "Failed Dependency", for changes that were not started. The service itself never sends it. */
export const FAILED_DEPENDENCY = 424;

export function createChangeContext(
  options: ChangesOptions,
  prompts: Prompts,
  { running, undos, trashChanges }: SharedState,
): ChangeContext {
  const { folder, service, pathLocks } = options;
  const dependencyError = () =>
    new ServiceError(FAILED_DEPENDENCY, 'An earlier change failed.', { code: 'change-not-started' });
  return {
    ...options,
    prompts,
    trashChanges,
    dependencyError,
    operations: createOperations({ running, pathLocks, dependencyError }),
    refresh(changed, removed = []) {
      const shown = folder.path.value;
      if (changed.includes(shown) || removed.some((path) => isWithin(shown, path))) refreshUnlessLarge(folder);
    },
    offerUndo: (undo) => offerUndo(options, undos, undo),
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

/** The maximum number of changes that can be undone. */
const MAX_UNDOS = 100;

function offerUndo(
  { messages, language }: ChangesOptions,
  undos: SharedState['undos'],
  undo: () => void,
): NonNullable<Message['action']> {
  const run = () => {
    undos.value = undos.value.filter((other) => other !== run);
    // After Ctrl+Z, the button of the message would undo the change a second time.
    const shown = messages.shown.value.find((message) => message.action === action);
    if (shown) messages.dismiss(shown.id);
    undo();
  };
  const action = { label: language.value.text.controls.undo, run };
  undos.value = [...undos.value, run].slice(-MAX_UNDOS);
  return action;
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
