import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { pickFiles } from '../../platform/file-picker.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import { reportLoadFailure } from '../messages.ts';
import { preloaded } from '../preloaded.ts';
import type { Prompts } from '../prompts.ts';
import type { DroppedEntry, DroppedItems } from './dropped-folders.ts';
import type { FileToUpload } from './upload-item.ts';
import type { UploadModel, UploadModelOptions } from './upload-model.ts';

/** Entry point for uploads. A queue sends them in the order in which they were added, a few at a time. */
export interface Uploads {
  /** Adds files; `emptyFolders` are created empty. */
  add(files: readonly FileToUpload[], emptyFolders?: readonly string[]): void;
  /** Adds the files and folders of a drop or paste with all their content. Must be called during the event. */
  addFrom(transfer: DataTransfer, folder: string): void;
  /** Opens the file or folder picker, and adds the chosen files to the shown folder. */
  pick(kind: 'files' | 'folder'): void;
  /** Whether an item is still to be read or sent. */
  readonly isBusy: ReadonlySignal<boolean>;
  /** The queue and its status; null until their code is loaded. */
  readonly model: ReadonlySignal<UploadModel | null>;
}

export interface UploadsOptions extends Omit<UploadModelOptions, 'language'> {
  readonly language: ReadonlySignal<Language>;
  /** Loads the dialogs that ask the user. Rejects if that fails. */
  readonly loadPrompts: () => Promise<Prompts>;
}

/** Milliseconds after which the code of the queue is preloaded. */
const PRELOAD_DELAY_MS = 700;

export function createUploads(options: UploadsOptions): Uploads {
  const model = signal<UploadModel | null>(null);
  /** The number of added batches that wait for the queue's code or are still being read. */
  const pendingBatches = signal(0);

  const load = preloaded(PRELOAD_DELAY_MS, async () => {
    const [{ createUploadModel }, prompts, language] = await Promise.all([
      import('./upload-model.ts'),
      options.loadPrompts(),
      completeLanguage(options.language),
    ]);
    model.value = createUploadModel({ ...options, language }, prompts);
    return model.value;
  });
  const use = async (work: (uploads: UploadModel) => void | Promise<void>): Promise<void> => {
    pendingBatches.value++;
    try {
      await work(await load());
    } catch {
      await reportLoadFailure(options, () => void use(work));
    } finally {
      pendingBatches.value--;
    }
  };

  const add: Uploads['add'] = (files, emptyFolders = []) => void use((uploads) => uploads.add(files, emptyFolders));
  return {
    model,
    isBusy: computed(() => pendingBatches.value > 0 || (model.value?.isBusy.value ?? false)),
    add,
    addFrom(transfer, folder) {
      const dropped = droppedItems(transfer);
      void use((uploads) => uploads.addDropped(dropped, folder));
    },
    pick(kind) {
      // This picker opens even if the code of the queue is still to be loaded, unlike an input.
      if (kind === 'files' && 'showOpenFilePicker' in window) return void use((uploads) => uploads.pickFiles());
      const { value: folder } = options.folder.path;
      pickFiles(kind, (files) =>
        add(files.map((file) => ({ file, folder: folder + foldersAbove(file), name: file.name }))),
      );
    },
  };
}

/** Returns the path of the folders that contain a picked file, from the picked folder on. */
function foldersAbove({ webkitRelativePath }: File): string {
  return webkitRelativePath.slice(0, webkitRelativePath.lastIndexOf('/') + 1);
}

/** Returns the items of a drop or paste. Must be called during the event: afterwards, the browser removes them. */
function droppedItems({ items }: DataTransfer): DroppedItems {
  const files: File[] = [];
  const entries: DroppedEntry[] = [];
  for (const item of items) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry();
    const file = entry ? null : item.getAsFile();
    if (entry) entries.push({ entry, handle: item.getAsFileSystemHandle?.() });
    else if (file) files.push(file);
  }
  return { files, entries };
}
