import { type FuzzyMatch, fuzzyMatch } from '../../model/palette/fuzzy.ts';
import type { RecentFile } from '../../model/places/recent-files.ts';
import type { StoredPath } from '../../model/places/stored-paths.ts';
import { ancestorsOf, isFolderPath, nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Text } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import type { IconName } from '../../ui/icon.tsx';
import type { Action } from '../actions/use-actions.ts';
import { knownEntry } from '../items/known-entry.ts';

/** What the user can choose. */
export interface PaletteItem {
  readonly id: string;
  readonly label: string;
  /** Where a file or folder is. */
  readonly detail?: string | undefined;
  readonly icon?: IconName | undefined;
  /** The file or folder, whose icon is shown. */
  readonly entry?: Entry | undefined;
  readonly keys?: string | undefined;
  /** Added to the score of a match. */
  readonly weight: number;
  /** The text that Tab replaces the query with. */
  readonly completion?: string;
  readonly run: () => void;
}

/** An item that matches the query. */
export interface FoundItem {
  readonly item: PaletteItem;
  readonly parts: FuzzyMatch['parts'];
}

interface ItemSources {
  readonly text: Text;
  readonly actions: readonly Omit<Action, 'isAvailable'>[];
  readonly favourites: readonly StoredPath[];
  readonly visited: readonly StoredPath[];
  readonly recent: readonly RecentFile[];
  /** The folders in the root, as far as they were read. */
  readonly topFolders: readonly string[];
  /** The entries of the shown folder, and its path. */
  readonly entries: readonly Entry[];
  readonly folder: string;
  readonly open: (path: string) => void;
}

/** The maximum number of entries of the shown folder that are searched. */
const MAX_ENTRIES = 2_000;

/** How much better than others with the same match an item is. */
const WEIGHTS = { action: 3, favourite: 2, visited: 1, other: 0 };

/** Returns everything that the palette finds, each once, in the order without a query. */
export function paletteItems(sources: ItemSources): readonly PaletteItem[] {
  const { text, actions, favourites, visited, recent, topFolders, entries, folder, open } = sources;
  const itemOf = (path: string, weight: number): PaletteItem => ({
    id: `path:${path}`,
    label: shownName(folderName(path, text)),
    detail: path === ROOT ? undefined : shownName(`/${parentOf(path)}`),
    entry:
      entries.find((entry) => entry.path === path) ??
      knownEntry({ type: isFolderPath(path) ? 'folder' : 'file', path }),
    weight,
    run: () => open(path),
  });
  const paths = new Map<string, PaletteItem>();
  const add = (found: readonly string[], weight: number) => {
    for (const path of found) if (!paths.has(path) && path !== folder) paths.set(path, itemOf(path, weight));
  };
  add(
    visited.slice(0, FIRST).map(({ path }) => path),
    WEIGHTS.visited,
  );
  add(
    favourites.map(({ path }) => path),
    WEIGHTS.favourite,
  );
  add(
    visited.map(({ path }) => path),
    WEIGHTS.visited,
  );
  add(
    recent.map(({ id }) => id),
    WEIGHTS.visited,
  );
  add([ROOT, ...ancestorsOf(folder), ...topFolders], WEIGHTS.other);
  add(
    entries.slice(0, MAX_ENTRIES).map(({ path }) => path),
    WEIGHTS.other,
  );
  const actionItems = actions.map(
    (action): PaletteItem => ({
      id: `action:${action.id}`,
      label: text.actions[action.id],
      icon: action.icon,
      keys: action.keys[0],
      weight: WEIGHTS.action,
      run: () => action.run(),
    }),
  );
  const places = [...paths.values()];
  const first = places.filter(({ weight }) => weight > WEIGHTS.other).slice(0, FIRST);
  return [...first, ...actionItems, ...places.filter((item) => !first.includes(item))];
}

/** The number of places before the actions without a query. */
const FIRST = 5;

/** The maximum number of shown items. */
const MAX_FOUND = 50;

/** Returns the items that match the query, the best first. */
export function findItems(items: readonly PaletteItem[], query: string): readonly FoundItem[] {
  const found = items.flatMap((item) => {
    const match = fuzzyMatch(query, item.label);
    return match ? [{ item, parts: match.parts, score: match.score + (query === '' ? 0 : item.weight) }] : [];
  });
  return found.toSorted((left, right) => right.score - left.score).slice(0, MAX_FOUND);
}

/** Returns the subfolders that a typed path can continue with, after the typed folder itself. */
export function pathItems(
  folder: string,
  subfolders: readonly string[],
  { text, open }: Pick<ItemSources, 'text' | 'open'>,
): readonly PaletteItem[] {
  return [folder, ...subfolders].map((path, index) => ({
    id: `path:${path}`,
    label: index === 0 ? shownName(folderName(path, text)) : shownName(nameOf(path)),
    detail: path === ROOT ? undefined : shownName(`/${path}`),
    entry: knownEntry({ type: 'folder', path }),
    weight: 0,
    completion: `/${path}`,
    run: () => open(path),
  }));
}
