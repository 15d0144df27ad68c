import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { isFolderPath, isWithin, parentOf, ROOT } from '../../platform/paths.ts';
import { folderEntry, pages } from '../../platform/service/pages.ts';
import type { FolderEntry, Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import type { Permissions } from '../account/permissions.ts';
import { type CompareNames, filterEntries } from '../folder/order.ts';
import type { PickedTransfer } from '../prompts.ts';

/** The state of the dialog in which the user picks the destination folder of a copy or move. */
export interface FolderPickerState {
  /** The path of the open folder. */
  readonly path: ReadonlySignal<string>;
  /** The subfolders that match the filter, as far as they were read. */
  readonly folders: ReadonlySignal<readonly FolderEntry[]>;
  readonly state: ReadonlySignal<'reading' | 'complete' | 'failed'>;
  readonly problem: ReadonlySignal<ServiceError | null>;
  readonly filter: Signal<string>;
  /** The subfolder that the keyboard acts on. */
  readonly active: ReadonlySignal<FolderEntry | undefined>;
  /** Why the open folder can't be the destination. */
  readonly reason: ReadonlySignal<'already-here' | 'into-itself' | 'missing' | 'add-denied' | undefined>;
  /** Returns whether the open folder has a subfolder with the name, as far as is known. Ignores the filter. */
  isTaken(name: string): boolean;
  /** Returns whether a folder is among the items to copy or move. It can't contain itself. */
  isTransferred(path: string): boolean;
  open(path: string): void;
  /** Opens the parent folder, and makes the previous folder the active one. */
  up(): void;
  /** Moves the active folder by a number of rows, at most to the first or last one. */
  move(by: number): void;
  /** Adds a folder that the user created in the open folder. */
  add(path: string): void;
  /** Aborts the request in progress. */
  end(): void;
}

interface FolderPickerOptions extends Pick<PickedTransfer, 'kind' | 'paths' | 'start'> {
  readonly service: Pick<Service, 'list'>;
  readonly permissions: Permissions;
  readonly compareNames: CompareNames;
}

export function createFolderPickerState({
  service,
  permissions,
  compareNames,
  kind,
  paths,
  start,
}: FolderPickerOptions): FolderPickerState {
  const path = signal(start);
  const all = signal<readonly FolderEntry[]>([]);
  const state = signal<'reading' | 'complete' | 'failed'>('reading');
  const problem = signal<ServiceError | null>(null);
  const filter = signal('');
  const activePath = signal<string | null>(null);
  /** The subfolders of the folders that were opened, by path. */
  const cache = new Map<string, readonly FolderEntry[]>();
  let reading = new AbortController();

  const folders = computed(() => filterEntries(all.value, filter.value).filter((entry) => entry.type === 'folder'));
  const active = computed(() => folders.value.find((folder) => folder.path === activePath.value) ?? folders.value[0]);
  const isTransferred = (folder: string) => isFolderPath(folder) && paths.includes(folder);

  const add = (found: readonly FolderEntry[]) => {
    const byPath = new Map([...all.value, ...found].map((folder) => [folder.path, folder]));
    all.value = [...byPath.values()].toSorted((left, right) => compareNames(left.name, right.name));
    cache.set(path.value, all.value);
  };

  const read = async () => {
    reading.abort();
    reading = new AbortController();
    const { signal: aborting } = reading;
    const folder = path.value;
    try {
      for await (const { entries } of pages(service, folder, aborting)) {
        if (aborting.aborted) return;
        add(entries.filter((entry) => entry.type === 'folder'));
      }
      state.value = 'complete';
    } catch (error) {
      if (isAbort(error)) return;
      batch(() => {
        state.value = 'failed';
        problem.value = asServiceError(error);
      });
    }
  };

  const open = (folder: string) => {
    if (isTransferred(folder)) return;
    batch(() => {
      path.value = folder;
      all.value = cache.get(folder) ?? [];
      state.value = 'reading';
      problem.value = null;
      filter.value = '';
      activePath.value = null;
    });
    void read();
  };

  void read();
  return {
    path,
    folders,
    state,
    problem,
    filter,
    active,
    isTaken: (name) => all.value.some((folder) => folder.name === name),
    isTransferred,
    open,
    reason: computed(() => {
      if (problem.value?.isNotFound || problem.value?.isPermissionDenied) return 'missing';
      if (paths.some((transferred) => isWithin(path.value, transferred))) return 'into-itself';
      if (kind === 'move' && paths.every((transferred) => parentOf(transferred) === path.value)) return 'already-here';
      return permissions.allowsIn(path.value, 'write') ? undefined : 'add-denied';
    }),
    up() {
      const from = path.value;
      if (from === ROOT) return;
      open(parentOf(from));
      activePath.value = from;
    },
    move(by) {
      const index = folders.value.findIndex((folder) => folder === active.value);
      const next = folders.value[Math.max(0, Math.min(folders.value.length - 1, index + by))];
      activePath.value = next?.path ?? null;
    },
    add: (created) => add([folderEntry(created)]),
    end: () => reading.abort(),
  };
}
