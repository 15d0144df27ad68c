import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { isFolderPath, isWithin, parentOf, ROOT } from '../../platform/paths.ts';
import { pages } from '../../platform/service/pages.ts';
import type { FolderEntry, Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import type { Permissions } from '../account/permissions.ts';
import { filtered } from '../folder/order.ts';
import { folderEntry } from './entries.ts';
import type { TransferKind } from './steps.ts';

/** Walking through folders to pick one of them. */
export interface PickedFolder {
  readonly path: ReadonlySignal<string>;
  /** The folders in it, as far as they were read, that match the filter. */
  readonly folders: ReadonlySignal<readonly FolderEntry[]>;
  readonly state: ReadonlySignal<'reading' | 'complete' | 'failed'>;
  readonly problem: ReadonlySignal<ServiceError | null>;
  readonly filter: Signal<string>;
  /** The one that the keyboard is at. */
  readonly active: ReadonlySignal<FolderEntry | undefined>;
  /** Why nothing can go into it. */
  readonly reason: ReadonlySignal<'already-here' | 'into-itself' | 'missing' | 'may-not-add' | undefined>;
  /** Whether a folder is one of those that go elsewhere, and can't go into itself. */
  isTransferred(path: string): boolean;
  open(path: string): void;
  /** To the folder around it; there, one is at the folder that one came from. */
  up(): void;
  /** Moves by so many folders, as far as there are any. */
  move(by: number): void;
  /** A folder that was created in it. */
  add(path: string): void;
  /** Ends what is being read. */
  end(): void;
}

export interface PickedFolderOptions {
  readonly service: Service;
  readonly permissions: Permissions;
  readonly compareNames: (left: string, right: string) => number;
  readonly kind: TransferKind;
  readonly paths: readonly string[];
  readonly start: string;
}

export function createPickedFolder({
  service,
  permissions,
  compareNames,
  kind,
  paths,
  start,
}: PickedFolderOptions): PickedFolder {
  const path = signal(start);
  const all = signal<readonly FolderEntry[]>([]);
  const state = signal<'reading' | 'complete' | 'failed'>('reading');
  const problem = signal<ServiceError | null>(null);
  const filter = signal('');
  const wanted = signal<string | null>(null);
  /** What was read of folders that one was in. */
  const known = new Map<string, readonly FolderEntry[]>();
  let reading = new AbortController();

  const folders = computed(() => filtered(all.value, filter.value).filter((entry) => entry.type === 'folder'));
  const active = computed(() => folders.value.find((folder) => folder.path === wanted.value) ?? folders.value[0]);
  const isTransferred = (folder: string) => isFolderPath(folder) && paths.includes(folder);

  const add = (found: readonly FolderEntry[]) => {
    const both = new Map([...all.value, ...found].map((folder) => [folder.path, folder]));
    all.value = [...both.values()].toSorted((left, right) => compareNames(left.name, right.name));
    known.set(path.value, all.value);
  };

  const read = async () => {
    reading.abort();
    reading = new AbortController();
    const { signal: ended } = reading;
    const folder = path.value;
    try {
      for await (const { entries } of pages(service, folder, ended)) {
        if (ended.aborted) return;
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
      all.value = known.get(folder) ?? [];
      state.value = 'reading';
      problem.value = null;
      filter.value = '';
      wanted.value = null;
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
    isTransferred,
    open,
    reason: computed(() => {
      if (problem.value?.isNotFound || problem.value?.isPermissionDenied) return 'missing';
      if (paths.some((moved) => isWithin(path.value, moved))) return 'into-itself';
      if (kind === 'move' && paths.every((moved) => parentOf(moved) === path.value)) return 'already-here';
      return permissions.allowsIn(path.value, 'write') ? undefined : 'may-not-add';
    }),
    up() {
      const from = path.value;
      if (from === ROOT) return;
      open(parentOf(from));
      wanted.value = from;
    },
    move(by) {
      const place = folders.value.findIndex((folder) => folder === active.value);
      const next = folders.value[Math.max(0, Math.min(folders.value.length - 1, place + by))];
      wanted.value = next?.path ?? null;
    },
    add: (created) => add([folderEntry(created)]),
    end: () => reading.abort(),
  };
}
