import { batch, effect, type Signal, signal } from '@preact/signals';
import { LANGUAGE_TAGS, type LanguageTag } from './text/supported-languages.ts';

export type Theme = 'system' | 'light' | 'dark';
export type View = 'list' | 'grid' | 'photos';
export type Density = 'comfortable' | 'compact';

/**
 * The columns of the list, from start to end. Users can order the entries by each of them. The widths are in
 * `features/folder/columns.ts`.
 */
export const COLUMNS = ['name', 'size', 'type', 'modified'] as const;
export type Column = (typeof COLUMNS)[number];

/** What the user changed about the columns of the list. The name can't be hidden. */
export interface ColumnChoice {
  readonly hidden: readonly Column[];
  /** Widths in `rem`. */
  readonly widths: Readonly<Partial<Record<Column, number>>>;
}

/** The sizes of tiles and photos: the width of a tile, which follows the user's text size, in `rem`. */
export const TILE_SIZES = [6.5, 8.5, 10.5, 14, 19] as const;
export const TILE_SIZE_NAMES = ['smallest', 'small', 'medium', 'large', 'largest'] as const;
const DEFAULT_TILE_SIZE = 2;

/** The order of the entries. Folders always come before files. */
export interface Order {
  readonly by: Column;
  readonly descending: boolean;
}

/** The user's settings, stored in this browser. */
export interface Preferences {
  readonly theme: Signal<Theme>;
  /** The view, the order and the size of tiles are those of the shown folder. */
  readonly view: Signal<View>;
  readonly density: Signal<Density>;
  readonly order: Signal<Order>;
  readonly columns: Signal<ColumnChoice>;
  /** The position in `TILE_SIZES`. */
  readonly tileSize: Signal<number>;
  /** Whether wide windows show the sidebar. */
  readonly sidebar: Signal<boolean>;
  /** Whether `/` and `?` are shortcuts. Speech input can trigger such shortcuts by mistake (WCAG 2.1.4). */
  readonly characterKeys: Signal<boolean>;
  /** Empty for the language that the browser requests. */
  readonly language: Signal<LanguageTag | ''>;
  /**
   * Sets the view, the order and the size of tiles to what the user chose for a folder, otherwise to the last choice for
   * any folder. An album is shown as photos unless the user chose another view for it.
   */
  openFolder(path: string, isAlbum: boolean): void;
}

/** The key in the storage. `early.ts` and `first-language.ts` also read it. */
const KEY = 'holdall';

export function createPreferences(storage: Storage | undefined): Preferences {
  const stored = read(storage, KEY);
  const choice = folderViewOf(stored);
  const shown = { view: signal(choice.view), order: signal(choice.order), tileSize: signal(choice.tileSize) };
  const settings = {
    theme: signal<Theme>(oneOf(['system', 'light', 'dark'], stored['theme'])),
    density: signal<Density>(oneOf(['comfortable', 'compact'], stored['density'])),
    columns: signal(columnChoiceOf(stored)),
    sidebar: signal(stored['sidebar'] !== false),
    characterKeys: signal(stored['characterKeys'] !== false),
    language: signal<LanguageTag | ''>(oneOf(['', ...LANGUAGE_TAGS], stored['language'])),
  } as const;
  /** The last choice for any folder. */
  const last = signal(choice);
  const { openFolder, update } = createFolderViews(storage, shown, last);

  effect(() => update({ view: shown.view.value, order: shown.order.value, tileSize: shown.tileSize.value }));
  effect(() => {
    const { columns, ...others } = settings;
    const values = Object.entries(others).map(([name, { value }]) => [name, value] as const);
    write(storage, KEY, { ...Object.fromEntries(values), ...columns.value, ...recordOf(last.value) });
  });
  return { ...settings, ...shown, openFolder };
}

/** How a folder is shown. */
interface FolderView {
  readonly view: View;
  readonly order: Order;
  readonly tileSize: number;
}

type FolderViewSignals = { readonly [Name in keyof FolderView]: Signal<FolderView[Name]> };

/** The key of the views of folders in the storage, and the maximum number of folders. */
const FOLDERS_KEY = 'holdall-folders';
const MAX_FOLDERS = 200;

/** Remembers the views of the folders for which the user chose one last. */
function createFolderViews(storage: Storage | undefined, shown: FolderViewSignals, last: Signal<FolderView>) {
  let folder: string | undefined;
  let applied: FolderView = last.value;
  const readFolders = () => new Map(Object.entries(read(storage, FOLDERS_KEY)));

  /** Remembers a choice of the user. */
  const update = (current: FolderView) => {
    if (isEqual(current, applied)) return;
    applied = current;
    // Photos are a view for some folders only, so they and their order are never the default.
    const { view, order } = last.peek();
    last.value = current.view === 'photos' ? { ...current, view, order } : current;
    if (folder === undefined) return;
    const folders = readFolders();
    const key = keyOf(folder);
    folders.delete(key);
    folders.set(key, recordOf(current));
    write(storage, FOLDERS_KEY, Object.fromEntries([...folders].slice(-MAX_FOLDERS)));
  };
  const openFolder = (path: string, isAlbum: boolean) => {
    folder = path;
    const stored = readFolders().get(keyOf(path));
    const remembered = isRecord(stored) ? folderViewOf(stored) : undefined;
    applied = remembered ?? { ...last.peek(), ...(isAlbum && { view: 'photos' }) };
    const next = applied;
    batch(() => {
      shown.view.value = next.view;
      shown.tileSize.value = next.tileSize;
      if (!isEqual({ ...next, order: shown.order.peek() }, next)) shown.order.value = next.order;
    });
  };
  return { update, openFolder };
}

/** An object sorts keys that are numbers before all others, and would forget the wrong ones. */
const keyOf = (folder: string) => `/${folder}`;

const recordOf = ({ view, order, tileSize }: FolderView) => ({ view, ...order, tileSize });

function folderViewOf(stored: Readonly<Record<string, unknown>>): FolderView {
  return {
    view: oneOf<View>(['list', 'grid', 'photos'], stored['view']),
    order: { by: oneOf(COLUMNS, stored['by']), descending: stored['descending'] === true },
    tileSize: tileSizeOf(stored['tileSize']),
  };
}

const isEqual = (left: FolderView, right: FolderView) =>
  JSON.stringify(recordOf(left)) === JSON.stringify(recordOf(right));

function columnChoiceOf({ hidden, widths }: Readonly<Record<string, unknown>>): ColumnChoice {
  const numbers = Object.entries(isRecord(widths) ? widths : {}).filter(([, width]) => Number.isFinite(width));
  return {
    hidden: COLUMNS.filter((column) => column !== 'name' && Array.isArray(hidden) && hidden.includes(column)),
    widths: Object.fromEntries(numbers),
  };
}

const tileSizeOf = (stored: unknown) =>
  typeof stored === 'number' && stored in TILE_SIZES ? stored : DEFAULT_TILE_SIZE;

/** Returns the stored value if it is one of the choices, otherwise the first choice. */
function oneOf<Choice extends string>(choices: readonly [Choice, ...Choice[]], stored: unknown): Choice {
  return choices.find((choice) => choice === stored) ?? choices[0];
}

function read(storage: Storage | undefined, key: string): Readonly<Record<string, unknown>> {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(key) ?? '{}');
    return isRecord(stored) ? stored : {};
  } catch {
    return {};
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** If the storage is full or denied, the settings apply until the page is closed. */
function write(storage: Storage | undefined, key: string, stored: object): void {
  try {
    storage?.setItem(key, JSON.stringify(stored));
  } catch {}
}
