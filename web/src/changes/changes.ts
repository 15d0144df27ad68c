import { batch, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { tellNotLoaded } from '../controls/not-loaded.ts';
import type { Entry } from '../service/service.ts';
import type { Operation } from './operations.ts';
import type { Draft } from './rename.ts';
import type { TransferKind } from './steps.ts';
import type { ChangesOptions } from './tools.ts';

export type { Operation } from './operations.ts';

/**
 * What a person changes. Each shows its result at once, asks the service, and puts things back with a message where
 * it refuses. None of them throws.
 */
export interface Changes {
  readonly running: ReadonlySignal<readonly Operation[]>;
  /** The entry whose name is being edited in its place; null where none is. */
  readonly renaming: Signal<string | null>;
  /** What was typed for it so far; null where nothing was. */
  readonly draft: Signal<Draft | null>;
  /** Asks for a name, and creates a folder of it in the one that is shown. */
  createFolder(): Promise<void>;
  rename(entry: Entry, newName: string): Promise<void>;
  /** Copies or moves into `folder`; asks what to do where names are taken there. */
  transfer(kind: TransferKind, paths: readonly string[], folder: string): Promise<void>;
  /** The same, into a folder that is asked for. */
  transferElsewhere(kind: TransferKind, paths: readonly string[]): Promise<void>;
  /** Asks first. */
  remove(entries: readonly Entry[]): Promise<void>;
}

/** Milliseconds after which the code that changes things is loaded, where nobody needs it before. */
const LOADED_AFTER = 500;

export function createChanges(options: ChangesOptions): Changes {
  const { folder, messages, language } = options;
  const state = {
    running: signal<readonly Operation[]>([]),
    renaming: signal<string | null>(null),
    draft: signal<Draft | null>(null),
  };
  const { renaming, draft } = state;
  // What is gone, or filtered out, is not edited any more, and what was typed for it is not wanted later.
  effect(() => {
    if (renaming.value === null || folder.indexOf(renaming.value) >= 0) return;
    batch(() => {
      renaming.value = null;
      draft.value = null;
    });
  });

  let loading: Promise<Pick<Changes, ChangeName>> | undefined;
  const load = () => {
    loading ??= import('./all-changes.ts').then(({ createAllChanges }) => createAllChanges(options, state));
    return loading;
  };
  const change = async (make: (changes: Pick<Changes, ChangeName>) => Promise<void>): Promise<void> => {
    const changes = await load().catch(() => {
      loading = undefined;
      void tellNotLoaded({ messages, language });
    });
    if (changes) await make(changes);
  };
  setTimeout(() => void load().catch(() => (loading = undefined)), LOADED_AFTER);

  return {
    ...state,
    createFolder: () => change(({ createFolder }) => createFolder()),
    rename: (entry, newName) => change(({ rename }) => rename(entry, newName)),
    transfer: (kind, paths, target) => change(({ transfer }) => transfer(kind, paths, target)),
    transferElsewhere: (kind, paths) => change(({ transferElsewhere }) => transferElsewhere(kind, paths)),
    remove: (entries) => change(({ remove }) => remove(entries)),
  };
}

type ChangeName = 'createFolder' | 'rename' | 'transfer' | 'transferElsewhere' | 'remove';
