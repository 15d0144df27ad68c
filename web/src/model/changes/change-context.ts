import type { ReadonlySignal, Signal } from '@preact/signals';
import type { Rights } from '../account/rights.ts';
import type { Folder } from '../folder/folder.ts';
import { refreshUnlessLarge } from '../folder/refresh-unless-large.ts';
import type { Messages } from '../messages.ts';
import { isWithin } from '../../platform/paths.ts';
import type { Prompts } from '../prompts.ts';
import type { Selection } from '../selection.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Clipboard } from '../clipboard.ts';
import { createOperations, type Operation, type Operations } from './operations.ts';
import type { Turns } from '../path-locks.ts';

export interface ChangesOptions {
  readonly service: Service;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly messages: Messages;
  readonly turns: Turns;
  readonly rights: Rights;
  readonly language: ReadonlySignal<FullLanguage>;
}

/** What each kind of change needs. */
export interface Tools extends ChangesOptions {
  readonly prompts: Prompts;
  readonly operations: Operations;
  /** Why a change was not begun, where one that it waited for had failed. */
  readonly notBegun: () => ServiceError;
  /**
   * Reads the shown folder again where it is one of those that changed, or in one that is gone, and not so large that
   * it takes long.
   */
  refresh(changed: readonly string[], gone?: readonly string[]): void;
  /** Whether a folder is there; taken for granted where that can't be learnt. */
  isFolderThere(path: string): Promise<boolean>;
}

/** The HTTP status for what depends on something that failed; the service itself never answers with it. */
export const NOT_BEGUN = 424;

export function createTools(options: ChangesOptions, prompts: Prompts, running: Signal<readonly Operation[]>): Tools {
  const { folder, service, turns } = options;
  const notBegun = () => new ServiceError(NOT_BEGUN, 'An earlier change failed.', { code: 'change-not-started' });
  return {
    ...options,
    prompts,
    notBegun,
    operations: createOperations({ running, turns, notBegun }),
    refresh(changed, gone = []) {
      const shown = folder.path.value;
      if (changed.includes(shown) || gone.some((path) => isWithin(shown, path))) refreshUnlessLarge(folder);
    },
    async isFolderThere(path) {
      try {
        await service.list(path, { limit: 1 });
        return true;
      } catch (error) {
        return asServiceError(error).code !== 'not-found';
      }
    },
  };
}
