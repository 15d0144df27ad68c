import type { Text } from '../../platform/text/language.ts';

/* The keyboard shortcuts that are no actions, and the names of keys, as the list of shortcuts shows them. */

export type Shortcut<Name> = readonly [name: Name, keys: readonly string[]];

export const LIST_SHORTCUTS = [
  ['move', ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']],
  ['edges', ['Home', 'End']],
  ['pages', ['PageUp', 'PageDown']],
  ['toggle', ['ctrl+ ']],
  ['extend', ['shift+ArrowUp', 'shift+ArrowDown']],
  ['typing', ['A–Z']],
] as const satisfies readonly Shortcut<string>[];

export const PAGE_SHORTCUTS = [
  ['filter', ['/']],
  ['menu', ['shift+F10', 'ContextMenu']],
  ['escape', ['Escape']],
  ['regions', ['F6', 'shift+F6']],
  ['help', ['?']],
] as const satisfies readonly Shortcut<string>[];

/** Returns the names of keys that differ between languages. Modifiers and keys in menus have their English names. */
export function keyNames({ shortcuts: { keys } }: Text): Readonly<Record<string, string>> {
  return {
    ' ': keys.space,
    Home: keys.home,
    End: keys.end,
    PageUp: keys.pageUp,
    PageDown: keys.pageDown,
    ContextMenu: keys.menu,
  };
}
