import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { Rights } from '../access/rights.ts';
import type { Turns } from '../changes/turns.ts';
import type { Dialogs } from '../controls/dialogs.ts';
import { tellNotLoaded } from '../controls/not-loaded.ts';
import type { Folder } from '../folder/folder.ts';
import type { Location } from '../location.ts';
import type { Messages } from '../messages/messages.ts';
import type { Selection } from '../selection/selection.ts';
import type { Service } from '../service/service.ts';
import type { Language } from '../text/language.ts';
import type { AllUploads } from './all-uploads.ts';
import { takeDropped } from './dropped.ts';
import { pickFiles } from './picker.ts';

/** A file that a person wants to have uploaded, and where to. */
export interface Wanted {
  readonly file: File;
  /** The folder, with those of the dropped folder that it was in. */
  readonly folder: string;
  readonly name: string;
}

/** The way in for files: a queue, of which a few are sent at a time in the order in which they were added. */
export interface Uploads {
  /** Adds files; `emptyFolders` are created as they are. */
  add(wanted: readonly Wanted[], emptyFolders?: readonly string[]): void;
  /** Adds what a drop or a paste brings, with all that is in its folders. Has to be called within the event. */
  addFrom(transfer: DataTransfer, folder: string): void;
  /** Asks for files, or for a folder, and adds them to the folder that is shown. */
  pick(kind: 'files' | 'folder'): void;
  /** Whether something is still to be read or sent. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** The queue itself; null until its code is loaded. */
  readonly all: ReadonlySignal<AllUploads | null>;
}

export interface UploadsOptions {
  readonly service: Service;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly location: Location;
  readonly messages: Messages;
  readonly dialogs: Dialogs;
  /** Taken by what is uploaded as by all that changes what is stored. */
  readonly turns: Turns;
  readonly rights: Rights;
  readonly language: ReadonlySignal<Language>;
  /** Bytes; null where nothing is known of a limit. */
  readonly maxUploadSize: number | null;
}

/** Milliseconds after which the code of the queue is loaded, where nobody needs it before. */
const LOADED_AFTER = 700;

export function createUploads(options: UploadsOptions): Uploads {
  const all = signal<AllUploads | null>(null);
  /** How many times something was added that waits for the code of the queue, or is still being read. */
  const waiting = signal(0);

  const load = async (): Promise<AllUploads> => {
    const { createAllUploads } = await import('./all-uploads.ts');
    const made = all.value ?? createAllUploads(options);
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
  // Where that fails, it is tried again when there is something to upload.
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
