import type { Order } from '../../platform/preferences.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';

export type CompareNames = (left: string, right: string) => number;

/**
 * Inserts entries into a list that is sorted by name, and returns the result. Comparing names by the rules of a
 * language is slow. Each entry is therefore sorted by name once, and `sortEntries` makes all other orders from that.
 */
export function mergeByName(
  sorted: readonly Entry[],
  added: readonly Entry[],
  compareNames: CompareNames,
): readonly Entry[] {
  const fresh = added.toSorted((left, right) => compareNames(left.name, right.name));
  const first = fresh[0];
  if (!first) return sorted;
  const last = sorted.at(-1);
  if (!last || compareNames(last.name, first.name) < 0) return sorted.concat(fresh);

  const merged: Entry[] = [];
  let copied = 0;
  for (const entry of fresh) {
    const index = insertionIndex(entry.name, sorted, copied, compareNames);
    for (const earlier of sorted.slice(copied, index)) merged.push(earlier);
    merged.push(entry);
    copied = index;
  }
  return merged.concat(sorted.slice(copied));
}

/** Returns the index at which to insert a name, at least `from`. */
function insertionIndex(name: string, sorted: readonly Entry[], from: number, compareNames: CompareNames): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const candidate = sorted[middle];
    if (candidate && compareNames(candidate.name, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sorts entries that are sorted by name: folders first, and equal entries by name. */
export function sortEntries(byName: readonly Entry[], { by, descending }: Order): readonly Entry[] {
  const folders: Entry[] = [];
  const files: FileEntry[] = [];
  for (const entry of byName) {
    if (entry.type === 'folder') folders.push(entry);
    else files.push(entry);
  }
  const compare = COMPARISONS[by];
  if (compare) files.sort(descending ? (left, right) => compare(right, left) : compare);
  else if (descending) files.reverse();
  // Folders have neither size, type nor time, so those orders leave them sorted by name.
  if (by === 'name' && descending) folders.reverse();
  return folders.concat(files);
}

/** Whether photos are shown from the oldest to the newest. */
export const isOldestFirst = ({ by, descending }: Order) => by === 'modified' && !descending;

/** Sorts entries that are sorted by name: folders, files with a time in the order of their times, all other files. */
export function sortByTimes(
  byName: readonly Entry[],
  times: ReadonlyMap<string, string>,
  order: Order,
): readonly Entry[] {
  const isTimed = ({ path }: Entry) => times.has(path);
  const timed = byName.filter(isTimed);
  const folders = byName.filter(({ type }) => type === 'folder');
  const others = byName.filter((entry) => entry.type !== 'folder' && !isTimed(entry));
  const direction = isOldestFirst(order) ? 1 : -1;
  timed.sort((left, right) => direction * compareText(times.get(left.path) ?? '', times.get(right.path) ?? ''));
  return folders.concat(timed, others);
}

/** Undefined for the order by name, which the entries already have. */
const COMPARISONS: Readonly<Record<Order['by'], ((left: FileEntry, right: FileEntry) => number) | undefined>> = {
  name: undefined,
  size: (left, right) => left.size - right.size,
  type: (left, right) => compareText(left.contentType, right.contentType),
  modified: (left, right) => compareText(left.modified ?? '', right.modified ?? ''),
};

const compareText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

/** Returns the entries whose names contain every word of the filter, regardless of case and accents. */
export function filterEntries(entries: readonly Entry[], filter: string): readonly Entry[] {
  const words = fold(filter).split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter(({ name }) => {
    const folded = fold(name);
    return words.every((word) => folded.includes(word));
  });
}

/** Removes case and accents. */
export const fold = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
