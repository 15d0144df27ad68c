import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layOutColumns } from '../../../web/src/features/folder/columns.ts';
import { createPreferences } from '../../../web/src/platform/preferences.ts';

const ALL = { hidden: [], widths: {} } as const;
const shown = (width: number, choice: Parameters<typeof layOutColumns>[1] = ALL) => {
  const { shown: columns, isReduced } = layOutColumns(width, choice);
  return [columns.join(' '), isReduced];
};

describe('The columns of the list', () => {
  it('keep the name readable, and lose type, time and size where there is no room', () => {
    assert.deepEqual(shown(90), ['name size type modified', false]);
    assert.deepEqual(shown(48), ['name size modified', true]);
    assert.deepEqual(shown(30), ['name size', true]);
    assert.deepEqual(shown(20), ['name', true]);
  });

  it('are those that the user chose, with their widths', () => {
    assert.deepEqual(shown(90, { hidden: ['type'], widths: {} }), ['name size modified', false]);
    // A wide time leaves no room for the type.
    assert.deepEqual(shown(58, { hidden: [], widths: { modified: 20 } }), ['name size modified', true]);
    const { template } = layOutColumns(90, { hidden: ['type'], widths: { name: 20.5, size: 1000 } });
    assert.equal(template, 'minmax(0, 20.5rem) 14rem 11rem var(--control) 1fr');
    assert.equal(layOutColumns(30, ALL).template, 'minmax(0, 1fr) 5.5rem var(--control)');
  });
});

describe('Stored columns', () => {
  const read = (stored: object) => {
    const values = new Map([['holdall', JSON.stringify(stored)]]);
    const storage = { getItem: (key: string) => values.get(key) ?? null, setItem: () => {} } as unknown as Storage;
    const { columns, tileSize } = createPreferences(storage);
    return { ...columns.value, tileSize: tileSize.value };
  };

  it('are read if they are valid, and are otherwise the default', () => {
    assert.deepEqual(read({ hidden: ['type'], widths: { size: 8 }, tileSize: 4 }), {
      hidden: ['type'],
      widths: { size: 8 },
      tileSize: 4,
    });
    for (const stored of [
      {},
      { hidden: ['name', 'x', 1], widths: { size: 'x' }, tileSize: 9 },
      { hidden: 1, widths: null },
    ]) {
      assert.deepEqual(read(stored), { hidden: [], widths: {}, tileSize: 2 });
    }
  });
});
