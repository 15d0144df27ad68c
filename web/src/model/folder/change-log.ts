import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { type CompareNames, mergeByName } from './order.ts';

/** A change of what folders show. */
export interface Change {
  /** Paths that are no more. */
  readonly removed?: readonly string[];
  /** Entries that are new, or replace those of the same path. Each folder shows its own. */
  readonly added?: readonly Entry[];
}

/** A change that is shown before the service has said yes. */
export interface PendingChange {
  /** The service has done it. */
  settle(): void;
  /** It did not come about. */
  takeBack(): void;
}

/**
 * The changes that stand on top of what was read of folders, in their order: those that the service has not answered,
 * and those that it answered after a reading began, which may not know of them.
 */
export interface ChangeLog {
  readonly changes: ReadonlySignal<readonly Change[]>;
  /** Whether the service has still to answer one of them. */
  readonly isWaiting: boolean;
  /** The changes that the service has done. */
  readonly done: readonly Change[];
  begin(change: Change): PendingChange;
  /** A moment, for `forgetBefore`. */
  now(): number;
  /** Gives the changes that were done before a moment, and forgets them. */
  forgetBefore(moment: number): readonly Change[];
}

/** `onSettle` is called when nothing waits for an answer any more. */
export function createChangeLog(onSettle: () => void): ChangeLog {
  // Of thousands, each comes and goes by itself: a list would be copied for every one.
  const logged = new Set<Logged>();
  const version = signal(0);
  let clock = 0;
  let waiting = 0;
  const end = () => {
    waiting -= 1;
    if (waiting === 0) onSettle();
  };

  return {
    changes: computed(() => (version.value >= 0 ? [...logged] : [])),
    get isWaiting() {
      return waiting > 0;
    },
    get done() {
      return [...logged].filter(({ doneAt }) => doneAt !== undefined);
    },
    begin(change) {
      const entry: Logged = { ...change, doneAt: undefined };
      logged.add(entry);
      version.value++;
      waiting += 1;
      let isOpen = true;
      const once = (settling: () => void) => () => {
        if (!isOpen) return;
        isOpen = false;
        settling();
        end();
      };
      return {
        settle: once(() => {
          entry.doneAt = ++clock;
        }),
        takeBack: once(() => {
          logged.delete(entry);
          version.value++;
        }),
      };
    },
    now: () => ++clock,
    forgetBefore(moment) {
      const isOld = ({ doneAt }: Logged) => doneAt !== undefined && doneAt < moment;
      const old = [...logged].filter(isOld);
      for (const entry of old) logged.delete(entry);
      if (old.length > 0) version.value++;
      return old;
    },
  };
}

interface Logged extends Change {
  doneAt: number | undefined;
}

/** The entries of a folder, in the order of their names, as they are after the changes. */
export function withChanges(
  entries: readonly Entry[],
  changes: readonly Change[],
  { folder, compareNames }: { readonly folder: string; readonly compareNames: CompareNames },
): readonly Entry[] {
  const gone = new Set<string>();
  const added = new Map<string, Entry>();
  for (const change of changes) {
    for (const path of change.removed ?? []) {
      if (parentOf(path) === folder) gone.add(path);
      added.delete(path);
    }
    for (const entry of change.added ?? []) {
      if (parentOf(entry.path) !== folder) continue;
      gone.add(entry.path);
      added.set(entry.path, entry);
    }
  }
  if (gone.size === 0) return entries;
  const rest = entries.filter(({ path }) => !gone.has(path));
  return mergeByName(rest, [...added.values()], compareNames);
}
