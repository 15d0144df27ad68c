import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import { tellNotLoaded } from '../not-loaded.ts';
import type { Prompts } from '../prompts.ts';
import { takeDropped } from './dropped.ts';
import { pickFiles } from './picker.ts';
import type { Wanted } from './upload-item.ts';
import type { AllUploads, UploadModelOptions } from './upload-model.ts';

/** Entry point for uploads. A queue sends them in the order in which they were added, a few at a time. */
export interface Uploads {
  /** Adds files; `emptyFolders` are created empty. */
  add(wanted: readonly Wanted[], emptyFolders?: readonly string[]): void;
  /** Adds the files and folders of a drop or paste with all their content. Must be called during the event. */
  addFrom(transfer: DataTransfer, folder: string): void;
  /** Opens the file or folder picker, and adds the chosen files to the shown folder. */
  pick(kind: 'files' | 'folder'): void;
  /** Whether an item is still to be read or sent. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** The queue itself; null until its code is loaded. */
  readonly all: ReadonlySignal<AllUploads | null>;
}

export interface UploadsOptions extends Omit<UploadModelOptions, 'language'> {
  readonly language: ReadonlySignal<Language>;
  /** Loads the dialogs that ask the user. Rejects if that fails. */
  readonly loadPrompts: () => Promise<Prompts>;
}

/** Milliseconds after which the queue's code is preloaded. */
const LOADED_AFTER = 700;

export function createUploads(options: UploadsOptions): Uploads {
  const all = signal<AllUploads | null>(null);
  /** The number of added batches that wait for the queue's code or are still being read. */
  const waiting = signal(0);

  const load = async (): Promise<AllUploads> => {
    const [{ createAllUploads }, prompts, language] = await Promise.all([
      import('./all-uploads.ts'),
      options.loadPrompts(),
      completeLanguage(options.language),
    ]);
    const made = all.value ?? createAllUploads({ ...options, language }, prompts);
    all.value = made;
    return made;
  };
  const use = async (work: (uploads: AllUploads) => void | Promise<void>): Promise<void> => {
    waiting.value++;
    try {
      await work(all.value ?? (await load()));
    } catch {
      await tellNotLoaded(options, () => void use(work));
    } finally {
      waiting.value--;
    }
  };
  // If the preload fails, the next upload loads the code again.
  setTimeout(() => void load().catch(() => {}), LOADED_AFTER);

  const add: Uploads['add'] = (wanted, emptyFolders = []) => void use((uploads) => uploads.add(wanted, emptyFolders));
  return {
    all,
    isBusy: computed(() => waiting.value > 0 || (all.value?.isBusy.value ?? false)),
    add,
    addFrom(transfer, folder) {
      const dropped = takeDropped(transfer);
      void use((uploads) => uploads.addDropped(dropped, folder));
    },
    pick: (kind) => pickFiles(kind, options.folder.path.value, add),
  };
}
