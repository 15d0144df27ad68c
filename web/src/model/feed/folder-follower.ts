import { batch } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import { type FeedChange, groupNames, readEntries } from '../../platform/service/changes.ts';
import type { Entry, Service } from '../../platform/service/service.ts';
import type { Changes } from '../changes/changes.ts';
import type { Clipboard } from '../clipboard.ts';
import type { Change } from '../folder/change-log.ts';
import type { Folder } from '../folder/folder.ts';
import type { Selection } from '../selection.ts';
import { effectOf, type Hint } from './effect-of.ts';

interface FollowerOptions {
  readonly service: Pick<Service, 'send'>;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly changes: Pick<Changes, 'renaming' | 'draft'>;
  readonly router: Pick<Router, 'route' | 'go'>;
  readonly timing?: Timing;
}

/** Milliseconds. */
interface Timing {
  /** How long a change waits for others. */
  readonly gather: number;
  /** The minimum time between two updates, and that after one with many changes. */
  readonly interval: number;
  readonly busyInterval: number;
  /** The minimum time per entry, because a long list takes longer to sort. */
  readonly perEntry: number;
  /** The first time after which an entry is read again. It doubles each time. */
  readonly retry: number;
}

const TIMING: Timing = { gather: 50, interval: 250, busyInterval: 1_000, perEntry: 0.02, retry: 500 };

/** The number of changed entries from which an update counts as large. */
const MANY = 50;

/** How often an entry is read again that differs from what a change told, or that could not be read. */
const MAX_RETRIES = 4;

/** The entries in a page of a listing. */
const PAGE_SIZE = 1_000;

interface WaitingHint extends Hint {
  readonly retries: number;
  /** In the milliseconds of `performance.now`. */
  readonly notBefore: number;
}

/**
 * Updates the shown folder from the change feed. A change only tells which entries to read: what is shown is what the service
 * returned last. The order of changes therefore does not matter, and the user's own changes, which arrive too, have no effect.
 */
export class FolderFollower {
  readonly #options: FollowerOptions;
  readonly #timing: Timing;
  readonly #hints = new Map<string, WaitingHint>();
  /** The new paths of entries that were renamed within the folder, by their old ones. */
  readonly #renamed = new Map<string, string>();
  /** The path of the shown folder if it must be read again. */
  #outdated: string | undefined;
  #timer: { readonly time: number; readonly id: ReturnType<typeof setTimeout> } | undefined;
  #updating: Promise<void> | undefined;
  /** The time before which no update starts. */
  #nextUpdate = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
  }

  receive(change: FeedChange): void {
    const { folder } = this.#options;
    const shown = folder.path.peek();
    const effect = effectOf(change, shown);
    if (effect.kind === 'moved') this.#moveFolder(effect.to);
    else if (effect.kind === 'outdated') this.refresh();
    else if (effect.kind === 'created' && folder.problem.peek() !== null) this.refresh();
    else if (effect.kind === 'entries') {
      for (const hint of effect.hints) this.#hints.set(hint.path, { ...hint, retries: 0, notBefore: 0 });
      if (effect.moved) this.#rememberRename(effect.moved);
      this.#schedule();
    }
  }

  /** Reads the shown folder again. */
  refresh(): void {
    this.#outdated = this.#options.folder.path.peek();
    this.#schedule();
  }

  #rememberRename({ from, to }: { readonly from: string; readonly to: string }): void {
    for (const [first, last] of this.#renamed) if (last === from) this.#renamed.set(first, to);
    this.#renamed.set(from, to);
  }

  /** Schedules an update, not before a time in the milliseconds of `performance.now`. */
  #schedule(notBefore = 0): void {
    if (this.#updating) return;
    const now = performance.now();
    const time = Math.max(now + this.#timing.gather, this.#nextUpdate, notBefore);
    // Later changes don't delay an update.
    if (this.#timer && this.#timer.time <= time) return;
    clearTimeout(this.#timer?.id);
    this.#timer = { time, id: setTimeout(() => this.#start(), time - now) };
  }

  #start(): void {
    this.#timer = undefined;
    this.#updating = this.#update().finally(() => {
      this.#updating = undefined;
      if (this.#outdated !== undefined) return this.#schedule();
      let earliest = Number.POSITIVE_INFINITY;
      for (const { notBefore } of this.#hints.values()) earliest = Math.min(earliest, notBefore);
      if (this.#hints.size > 0) this.#schedule(earliest);
    });
  }

  async #update(): Promise<void> {
    const { folder } = this.#options;
    const { interval, busyInterval, perEntry } = this.#timing;
    const startedAt = performance.now();
    const due = this.#takeDue();
    const groups = groupNames(due.map(({ path }) => path));
    if (this.#outdated !== undefined || isListingCheaper(groups.length, folder)) await this.#readFolder();
    else if (due.length > 0) await this.#readEntries(due, groups);
    const now = performance.now();
    const minimum = due.length > MANY ? busyInterval : interval;
    this.#nextUpdate = now + Math.max(minimum, perEntry * folder.count.peek(), 3 * (now - startedAt));
  }

  /** Takes the hints that need a request. Those of entries that the user is changing wait until that change has ended. */
  #takeDue(): readonly WaitingHint[] {
    const { folder } = this.#options;
    const shown = folder.path.peek();
    const changing = pathsOf(folder.pendingChanges());
    const now = performance.now();
    if (this.#outdated !== shown) this.#outdated = undefined;
    const due: WaitingHint[] = [];
    for (const [path, hint] of this.#hints) {
      if (parentOf(path) !== shown) this.#hints.delete(path);
      else if (changing.has(path)) this.#hints.set(path, { ...hint, notBefore: now + this.#timing.retry });
      else if (hint.notBefore <= now) {
        this.#hints.delete(path);
        // A listing that is being read can differ from what is shown.
        if (folder.isReading || !isShown(hint, folder.entryOf(path))) due.push(hint);
      }
    }
    if (this.#hints.size === 0 && due.length === 0) this.#renamed.clear();
    return due;
  }

  async #readFolder(): Promise<void> {
    this.#outdated = undefined;
    this.#renamed.clear();
    await this.#options.folder.refresh({ isBackground: true });
  }

  async #readEntries(due: readonly WaitingHint[], groups: readonly (readonly string[])[]): Promise<void> {
    const { folder, service } = this.#options;
    const shown = folder.path.peek();
    const before = new Map(due.map(({ path }) => [path, folder.entryOf(path)]));
    let found: ReadonlyMap<string, Entry>;
    try {
      const pages = [];
      for (const names of groups) pages.push(await readEntries(service, shown, names, { isBackground: true }));
      found = new Map(pages.flat().map((entry) => [entry.path, entry]));
    } catch {
      for (const hint of due) this.#retry(hint);
      if (due.some(({ retries }) => retries === MAX_RETRIES)) this.#outdated = shown;
      return;
    }
    if (folder.path.peek() !== shown) return;
    const changing = pathsOf(folder.pendingChanges());
    const removed: string[] = [];
    const added: Entry[] = [];
    for (const hint of due) {
      const { path } = hint;
      const now = folder.entryOf(path);
      const entry = found.get(path);
      // Otherwise, the user has changed the entry since, or another listing was read, and this one can be outdated.
      if (now !== before.get(path) || changing.has(path)) this.#retry({ ...hint, retries: 0 });
      else {
        if (!entry && now) removed.push(path);
        if (entry && !(now && isSame(now, entry))) added.push(entry);
        // Another replica can return for seconds what it has cached.
        if (!isAsHinted(hint, entry)) this.#retry(hint);
      }
    }
    if (removed.length + added.length > 0) this.#apply(removed, added);
  }

  #retry(hint: WaitingHint): void {
    if (this.#hints.has(hint.path) || hint.retries === MAX_RETRIES) return;
    const notBefore = performance.now() + this.#timing.retry * 2 ** hint.retries;
    this.#hints.set(hint.path, { ...hint, retries: hint.retries + 1, notBefore });
  }

  #apply(removed: readonly string[], added: readonly Entry[]): void {
    const { folder } = this.#options;
    const isKnown = new Set(added.map(({ path }) => path));
    const renamed = new Map<string, string>();
    for (const path of removed) {
      const to = this.#renamed.get(path);
      if (to !== undefined && (isKnown.has(to) || folder.entryOf(to))) renamed.set(path, to);
      this.#renamed.delete(path);
    }
    batch(() => {
      if (renamed.size > 0) this.#remap((path) => renamed.get(path) ?? path);
      this.#options.clipboard.remapPaths(renamed);
      folder.apply({ removed, added });
    });
  }

  /** Follows the shown folder to its new path. */
  #moveFolder(to: string): void {
    const { folder, clipboard, router } = this.#options;
    const from = folder.path.peek();
    const { preview, view } = router.route.peek();
    const rebase = (path: string) => (path.startsWith(from) ? to + path.slice(from.length) : path);
    const [focused, filter] = [folder.focused.peek(), folder.filter.peek()];
    const selected = [...this.#options.selection.paths.peek()];
    const { renaming, draft } = this.#options.changes;
    const [edited, typed] = [renaming.peek(), draft.peek()];
    batch(() => {
      clipboard.remapPaths(new Map([[from, to]]));
      folder.cacheAs(to);
      folder.open(to);
      folder.filter.value = filter;
      folder.focused.value = focused && rebase(focused);
      this.#options.selection.set(selected.map(rebase));
      renaming.value = edited && rebase(edited);
      draft.value = typed && { ...typed, path: rebase(typed.path) };
      router.go({ ...(view && { view }), folder: to, preview: preview && rebase(preview) }, { replace: true });
    });
  }

  /** Moves the focus, the selection, the name field and the preview to the new paths of their entries. */
  #remap(newPathOf: (path: string) => string): void {
    const { folder, selection, router } = this.#options;
    const { renaming, draft } = this.#options.changes;
    const { preview } = router.route.peek();
    if (folder.focused.peek() !== null) folder.focused.value = newPathOf(folder.focused.peek() ?? '');
    const selected = [...selection.paths.peek()];
    const [first] = selected;
    if (first !== undefined && selected.length === 1) selection.only(newPathOf(first));
    else selection.set(selected.map(newPathOf));
    if (renaming.value !== null) renaming.value = newPathOf(renaming.value);
    if (draft.value) draft.value = { ...draft.value, path: newPathOf(draft.value.path) };
    if (preview !== null && newPathOf(preview) !== preview) {
      router.go({ folder: folder.path.peek(), preview: newPathOf(preview) }, { replace: true });
    }
  }
}

function pathsOf(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(changes.flatMap(({ removed = [], added = [] }) => [...removed, ...added.map(({ path }) => path)]));
}

/** Returns whether reading the whole folder takes fewer requests. */
function isListingCheaper(groups: number, { count }: Folder): boolean {
  return groups > 1 + count.peek() / PAGE_SIZE;
}

/** Returns whether the shown entry is as the change left it, so that nothing must be read. */
function isShown(hint: Hint, entry: Entry | undefined): boolean {
  if (hint.exists === undefined) return false;
  return isAsHinted(hint, entry) && (entry?.type !== 'file' || hint.etag !== undefined);
}

function isAsHinted({ exists, etag }: Hint, entry: Entry | undefined): boolean {
  if (exists === undefined) return true;
  if (exists !== (entry !== undefined)) return false;
  return entry?.type !== 'file' || etag === undefined || entry.etag === etag;
}

function isSame(left: Entry, right: Entry): boolean {
  if (left.type === 'folder' || right.type === 'folder') return left.type === right.type;
  return (
    left.etag === right.etag &&
    left.size === right.size &&
    left.modified === right.modified &&
    left.contentType === right.contentType
  );
}
