import { effect, type Signal, signal } from '@preact/signals';
import { LANGUAGE_TAGS, type LanguageTag } from './text/supported-languages.ts';

export type Theme = 'system' | 'light' | 'dark';
export type View = 'list' | 'grid';
export type Density = 'comfortable' | 'compact';

/**
 * The columns of the list, from start to end. Users can order the entries by each of them. The widths are in
 * `features/folder/entries.css`.
 */
export const COLUMNS = ['name', 'size', 'type', 'modified'] as const;
export type Column = (typeof COLUMNS)[number];

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
    view: signal<View>(oneOf(['list', 'grid'], stored['view'])),
    density: signal<Density>(oneOf(['comfortable', 'compact'], stored['density'])),
    order: signal<Order>({
      by: oneOf(COLUMNS, stored['by']),
      descending: stored['descending'] === true,
    }),
    characterKeys: signal(stored['characterKeys'] !== false),
    language: signal<LanguageTag | ''>(oneOf(['', ...LANGUAGE_TAGS], stored['language'])),
  } as const;

  effect(() => {
    const { order, ...others } = preferences;
    const values = Object.entries(others).map(([name, { value }]) => [name, value] as const);
    write(storage, { ...Object.fromEntries(values), ...order.value });
  });
  return preferences;
}

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
