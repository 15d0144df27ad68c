import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ACTIONS } from '../../../web/src/features/actions/action-list.ts';
import { keyNames, LIST_SHORTCUTS, PAGE_SHORTCUTS } from '../../../web/src/features/actions/shortcut-list.ts';
import { DOWNLOAD_ALL } from '../../../web/src/features/visit/download-all.ts';
import { keyLabel } from '../../../web/src/ui/keyboard.ts';
import { textOf } from './languages.ts';

/** Returns the keys of all actions, also those of visitors, and of other shortcuts, in a service with or without a trash. */
function keysOf(service: { readonly hasTrash: boolean }): readonly string[] {
  const actions = [...ACTIONS, DOWNLOAD_ALL]
    .filter(({ hasTrash = service.hasTrash }) => hasTrash === service.hasTrash)
    // One key adds to the favourites, and removes from them: never both are possible.
    .filter(({ id }) => id !== 'removeFavourite');
  return [...actions.map(({ keys }) => keys), ...[...LIST_SHORTCUTS, ...PAGE_SHORTCUTS].map(([, keys]) => keys)].flat();
}

/** The words of the documentation for keys that it does not write like the page. */
const DOCUMENTED_AS: Readonly<Record<string, readonly string[]>> = {
  arrows: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'],
  letters: ['A–Z'],
  Space: [' '],
  'Ctrl Space': ['ctrl+ '],
  Menu: ['ContextMenu'],
  'Page Up': ['PageUp'],
  'Page Down': ['PageDown'],
};

/** Returns the keys in the table of docs/reference/web-ui.md, as the actions write them: `alt+shift+m` for `Alt Shift M`. */
function documentedKeys(): readonly string[] {
  const page = readFileSync(new URL('../../../docs/reference/web-ui.md', import.meta.url), 'utf8');
  const [, table = ''] = /\n## Keys\n(.*?)\n## /s.exec(page) ?? [];
  const cells = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell).slice(1);
  return cells.flatMap((cell) => cell.split(', ')).flatMap((keys) => DOCUMENTED_AS[keys] ?? [withPlus(keys)]);
}

function withPlus(keys: string): string {
  const names: Readonly<Record<string, string>> = {
    Ctrl: 'mod',
    Alt: 'alt',
    Shift: 'shift',
    '↑': 'ArrowUp',
    '↓': 'ArrowDown',
  };
  return keys
    .split(' ')
    .map((key) => names[key] ?? (key.length === 1 ? key.toLowerCase() : key))
    .join('+');
}

describe('The keyboard shortcuts', () => {
  it('each have one meaning', () => {
    for (const hasTrash of [true, false]) {
      const all = keysOf({ hasTrash });
      assert.deepEqual(
        all.filter((keys, index) => all.indexOf(keys) !== index),
        [],
      );
    }
  });

  it('are those of the documentation', () => {
    assert.deepEqual(documentedKeys().toSorted(), keysOf({ hasTrash: true }).toSorted());
  });

  it('have names in the language of the page', async () => {
    const names = keyNames(await textOf('de'));
    const labels = ['shift+ArrowUp', ' ', 'PageUp', 'ContextMenu', 'alt+n'].map((keys) => keyLabel(keys, names));
    assert.deepEqual(labels, ['Shift+↑', 'Leertaste', 'Bild auf', 'Menü', 'Alt+N']);
  });
});
