import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newKeptId, parseKeptId, timeOfKeptId } from '../../src/model/kept-ids.ts';
import { pageOfIds } from '../../src/model/page.ts';
import { ofKind } from '../contract/bytes.ts';

describe('newKeptId', () => {
  it('returns ids that sort the newest first, also within a millisecond', () => {
    const ids = Array.from({ length: 5000 }, () => newKeptId());
    assert.deepEqual(ids.toSorted(), ids.toReversed());
    const [early, late] = [newKeptId(Date.UTC(2026, 0)), newKeptId(Date.UTC(2126, 0))];
    assert.ok(late < early);
  });

  it('returns distinct ids for one time in several processes', () => {
    const ids = new Set<string>();
    for (let round = 0; round < 1000; round++) {
      // Another time resets the counter. Each process has a counter of its own.
      newKeptId(1);
      ids.add(newKeptId(2));
    }
    assert.equal(ids.size, 1000);
  });

  it('contains the time, which no other id has', () => {
    const time = Date.UTC(2026, 10, 25, 4, 5, 6, 789);
    assert.equal(timeOfKeptId(newKeptId(time))?.getTime(), time);
    for (const id of [
      '',
      'a',
      `${newKeptId()}.json`,
      `x${newKeptId()}`,
      newKeptId().toUpperCase(),
      'Infinity-aaaaaaaa',
    ]) {
      assert.equal(timeOfKeptId(id), undefined, id);
    }
  });
});

describe('parseKeptId', () => {
  it('accepts the ids of all stores', () => {
    const sha = '0123456789abcdef0123456789abcdef01234567';
    for (const id of [newKeptId(), sha, 'null', 'L4kqtJlcpXroDTDmpUMLUo', 'XQ.aB_c-d~e', '-x', '_x']) {
      assert.equal(parseKeptId(id), id);
    }
  });

  it('rejects ids that could mean something else in a path or URL', () => {
    const hostile = [
      '',
      '.',
      '..',
      '.x',
      '../x',
      'a/b',
      'a\\b',
      'a:b',
      'a b',
      'a\0',
      'a\n',
      '%2e',
      'ä',
      'a?',
      'a#',
      'a;b',
    ];
    for (const id of [...hostile, 'x'.repeat(1025)]) {
      assert.throws(() => parseKeptId(id), ofKind('invalid-request'), JSON.stringify(id));
    }
  });
});

describe('pageOfIds', () => {
  it('continues after the last id of a page, also when it no longer exists', () => {
    const ids = Array.from({ length: 5 }, (_, number) => newKeptId(number)).toReversed();
    const first = pageOfIds(ids, { limit: 2 });
    assert.deepEqual([first.ids, first.cursor], [ids.slice(0, 2), ids[1]]);
    const rest = ids.slice(2);
    assert.deepEqual(pageOfIds(rest, { cursor: first.cursor ?? '', limit: 3 }), { ids: rest });
    assert.deepEqual(pageOfIds([], {}), { ids: [] });
  });

  it('rejects a cursor that is not an id', () => {
    for (const cursor of ['', 'x', '..']) {
      assert.throws(() => pageOfIds([], { cursor }), { name: 'StoreError', code: 'invalid-cursor' });
    }
  });
});
