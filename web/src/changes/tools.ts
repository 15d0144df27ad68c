import type { ReadonlySignal, Signal } from '@preact/signals';
import type { Dialogs } from '../controls/dialogs.ts';
import type { Folder } from '../folder/folder.ts';
import type { Messages } from '../messages/messages.ts';
import { isFolderPath, isWithin } from '../paths.ts';
import type { Selection } from '../selection/selection.ts';
import type { Service } from '../service/service.ts';
import { asServiceError } from '../service/service-error.ts';
import type { Language } from '../text/language.ts';
import type { Clipboard } from './clipboard.ts';
import { createOperations, type Operation, type Operations } from './operations.ts';
import type { Turns } from './turns.ts';

export interface ChangesOptions {
  readonly service: Service;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly messages: Messages;
  readonly dialogs: Dialogs;
  readonly turns: Turns;
  readonly language: ReadonlySignal<Language>;
}

/** What each kind of change needs. */
export interface Tools extends ChangesOptions {
  readonly operations: Operations;
  /**
   * Reads the shown folder again where it is one of those that changed, or in one that is gone, and not so large that
   * it takes long.
   */
  refresh(changed: readonly string[], gone?: readonly string[]): void;
  /** Whether a folder is there; taken for granted where that can't be learnt. */
  isFolderThere(path: string): Promise<boolean>;
}

/** Entries up to which a folder is read again by itself. */
const QUICKLY_READ = 5_000;

export function createTools(options: ChangesOptions, running: Signal<readonly Operation[]>): Tools {
  const { folder, service } = options;
  return {
    ...options,
    operations: createOperations(running),
    refresh(changed, gone = []) {
      const shown = folder.path.value;
      if (folder.count.value > QUICKLY_READ) return;
      if (changed.includes(shown) || gone.some((path) => isFolderPath(path) && isWithin(shown, path))) {
        void folder.refresh();
      }
    },
    async isFolderThere(path) {
      try {
        await service.list(path, { limit: 1 });
        return true;
      } catch (error) {
        return asServiceError(error).status !== 404;
      }
    },
  };
}
