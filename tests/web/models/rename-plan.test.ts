import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inOrder, NO_CHANGE, planRenames, type RenameRules } from '../../../web/src/model/rename/rename-plan.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';

const entryOf = (name: string): Entry =>
  name.endsWith('/')
    ? { type: 'folder', path: `a/${name}`, name: name.slice(0, -1) }
    : {
        type: 'file',
        path: `a/${name}`,
        name,
        size: 1,
        modified: '2026-03-04T12:00:00.000Z',
        contentType: '',
        etag: '"1"',
      };

function plan(names: readonly string[], rules: Partial<RenameRules>, taken: readonly string[] = names) {
  const existing = new Set(taken.map((name) => name.replace(/\/$/, '')));
  return planRenames(names.map(entryOf), { ...NO_CHANGE, ...rules }, (name) => existing.has(name));
}
const namesOf = (...given: Parameters<typeof plan>) => plan(...given).map(({ name }) => name);
const problemsOf = (...given: Parameters<typeof plan>) => plan(...given).map(({ problem }) => problem);

describe('A plan of renames', () => {
  it('replaces texts, numbers, dates and letters, and keeps extensions', () => {
    const names = ['IMG_1.JPG', 'img_2.tar.gz', 'Img folder.x/'];
    assert.deepEqual(namesOf(names, {}), ['IMG_1.JPG', 'img_2.tar.gz', 'Img folder.x']);
    assert.deepEqual(namesOf(names, { find: 'img', replace: '$&' }), ['$&_1.JPG', '$&_2.tar.gz', '$& folder.x']);
    assert.deepEqual(namesOf(names, { template: 'Trip {n}', start: '9' }), [
      'Trip 09.JPG',
      'Trip 10.tar.gz',
      'Trip 11',
    ]);
    assert.deepEqual(namesOf(names, { template: '{n}-{name}', start: '001' })[0], '001-IMG_1.JPG');
    assert.deepEqual(namesOf(names, { template: '{date} {name}.{ext}' })[0], '2026-03-04 IMG_1.JPG');
    assert.deepEqual(namesOf(names, { letterCase: 'lower' }), ['img_1.JPG', 'img_2.tar.gz', 'img folder.x']);
    assert.deepEqual(namesOf(['İstanbul.txt'], { find: 'bul', replace: 'x' }), ['İstanx.txt']);
    assert.deepEqual(namesOf(['a.txt', 'b.txt'], { template: '{n}', start: 'x' }), ['1.txt', '2.txt']);
  });

  it('finds invalid and taken names before anything happens', () => {
    assert.deepEqual(problemsOf(['a.txt', 'b.txt'], { template: 'same' }), ['taken', 'taken']);
    assert.deepEqual(problemsOf(['a.txt'], { find: 'a', replace: 'b' }, ['a.txt', 'b.txt']), ['taken']);
    assert.deepEqual(problemsOf(['a.txt'], { template: 'x/{name}' }), ['slash']);
    assert.deepEqual(problemsOf(['a/'], { template: '' }), ['empty']);
    assert.deepEqual(problemsOf(['a.txt'], { template: 'x'.repeat(300) }), ['long']);
  });

  it('allows a name that another entry gives up, in the right order, and exchanges by a temporary name', () => {
    const numbers = { template: '{n}', start: '2' };
    assert.deepEqual(problemsOf(['1.txt', '2.txt', '3.txt'], numbers), [undefined, undefined, undefined]);
    assert.deepEqual(
      inOrder(plan(['1.txt', '2.txt', '3.txt'], numbers)).map(({ rename }) => rename.name),
      ['4.txt', '3.txt', '2.txt'],
    );
    const renames = ['12', '23', '31', '45'].map(([from, to]) => ({
      entry: entryOf(`${from}.txt`),
      name: `${to}.txt`,
    }));
    assert.deepEqual(
      inOrder(renames).map(({ rename, isExchange }) => [rename.entry.name, rename.name, isExchange]),
      [
        ['1.txt', '2.txt', true],
        ['3.txt', '1.txt', false],
        ['2.txt', '3.txt', false],
        ['4.txt', '5.txt', false],
      ],
    );
  });
});
