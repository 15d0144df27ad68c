import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Layout, targetOf } from '../../../web/src/features/folder/navigation.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { createFindByTyping } from '../../../web/src/ui/find-by-typing.ts';
import { isMac, pressed } from '../../../web/src/ui/keys.ts';

describe('A key', () => {
  const list: Layout = { count: 20, columns: 1, rowsInSight: 6, isRightToLeft: false };
  // Three rows: 0 to 3, 4 to 7, 8 and 9.
  const tiles: Layout = { count: 10, columns: 4, rowsInSight: 2, isRightToLeft: false };

  const assertTargets = (layout: Layout, moves: readonly (readonly [string, number, number | undefined])[]) => {
    for (const [key, from, to] of moves) assert.equal(targetOf(key, from, layout), to, `${key} at ${from}`);
  };

  it('moves through a list by entries, by pages and to its ends', () => {
    assertTargets(list, [
      ['ArrowDown', 0, 1],
      ['ArrowUp', 1, 0],
      ['ArrowUp', 0, 0],
      ['ArrowDown', 19, 19],
      ['Home', 12, 0],
      ['End', 3, 19],
      ['PageDown', 2, 7],
      ['PageDown', 17, 19],
      ['PageUp', 7, 2],
      ['PageUp', 3, 0],
      ['ArrowRight', 3, undefined],
      ['ArrowLeft', 3, undefined],
      ['x', 3, undefined],
    ]);
  });

  it('moves through tiles by rows and columns, and stays where there is no further one', () => {
    assertTargets(tiles, [
      ['ArrowRight', 0, 1],
      ['ArrowRight', 3, 4],
      ['ArrowLeft', 4, 3],
      ['ArrowLeft', 0, 0],
      ['ArrowRight', 9, 9],
      ['ArrowDown', 0, 4],
      ['ArrowUp', 5, 1],
      ['ArrowUp', 2, 2],
      // The last row has no entry below the fourth column: its last entry is the nearest.
      ['ArrowDown', 7, 9],
      ['ArrowDown', 8, 8],
      ['PageDown', 1, 5],
      ['PageUp', 6, 2],
      ['PageUp', 2, 2],
    ]);
  });

  it('moves the other way where the text runs from right to left', () => {
    assertTargets({ ...tiles, isRightToLeft: true }, [
      ['ArrowRight', 1, 0],
      ['ArrowLeft', 0, 1],
      ['ArrowDown', 0, 4],
    ]);
  });

  it('begins at an end where no entry has the focus, and moves nowhere in an empty folder', () => {
    assertTargets(list, [
      ['ArrowDown', -1, 0],
      ['PageDown', -1, 0],
      ['ArrowUp', -1, 19],
    ]);
    assertTargets({ ...list, count: 0 }, [
      ['Home', -1, undefined],
      ['End', -1, undefined],
      ['ArrowDown', -1, undefined],
    ]);
  });
});

describe('Typing', () => {
  const entries = ['album', 'Änderung.md', 'file 1.txt', 'file 10.txt', 'Final.txt', 'zebra.bin'].map(
    (name): Entry => ({ type: 'folder', path: `${name}/`, name }),
  );
  /** Returns the names that typing leads to, letter by letter. */
  const type = (text: string, from = 0, find = createFindByTyping()) => {
    let index = from;
    return text.split('').map((letter) => {
      const found = find.find(letter, entries, index);
      if (found >= 0) index = found;
      return entries[found]?.name;
    });
  };

  it('finds the entry whose name begins with the letters, whatever their case', () => {
    assert.deepEqual(type('file 10'), ['file 1.txt', ...Array(5).fill('file 1.txt'), 'file 10.txt']);
    assert.deepEqual(type('FIN'), ['file 1.txt', 'file 1.txt', 'Final.txt']);
    assert.deepEqual(type('ä'), ['Änderung.md']);
    assert.deepEqual(type('fx'), ['file 1.txt', undefined]);
  });

  it('goes through all entries of a letter that is typed again and again, and around', () => {
    assert.deepEqual(type('ffff'), ['file 1.txt', 'file 10.txt', 'Final.txt', 'file 1.txt']);
    assert.deepEqual(type('a', 5), ['album']);
  });

  it('begins another name after a key that is no letter', () => {
    const find = createFindByTyping();
    assert.equal(find.isUnderWay(), false);
    assert.deepEqual(type('fi', 0, find), ['file 1.txt', 'file 1.txt']);
    assert.equal(find.isUnderWay(), true);
    find.end();
    assert.equal(find.isUnderWay(), false);
    assert.deepEqual(type('z', 2, find), ['zebra.bin']);
  });
});

describe('A shortcut', () => {
  const alone = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false };
  const press = (event: Partial<KeyboardEvent>) => pressed({ ...alone, ...event } as KeyboardEvent);

  it('is recognised on keyboards of every script and layout', () => {
    const other = isMac ? { metaKey: true } : { ctrlKey: true };
    assert.equal(press({ ...other, key: 'с', code: 'KeyC' }), 'mod+c', 'Cyrillic');
    assert.equal(press({ altKey: true, key: '˜', code: 'KeyN' }), 'alt+n', 'a Mac');
    assert.equal(press({ altKey: true, shiftKey: true, key: 'M', code: 'Semicolon' }), 'alt+shift+m', 'AZERTY');
    assert.equal(press({ shiftKey: true, key: '?', code: 'Slash' }), '?');
    assert.equal(press({ key: 'с', code: 'KeyC' }), 'с', 'typed, not a shortcut');
  });
});
