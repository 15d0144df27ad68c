import { effect, type Signal, signal } from '@preact/signals';
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
}

/** The key in the storage. `early.ts` and `first-language.ts` also read it. */
const KEY = 'holdall';

export function createPreferences(storage: Storage | undefined): Preferences {
  const stored = read(storage);
  const preferences = {
    theme: signal<Theme>(oneOf(['system', 'light', 'dark'], stored['theme'])),
    view: signal<View>(oneOf(['list', 'grid', 'photos'], stored['view'])),
    density: signal<Density>(oneOf(['comfortable', 'compact'], stored['density'])),
    order: signal<Order>({
      by: oneOf(COLUMNS, stored['by']),
      descending: stored['descending'] === true,
    }),
    columns: signal(columnChoiceOf(stored)),
    tileSize: signal(tileSizeOf(stored['tileSize'])),
    sidebar: signal(stored['sidebar'] !== false),
    characterKeys: signal(stored['characterKeys'] !== false),
    language: signal<LanguageTag | ''>(oneOf(['', ...LANGUAGE_TAGS], stored['language'])),
  } as const;

  effect(() => {
    const { order, columns, ...others } = preferences;
    const values = Object.entries(others).map(([name, { value }]) => [name, value] as const);
    write(storage, { ...Object.fromEntries(values), ...order.value, ...columns.value });
  });
  return preferences;
}

function columnChoiceOf({ hidden, widths }: Readonly<Record<string, unknown>>): ColumnChoice {
  const isRecord = typeof widths === 'object' && widths !== null;
  const numbers = Object.entries(isRecord ? widths : {}).filter(([, width]) => Number.isFinite(width));
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

function read(storage: Storage | undefined): Readonly<Record<string, unknown>> {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(KEY) ?? '{}');
    return typeof stored === 'object' && stored !== null ? { ...stored } : {};
  } catch {
    return {};
  }
}

/** If the storage is full or denied, the settings apply until the page is closed. */
function write(storage: Storage | undefined, stored: object): void {
  try {
    storage?.setItem(KEY, JSON.stringify(stored));
  } catch {}
}
