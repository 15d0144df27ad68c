import { batch, computed, type ReadonlySignal, signal } from '@preact/signals';
import { ancestorsOf, isFolderPath, isWithin, nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { effectOf } from '../feed/effect-of.ts';
import type { Folder } from '../folder/folder.ts';
import type { CompareNames } from '../folder/order.ts';

/** A row of the tree. */
export type TreeRow =
  | {
      readonly kind: 'folder';
      readonly path: string;
      /** 1 for the root. */
      readonly level: number;
      readonly isExpanded: boolean;
      /** Whether it is known to have no subfolders. */
      readonly isLeaf: boolean;
      readonly isLoading: boolean;
      /** The 1-based position among the rows of the same parent, and their number. */
      readonly position: number;
      readonly siblings: number;
    }
  /** Shown below the subfolders of `path` that were read: there can be more, or reading them failed. */
  | {
      readonly kind: 'more';
      readonly path: string;
      readonly level: number;
      readonly problem: ServiceError | null;
      readonly position: number;
      readonly siblings: number;
    };

/** The subfolders of a folder, as far as they were read. */
interface Children {
  readonly paths: ReadonlySet<string>;
  readonly state: 'loading' | 'ready' | 'failed';
  readonly problem: ServiceError | null;
  /** Where to continue; undefined if everything was read. */
  readonly cursor: string | undefined;
}

interface FolderTreeOptions {
  readonly service: Pick<Service, 'list'>;
  readonly folder: Pick<Folder, 'path' | 'state' | 'problem' | 'all' | 'listing'>;
  readonly compareNames: Pick<ReadonlySignal<CompareNames>, 'value'>;
}

/** The maximum number of entries, files included, that opening a folder of the tree reads at once. */
const MAX_ENTRIES = 5_000;

/** The maximum number of folders whose subfolders are kept. */
const MAX_FOLDERS = 300;

/** The tree of all folders. Reads the subfolders of a folder when the folder is expanded. */
export class FolderTree {
  readonly rows: ReadonlySignal<readonly TreeRow[]>;
  readonly #expanded = signal<ReadonlySet<string>>(new Set([ROOT]));
  readonly #children = signal<ReadonlyMap<string, Children>>(new Map());
  readonly #reading = new Map<string, AbortController>();
  readonly #options: FolderTreeOptions;

  constructor(options: FolderTreeOptions) {
    this.#options = options;
    this.rows = computed(() => this.#rowsOf(ROOT, { level: 1, position: 1, siblings: 1 }));
  }

  /** Expands a folder. `isBackground`: the page does it by itself, so that an expired session opens no dialog. */
  expand(path: string, { isBackground }: { isBackground?: boolean } = {}): void {
    if (!this.#expanded.value.has(path)) this.#expanded.value = new Set([...this.#expanded.value, path]);
    if (!this.#isShown(path)) void this.#read(path, { isBackground });
  }

  collapse(path: string): void {
    this.#reading.get(path)?.abort();
    this.#expanded.value = new Set([...this.#expanded.value].filter((other) => other !== path));
  }

  /** Expands all folders that contain a folder which the page shows. */
  reveal(path: string): void {
    for (const ancestor of [ROOT, ...ancestorsOf(path).slice(0, -1)]) {
      const isKnown = this.#children.peek().get(ancestor)?.state === 'ready' && this.#expanded.peek().has(ancestor);
      if (!isKnown) this.expand(ancestor, { isBackground: true });
    }
  }

  /** Reads more subfolders of a folder, or repeats the request that failed. */
  readMore(path: string): void {
    const known = this.#children.value.get(path);
    void this.#read(path, { from: known?.state === 'failed' ? undefined : known?.cursor });
  }

  /** Applies a change of the feed; without one, changes can be missing. */
  receive(change: FeedChange | undefined): void {
    const moved = change && movedFolder(change);
    for (const [folder, children] of this.#children.peek()) {
      if (moved && isWithin(folder, moved.from)) continue;
      const effect = change ? effectOf(change, folder) : ({ kind: 'outdated' } as const);
      if (effect.kind === 'outdated') void this.#refresh(folder);
      if (effect.kind !== 'entries') continue;
      const hints = effect.hints.filter((hint) => isFolderPath(hint.path));
      if (hints.some(({ exists }) => exists === undefined)) void this.#refresh(folder);
      const paths = new Set(children.paths);
      for (const { path, exists } of hints) {
        if (exists) paths.add(path);
        else paths.delete(path);
      }
      if (paths.symmetricDifference(children.paths).size > 0) this.#set(folder, { ...children, paths });
    }
    if (moved) this.#move(moved);
  }

  /** Aborts all requests. */
  end(): void {
    for (const reading of this.#reading.values()) reading.abort();
  }

  /** Whether the subfolders of a folder are those of the shown list, which the page keeps up to date. */
  #isShown(path: string): boolean {
    const { folder } = this.#options;
    return folder.path.value === path && folder.state.value === 'ready' && folder.listing.value === 'complete';
  }

  #rowsOf(path: string, place: { level: number; position: number; siblings: number }): readonly TreeRow[] {
    const isExpanded = this.#expanded.value.has(path);
    const children = this.#children.value.get(path);
    const isShown = this.#isShown(path);
    const folders = this.#foldersIn(path);
    const isComplete = isShown || (children?.state === 'ready' && children.cursor === undefined);
    const hasMore = !isShown && (children?.state === 'failed' || children?.cursor !== undefined);
    const isLoading = !isShown && children?.state === 'loading';
    const row = { kind: 'folder', path, ...place, isLoading, isLeaf: isComplete && folders.length === 0 } as const;
    if (!isExpanded) return [{ ...row, isExpanded }];
    const siblings = folders.length + (hasMore ? 1 : 0);
    const level = place.level + 1;
    const rows: TreeRow[] = [{ ...row, isExpanded }];
    for (const [index, folder] of folders.entries()) {
      rows.push(...this.#rowsOf(folder, { level, position: index + 1, siblings }));
    }
    const problem = children?.problem ?? null;
    if (hasMore) rows.push({ kind: 'more', path, level, problem, position: siblings, siblings });
    return rows;
  }

  /** Returns the known subfolders of a folder, in order. */
  #foldersIn(path: string): readonly string[] {
    const { folder, compareNames } = this.#options;
    const known = new Set(this.#isShown(path) ? [] : this.#children.value.get(path)?.paths);
    if (folder.path.value === path && folder.state.value === 'ready') {
      for (const entry of folder.all.value) if (entry.type === 'folder') known.add(entry.path);
    }
    // The shown folder is always in the tree, even if those before it were not read yet.
    const next = ancestorsOf(folder.path.value).find((ancestor) => parentOf(ancestor) === path);
    if (next !== undefined && folder.state.value === 'ready') known.add(next);
    if (folder.problem.value?.isNotFound) known.delete(folder.path.value);
    return [...known].toSorted((left, right) => compareNames.value(nameOf(left), nameOf(right)));
  }

  #set(path: string, children: Children): void {
    const next = new Map(this.#children.peek());
    next.delete(path);
    next.set(path, children);
    for (const oldest of next.keys()) {
      if (next.size <= MAX_FOLDERS) break;
      if (!this.#expanded.peek().has(oldest)) next.delete(oldest);
    }
    this.#children.value = next;
  }

  #refresh(path: string): Promise<void> | undefined {
    if (this.#expanded.peek().has(path)) return this.#read(path, { isBackground: true });
    // It is read when it is expanded.
    this.#children.value = new Map([...this.#children.peek()].filter(([folder]) => folder !== path));
    return undefined;
  }

  /** Reads subfolders from a cursor, or all of them again. */
  async #read(
    path: string,
    { from, isBackground = false }: { from?: string | undefined; isBackground?: boolean | undefined } = {},
  ): Promise<void> {
    this.#reading.get(path)?.abort();
    const controller = new AbortController();
    this.#reading.set(path, controller);
    const before = this.#children.peek().get(path);
    const paths = new Set(from === undefined ? [] : before?.paths);
    this.#set(path, { paths: before?.paths ?? paths, state: 'loading', problem: null, cursor: undefined });
    try {
      let cursor = from;
      let count = 0;
      do {
        const page = await this.#options.service.list(path, { cursor, signal: controller.signal, isBackground });
        if (controller.signal.aborted) return;
        for (const entry of page.entries) if (entry.type === 'folder') paths.add(entry.path);
        count += page.entries.length;
        ({ cursor } = page);
      } while (cursor !== undefined && count < MAX_ENTRIES);
      this.#set(path, { paths, state: 'ready', problem: null, cursor });
    } catch (error) {
      if (controller.signal.aborted || isAbort(error)) return;
      const problem = asServiceError(error);
      // A folder that is gone is no longer in the tree of its parent.
      this.#set(path, { paths: before?.paths ?? paths, state: 'failed', problem, cursor: from });
    } finally {
      if (this.#reading.get(path) === controller) this.#reading.delete(path);
    }
  }

  /** Keeps a moved folder, and those in it, as they were. */
  #move({ from, to }: { from: string; to: string }): void {
    const newPath = (path: string) => (isWithin(path, from) ? to + path.slice(from.length) : path);
    batch(() => {
      this.#expanded.value = new Set([...this.#expanded.peek()].map(newPath));
      this.#children.value = new Map(
        [...this.#children.peek()].map(([folder, children]) => [
          newPath(folder),
          { ...children, paths: new Set([...children.paths].map(newPath)) },
        ]),
      );
    });
  }
}

function movedFolder({ type, path, from }: FeedChange): { from: string; to: string } | undefined {
  return type === 'folder.moved' && from !== undefined && from !== ROOT ? { from, to: path } : undefined;
}
