import { effect, type Signal, signal } from '@preact/signals';
import { LANGUAGE_TAGS, type LanguageTag } from './text/choice.ts';

export type Theme = 'system' | 'light' | 'dark';
export type View = 'list' | 'grid';
export type Density = 'comfortable' | 'compact';
export type OrderBy = 'name' | 'size' | 'type' | 'modified';

/** In what order the entries of folders are shown; folders come before files in each. */
export interface Order {
  readonly by: OrderBy;
  readonly descending: boolean;
}

/** What a person chose, kept in this browser. */
export interface Preferences {
  readonly theme: Signal<Theme>;
  readonly view: Signal<View>;
  readonly density: Signal<Density>;
  readonly order: Signal<Order>;
  /** Whether `/` and `?` alone are shortcuts, which are in the way of those who speak to their computer (WCAG 2.1.4). */
  readonly characterKeys: Signal<boolean>;
  /** Empty for the language that the browser requests. */
  readonly language: Signal<LanguageTag | ''>;
}

/** Where it is kept; `early.ts` reads the theme of it as well, and `first-language.ts` the language. */
const KEY = 'holdall';

export function createPreferences(storage: Storage | undefined): Preferences {
  const kept = read(storage);
  const preferences = {
    theme: signal<Theme>(oneOf(['system', 'light', 'dark'], kept['theme'])),
    view: signal<View>(oneOf(['list', 'grid'], kept['view'])),
    density: signal<Density>(oneOf(['comfortable', 'compact'], kept['density'])),
    order: signal<Order>({
      by: oneOf(['name', 'size', 'type', 'modified'], kept['by']),
      descending: kept['descending'] === true,
    }),
    characterKeys: signal(kept['characterKeys'] !== false),
    language: signal<LanguageTag | ''>(oneOf(['', ...LANGUAGE_TAGS], kept['language'])),
  } as const;

  effect(() => {
    const { order, ...others } = preferences;
    const chosen = Object.entries(others).map(([name, { value }]) => [name, value] as const);
    write(storage, { ...Object.fromEntries(chosen), ...order.value });
  });
  return preferences;
}

/** The choice that was kept, if it is one; else the first. */
function oneOf<Choice extends string>(choices: readonly [Choice, ...Choice[]], kept: unknown): Choice {
  return choices.find((choice) => choice === kept) ?? choices[0];
}

function read(storage: Storage | undefined): Readonly<Record<string, unknown>> {
  try {
    const kept: unknown = JSON.parse(storage?.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? { ...kept } : {};
  } catch {
    return {};
  }
}

/** What can't be kept, as in a private window or on a full disk, holds until the page is closed. */
function write(storage: Storage | undefined, kept: object): void {
  try {
    storage?.setItem(KEY, JSON.stringify(kept));
  } catch {}
}
