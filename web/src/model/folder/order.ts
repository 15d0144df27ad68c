import type { Order } from '../../platform/preferences.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';

export type CompareNames = (left: string, right: string) => number;

/**
 * Entries in the order of their names, with new ones put where they belong. Comparing names by the rules of a
 * language is slow, so that it is done once for each entry; every other order is made of this one.
 */
export function mergeByName(
  ordered: readonly Entry[],
  added: readonly Entry[],
  compareNames: CompareNames,
): readonly Entry[] {
  const fresh = added.toSorted((left, right) => compareNames(left.name, right.name));
  const first = fresh[0];
  if (!first) return ordered;
  const last = ordered.at(-1);
  if (!last || compareNames(last.name, first.name) < 0) return ordered.concat(fresh);

  const merged: Entry[] = [];
  let taken = 0;
  for (const entry of fresh) {
    const place = routeOf(entry.name, ordered, taken, compareNames);
    for (; taken < place; taken++) merged.push(ordered[taken] as Entry);
    merged.push(entry);
  }
  for (; taken < ordered.length; taken++) merged.push(ordered[taken] as Entry);
  return merged;
}

/** The first place, from `from` on, before which `name` belongs. */
function routeOf(name: string, ordered: readonly Entry[], from: number, compareNames: CompareNames): number {
  let low = from;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const candidate = ordered[middle];
    if (candidate && compareNames(candidate.name, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Entries that are in the order of their names, in another one: folders first, equal ones by their names. */
export function inOrder(byName: readonly Entry[], { by, descending }: Order): readonly Entry[] {
  const folders: Entry[] = [];
  const files: FileEntry[] = [];
  for (const entry of byName) {
    if (entry.type === 'folder') folders.push(entry);
    else files.push(entry);
  }
  const compare = COMPARISONS[by];
  if (compare) files.sort(descending ? (left, right) => compare(right, left) : compare);
  else if (descending) files.reverse();
  // Folders have a name alone; another order leaves them as they are.
  if (by === 'name' && descending) folders.reverse();
  return folders.concat(files);
}

/** Undefined for the order that the entries have already. */
const COMPARISONS: Readonly<Record<Order['by'], ((left: FileEntry, right: FileEntry) => number) | undefined>> = {
  name: undefined,
  size: (left, right) => left.size - right.size,
  type: (left, right) => compareText(left.contentType, right.contentType),
  modified: (left, right) => compareText(left.modified ?? '', right.modified ?? ''),
};

const compareText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

/** Those whose name has each word of the filter in it, in any case and with or without accents. */
export function filtered(entries: readonly Entry[], filter: string): readonly Entry[] {
  const words = folded(filter).split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter(({ name }) => {
    const text = folded(name);
    return words.every((word) => text.includes(word));
  });
}

const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
