import { findNameProblem, type NameProblem, parentOf, splitName } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';

/** How names change. */
export type LetterCase = 'keep' | 'lower' | 'upper';
export const LETTER_CASES: readonly LetterCase[] = ['keep', 'lower', 'upper'];

/** The rules by which several entries are renamed. */
export interface RenameRules {
  /** Replaced everywhere in the stem of the name, without regard to case. Empty to replace nothing. */
  readonly find: string;
  readonly replace: string;
  /**
   * The new stem. `{name}` is the stem after the replacement, `{n}` the number, `{ext}` the extension, and `{date}` the day
   * of the last change. Without `{ext}`, the extension stays at the end.
   */
  readonly template: string;
  /** The number of the first entry. Leading zeros determine the number of digits. */
  readonly start: string;
  readonly letterCase: LetterCase;
}

export const NO_CHANGE: RenameRules = { find: '', replace: '', template: '{name}', start: '1', letterCase: 'keep' };

/** An entry with its new name. */
export interface PlannedRename {
  readonly entry: Entry;
  readonly name: string;
  /** Why the service would reject the new name. */
  readonly problem: NameProblem | undefined;
}

/** Returns the new name of each entry. `isTaken` tells which names of other entries the folder contains. */
export function planRenames(
  entries: readonly Entry[],
  rules: RenameRules,
  isTaken: (name: string) => boolean,
): readonly PlannedRename[] {
  const names = entries.map((entry, index) => newNameOf(entry, index, rules, entries.length));
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const planned = entries.map((entry, index) => ({ entry, name: names[index] ?? entry.name }));
  const free = new Set(inOrder(planned).map(({ rename }) => rename.entry.name));
  return planned.map(({ entry, name }) => {
    const isFree = name === entry.name || free.has(name);
    const problem = findNameProblem(name, {
      folder: parentOf(entry.path),
      isFolder: entry.type === 'folder',
      isTaken: () => (counts.get(name) ?? 0) > 1 || (!isFree && isTaken(name)),
    });
    return { entry, name, problem };
  });
}

/** A rename in the order in which the service can do it. */
export interface OrderedRename<Rename> {
  readonly rename: Rename;
  /**
   * Whether the entry needs a temporary name, because entries exchange their names: it gets its new name after those that
   * follow.
   */
  readonly isExchange: boolean;
}

/** Returns the renames that change a name, so that each new name is free when its turn comes. */
export function inOrder<Rename extends Pick<PlannedRename, 'entry' | 'name'>>(
  renames: readonly Rename[],
): readonly OrderedRename<Rename>[] {
  const waiting = new Map(
    renames.filter(({ entry, name }) => name !== entry.name).map((rename) => [rename.entry.name, rename]),
  );
  const ordered: OrderedRename<Rename>[] = [];
  for (const first of waiting.values()) {
    // The entry that has the new name comes first, and so on.
    const chain: Rename[] = [];
    for (let next = waiting.get(first.entry.name); next; next = waiting.get(next.name)) {
      waiting.delete(next.entry.name);
      chain.push(next);
    }
    const isExchange = chain.at(-1)?.name === first.entry.name;
    const others = isExchange ? chain.slice(1) : chain;
    if (isExchange) ordered.push({ rename: first, isExchange });
    ordered.push(...others.toReversed().map((rename) => ({ rename, isExchange: false })));
  }
  return ordered;
}

function newNameOf(entry: Entry, index: number, rules: RenameRules, count: number): string {
  const { stem, extension } = entry.type === 'file' ? splitName(entry.name) : { stem: entry.name, extension: '' };
  const replaced = rules.find === '' ? stem : replaceAll(stem, rules.find, rules.replace);
  const values: Readonly<Record<string, string>> = {
    name: withCase(replaced, rules.letterCase),
    n: numberOf(index, rules.start, count),
    ext: extension.slice(1),
    date: dayOf(entry),
  };
  const hasExtension = rules.template.includes('{ext}');
  const name = rules.template.replaceAll(/\{(name|n|ext|date)\}/g, (_match, key: string) => values[key] ?? '');
  return hasExtension ? name : name + extension;
}

/** Replaces a text without regard to case, and without patterns. */
function replaceAll(text: string, find: string, replacement: string): string {
  const [folded, searched] = [text.toLowerCase(), find.toLowerCase()];
  // Few letters have another length in lower case: then, positions differ, and case counts.
  if (folded.length !== text.length || searched.length !== find.length) return text.replaceAll(find, () => replacement);
  let result = '';
  let end = 0;
  for (let at = folded.indexOf(searched); at >= 0; at = folded.indexOf(searched, end)) {
    result += text.slice(end, at) + replacement;
    end = at + searched.length;
  }
  return result + text.slice(end);
}

function withCase(text: string, letterCase: LetterCase): string {
  if (letterCase === 'keep') return text;
  return letterCase === 'lower' ? text.toLocaleLowerCase() : text.toLocaleUpperCase();
}

/** The maximum first number, so that all numbers are exact. */
const MAX_START = 1_000_000_000;

function numberOf(index: number, start: string, count: number): string {
  const digits = /^\d{1,10}$/.test(start.trim()) ? start.trim() : '1';
  const first = Math.min(Number(digits), MAX_START);
  // Names sort in the order of their numbers.
  const width = Math.max(digits.length, String(first + count - 1).length);
  return String(first + index).padStart(width, '0');
}

/** Returns the local day of the last change, such as `2026-11-27`; today if it is unknown. */
function dayOf(entry: Entry): string {
  const time = entry.type === 'file' && entry.modified !== null ? new Date(entry.modified) : new Date();
  const two = (value: number) => String(value).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}
