import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseJson } from '../../../web/src/features/viewer/json/parse-json.ts';
import { parseTable } from '../../../web/src/features/viewer/table/parse-table.ts';

describe('A hostile JSON file', () => {
  it('is "too deep" for a tree of nested objects, also inside of lists', () => {
    const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    assert.equal(parseJson(objects(2_000)), 'too deep');
    assert.equal(parseJson(`[${objects(1_000)}]`), 'too deep');
    assert.notEqual(parseJson(objects(500)), 'too deep');
  });
});

describe('A hostile table', () => {
  it('is parsed without backtracking over a cell of spaces, digits and separators', { timeout: 10_000 }, () => {
    const cell = `${' '.repeat(2_000)}${'0,'.repeat(2_000)}${' '.repeat(2_000)}x`;
    assert.deepEqual(parseTable(`n,x\n"${cell}",1\n`, false).columns, [
      { name: 'n', isNumeric: false },
      { name: 'x', isNumeric: true },
    ]);
  });
});
