import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { type CompareNames, mergeByName } from './order.ts';

/** A change of the entries of any folders. */
export interface Change {
  /** The paths of removed entries. */
  readonly removed?: readonly string[];
  /** New entries. An entry replaces the one with the same path. */
  readonly added?: readonly Entry[];
}

/** A change that is displayed before the service confirms it. The first call of either method ends it. */
export interface PendingChange {
  /** Keeps the change: the service confirmed it. */
  commit(): void;
  /** Removes the change: the service rejected it. */
  rollback(): void;
}

/**
 * The changes that listings can lack, in their order: those that the service has not confirmed yet, and those that it
 * confirmed after the request for the listing began.
 */
export interface ChangeLog {
  readonly changes: ReadonlySignal<readonly Change[]>;
  readonly committed: readonly Change[];
  readonly pending: readonly Change[];
  /** Whether the service has not answered some of the changes yet. */
  readonly hasPending: boolean;
  begin(change: Change): PendingChange;
  /** Returns the current time of a logical clock, for `removeCommitted`. */
  now(): number;
  /** Removes and returns the changes that were committed before a time. */
  removeCommitted(before: number): readonly Change[];
}

/** Creates an empty log. It calls `onIdle` when the last pending change ends. */
export function createChangeLog(onIdle: () => void): ChangeLog {
  // A set, because thousands of changes begin and end one by one, and each would copy a list.
  const logged = new Set<LoggedChange>();
  const version = signal(0);
  let time = 0;
  let pending = 0;
  const select = (isCommitted: boolean) =>
    [...logged].filter(({ committedAt }) => (committedAt !== undefined) === isCommitted);

  return {
    changes: computed(() => {
      // The set is no signal: reading its version updates the list whenever the set changes.
      void version.value;
      return [...logged];
    }),
    get committed() {
      return select(true);
    },
    get pending() {
      return select(false);
    },
    get hasPending() {
      return pending > 0;
    },
    begin(change) {
      const entry: LoggedChange = { ...change, committedAt: undefined };
      logged.add(entry);
      version.value++;
      pending += 1;
      let isPending = true;
      const once = (end: () => void) => () => {
        if (!isPending) return;
        isPending = false;
        end();
        pending -= 1;
        if (pending === 0) onIdle();
      };
      return {
        commit: once(() => {
          entry.committedAt = ++time;
        }),
        rollback: once(() => {
          logged.delete(entry);
          version.value++;
        }),
      };
    },
    now: () => ++time,
    removeCommitted(before) {
      const old = [...logged].filter(({ committedAt }) => committedAt !== undefined && committedAt < before);
      for (const entry of old) logged.delete(entry);
      if (old.length > 0) version.value++;
      return old;
    },
  };
}

interface LoggedChange extends Change {
  /** The logical time at which the service confirmed the change; undefined while it is pending. */
  committedAt: number | undefined;
}

/** Returns the entries of a folder after the changes, by name. */
export function applyChanges(
  entries: readonly Entry[],
  changes: readonly Change[],
  { folder, compareNames }: { readonly folder: string; readonly compareNames: CompareNames },
): readonly Entry[] {
  const replaced = new Set<string>();
  const added = new Map<string, Entry>();
  for (const change of changes) {
    for (const path of change.removed ?? []) {
      if (parentOf(path) === folder) replaced.add(path);
      added.delete(path);
    }
    for (const entry of change.added ?? []) {
      if (parentOf(entry.path) !== folder) continue;
      replaced.add(entry.path);
      added.set(entry.path, entry);
    }
  }
  if (replaced.size === 0) return entries;
  const others = entries.filter(({ path }) => !replaced.has(path));
  return mergeByName(others, [...added.values()], compareNames);
}
