import { batch, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Service } from '../../platform/service/service.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import type { Account } from '../account/account.ts';
import { reportLoadFailure } from '../messages.ts';
import { preloaded } from '../preloaded.ts';
import type { Prompts } from '../prompts.ts';
import type { ChangesOptions } from './change-context.ts';
import type { ChangeModel, ChangesState } from './change-model.ts';
import type { Operation } from './operations.ts';
import type { Draft } from './rename.ts';

export type { Operation } from './operations.ts';

/** Changes files and folders, and holds the running changes. */
export interface Changes
  extends Omit<ChangeModel, 'moveToTrash' | 'renameSeveral' | 'context'>,
    Readonly<Pick<ChangesState, 'undos' | 'redos' | 'trashChanges'>> {
  readonly running: ReadonlySignal<readonly Operation[]>;
  /** The path of the entry whose name is being edited; null if there is none. */
  readonly renaming: Signal<string | null>;
  /** The name that the user has typed for it; null if unchanged. */
  readonly draft: Signal<Draft | null>;
  /** Makes a change once the code of the changes is loaded. Shows a message if it can't be loaded. */
  perform(change: (changes: ChangeModel) => Promise<void>): Promise<void>;
}

export interface LoadedChangesOptions extends Omit<ChangesOptions, 'language' | 'service' | 'pathLocks'> {
  readonly service: Service;
  /** Null without access control. */
  readonly account: Account | null;
  /** Whether the service runs operations as jobs. */
  readonly hasJobs: boolean;
  readonly language: ReadonlySignal<Language>;
  /** Loads the dialogs that ask the user. Rejects if that fails. */
  readonly loadPrompts: () => Promise<Prompts>;
}

/** Milliseconds after which the code of the changes is preloaded. */
const PRELOAD_DELAY_MS = 500;

/** Creates the changes. Their code is loaded a moment after the page, or when it is needed. */
export function createChanges(options: LoadedChangesOptions): Changes {
  const { folder, language } = options;
  const state = {
    running: signal<readonly Operation[]>([]),
    renaming: signal<string | null>(null),
    draft: signal<Draft | null>(null),
    undos: signal<readonly (() => void)[]>([]),
    redos: signal<readonly (() => void)[]>([]),
    trashChanges: signal(0),
  };
  const { renaming, draft } = state;
  // If the edited entry is deleted or filtered out, the edit ends.
  effect(() => {
    if (renaming.value === null || folder.indexOf(renaming.value) >= 0) return;
    batch(() => {
      renaming.value = null;
      draft.value = null;
    });
  });

  const load = preloaded(PRELOAD_DELAY_MS, async () => {
    const [{ connectChangeModel }, prompts, fullLanguage] = await Promise.all([
      import('./change-model.ts'),
      options.loadPrompts(),
      completeLanguage(language),
    ]);
    return connectChangeModel({ ...options, language: fullLanguage }, state, prompts);
  });
  const perform = async (run: (changes: ChangeModel) => Promise<void>): Promise<void> => {
    const changes = await load().catch(() => void reportLoadFailure(options, () => void perform(run)));
    if (changes) await run(changes);
  };

  return {
    ...state,
    perform,
    createFolder: () => perform(({ createFolder }) => createFolder()),
    rename: (entry, newName) => perform(({ rename }) => rename(entry, newName)),
    transfer: (kind, paths, target) => perform(({ transfer }) => transfer(kind, paths, target)),
    transferElsewhere: (kind, paths) => perform(({ transferElsewhere }) => transferElsewhere(kind, paths)),
    remove: (entries) => perform(({ remove }) => remove(entries)),
  };
}
