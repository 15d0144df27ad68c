import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type NavigationGrid, targetIndex, uniformCells } from '../../../web/src/features/folder/grid-layout.ts';
import { isMac, keysOf, TypeAhead } from '../../../web/src/ui/keyboard.ts';

describe('A navigation key', () => {
  const list: NavigationGrid = { ...uniformCells(20, 1), visibleRows: 6, isRightToLeft: false };
  // Three rows: 0 to 3, 4 to 7, 8 and 9.
  const tiles: NavigationGrid = { ...uniformCells(10, 4), visibleRows: 2, isRightToLeft: false };

  const assertTargets = (grid: NavigationGrid, moves: readonly (readonly [string, number, number | undefined])[]) => {
    for (const [key, from, to] of moves) assert.equal(targetIndex(key, from, grid), to, `${key} at ${from}`);
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

  it('moves through tiles by rows and columns, and stays at the ends', () => {
    assertTargets(tiles, [
      ['ArrowRight', 0, 1],
      ['ArrowRight', 3, 4],
      ['ArrowLeft', 4, 3],
      ['ArrowLeft', 0, 0],
      ['ArrowRight', 9, 9],
      ['ArrowDown', 0, 4],
      ['ArrowUp', 5, 1],
      ['ArrowUp', 2, 2],
      // The last row has no fourth column. Its last entry is the nearest one.
      ['ArrowDown', 7, 9],
      ['ArrowDown', 8, 8],
      ['PageDown', 1, 5],
      ['PageUp', 6, 2],
      ['PageUp', 2, 2],
    ]);
  });

  it('moves in the opposite direction if the text runs from right to left', () => {
    assertTargets({ ...tiles, isRightToLeft: true }, [
      ['ArrowRight', 1, 0],
      ['ArrowLeft', 0, 1],
      ['ArrowDown', 0, 4],
    ]);
  });

  it('begins at an end if no entry has the focus, and does nothing in an empty folder', () => {
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
  const names = ['album', 'Änderung.md', 'file 1.txt', 'file 10.txt', 'Final.txt', 'zebra.bin'];
  /** Returns the names that typing finds, letter by letter, with this many milliseconds before each. */
  const type = (text: string, current = 0, { typeAhead = new TypeAhead(), pause = 0 } = {}) => {
    let index = current;
    return text.split('').map((key, count) => {
      const timeStamp = pause * count;
      const found = typeAhead.find({ key, timeStamp }, index, names.length, (position) => names[position]);
      if (found >= 0) index = found;
      return names[found];
    });
  };

  it('finds the entry whose name begins with the letters, in either case', () => {
    assert.deepEqual(type('file 10'), ['file 1.txt', ...Array(5).fill('file 1.txt'), 'file 10.txt']);
    assert.deepEqual(type('FIN'), ['file 1.txt', 'file 1.txt', 'Final.txt']);
    assert.deepEqual(type('ä'), ['Änderung.md']);
    assert.deepEqual(type('fx'), ['file 1.txt', undefined]);
  });

  it('cycles through all entries that begin with a repeated letter', () => {
    assert.deepEqual(type('ffff'), ['file 1.txt', 'file 10.txt', 'Final.txt', 'file 1.txt']);
    assert.deepEqual(type('a', 5), ['album']);
  });

  it('begins another name after a reset', () => {
    const typeAhead = new TypeAhead();
    const isTyping = () => typeAhead.isTyping({ timeStamp: 0 });
    assert.equal(isTyping(), false);
    assert.deepEqual(type('fi', 0, { typeAhead }), ['file 1.txt', 'file 1.txt']);
    assert.equal(isTyping(), true);
    typeAhead.reset();
    assert.equal(isTyping(), false);
    assert.deepEqual(type('z', 2, { typeAhead }), ['zebra.bin']);
  });

  it('begins another name after a pause between two keys, whenever the page handles them', () => {
    assert.deepEqual(type('fz', 0, { pause: 700 }), ['file 1.txt', undefined]);
    assert.deepEqual(type('fz', 0, { pause: 900 }), ['file 1.txt', 'zebra.bin']);
  });

  it('finds nothing in an empty list', () => {
    assert.equal(
      new TypeAhead().find({ key: 'a', timeStamp: 0 }, -1, 0, () => undefined),
      -1,
    );
  });
});

describe('A shortcut', () => {
  const noModifiers = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false };
  const press = (event: Partial<KeyboardEvent>) => keysOf({ ...noModifiers, ...event } as KeyboardEvent);

  it('is recognised on keyboards of every script and layout', () => {
    const other = isMac ? { metaKey: true } : { ctrlKey: true };
    assert.equal(press({ ...other, key: 'с', code: 'KeyC' }), 'mod+c', 'Cyrillic');
    assert.equal(press({ altKey: true, key: '˜', code: 'KeyN' }), 'alt+n', 'a Mac');
    assert.equal(press({ altKey: true, shiftKey: true, key: 'M', code: 'Semicolon' }), 'alt+shift+m', 'AZERTY');
    assert.equal(press({ shiftKey: true, key: '?', code: 'Slash' }), '?');
    assert.equal(press({ key: 'с', code: 'KeyC' }), 'с', 'typed, not a shortcut');
  });
});
