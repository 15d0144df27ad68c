import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { parseFile } from '../../src/model/path.ts';
import { TrashPaths } from '../../src/stores/trash-paths.ts';

const path = parseFile('f/a');

describe('The paths of items in the trash', () => {
  it('are remembered within the limit, and forgotten at most once an hour', () => {
    let now = 0;
    const paths = new TrashPaths({ maxLength: 3 * (newKeptId().length + path.length), now: () => now });
    const ids = Array.from({ length: 4 }, () => newKeptId());
    const remembered = () => ids.map((id) => paths.get(id) === path);
    for (const id of [...ids, ...ids]) paths.set(id, path);
    assert.deepEqual(remembered(), [true, true, true, false]);
    const [first, , , last] = ids;
    assert.ok(first && last);
    paths.delete(first);
    paths.delete(first);
    paths.set(last, path);
    assert.deepEqual(remembered(), [false, true, true, true]);
    now += 60 * 60 * 1000;
    paths.set(first, path);
    assert.deepEqual(remembered(), [true, false, false, false]);
  });
});
