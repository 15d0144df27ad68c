import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isActivityOf, readActivity } from '../../../web/src/model/activity/activity.ts';
import type { FeedChange } from '../../../web/src/platform/service/changes.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';

/** The changes that a page of `createLog` reads at most, whether they are in the requested path or not. */
const SCANNED = 4;

/** Returns the change that a summary describes: `file.moved new old`. The ID is its position in the log. */
function changeOf(summary: string, index: number): FeedChange {
  const [type, path = '', from] = summary.split(' ');
  return {
    id: String(index),
    time: '2026-01-01T00:00:00.000Z',
    type: type as FeedChange['type'],
    path,
    ...(from && { from }),
  };
}

/** Returns a service with these changes in its log, the oldest first, and the requests that it has received. */
function createLog(summaries: readonly string[]) {
  const log = summaries.map(changeOf);
  const requests: string[] = [];
  const send: Service['send'] = async <Body>(
    _endpoint: string,
    { query } = {} as Parameters<Service['send']>[1] & {},
  ) => {
    const parameters = new URLSearchParams(query);
    requests.push(String(parameters));
    const before = parameters.get('before') ?? '';
    const end = before === 'newest' ? log.length : Number(before);
    const start = Math.max(0, end - SCANNED);
    const scope = parameters.get('file') ?? parameters.get('folder') ?? '';
    const limit = Number(parameters.get('limit'));
    const changes = log
      .slice(start, end)
      .toReversed()
      .filter((change) => isActivityOf(scope, change))
      .slice(0, limit);
    const cursor = changes.length === limit ? (changes.at(-1)?.id ?? '') : String(start);
    return { changes, cursor, hasMore: Number(cursor) > 0 } as Body;
  };
  const read = async (path: string, count = 10) => {
    const { changes, hasMore } = await readActivity({ send }, path, { count, signal: new AbortController().signal });
    return { changes: changes.map(({ type, path: changed }) => `${type} ${changed}`), hasMore };
  };
  return { read, requests };
}

describe('The activity', () => {
  it('of a folder is that of everything in it, the newest first, page by page', async () => {
    const { read } = createLog([
      'file.created a/1',
      'file.created b',
      'file.created a/2',
      'folder.created a/c/',
      'file.created a/c/3',
    ]);
    assert.deepEqual(await read('a/'), {
      changes: ['file.created a/c/3', 'folder.created a/c/', 'file.created a/2', 'file.created a/1'],
      hasMore: false,
    });
    assert.deepEqual(await read('a/', 2), { changes: ['file.created a/c/3', 'folder.created a/c/'], hasMore: true });
    assert.equal((await read('')).changes.length, 5);
  });

  it('of a renamed file continues with that of its previous path', async () => {
    const { read } = createLog([
      'file.created other/new',
      'file.created x/old',
      'file.replaced x/old',
      'folder.moved other/ x/',
      'file.created x/old',
      'file.moved other/new other/old',
      'file.replaced other/new',
    ]);
    assert.deepEqual((await read('other/new')).changes, [
      'file.replaced other/new',
      'file.moved other/new',
      'folder.moved other/',
      'file.replaced x/old',
      'file.created x/old',
    ]);
  });

  it('ends its search after some requests, and can be continued', async () => {
    const { read, requests } = createLog([
      'file.created a',
      ...Array.from({ length: 60 }, (_, index) => `file.created b${index}`),
    ]);
    assert.deepEqual(await read('a'), { changes: [], hasMore: true });
    assert.equal(requests.length, 10);
  });

  it('includes the changes of what contains a path, except those that do not affect it', () => {
    const cases = [
      ['a/b', 'file.created a/b', true],
      ['a/b', 'file.moved c a/b', true],
      ['a/b', 'file.created a/bc', false],
      ['a/b', 'folder.deleted a/', true],
      ['a/b', 'folder.created a/', false],
      ['a/b', 'folder.changed a/', false],
      ['a/', 'folder.changed a/', true],
      ['a/', 'folder.moved b/ a/', true],
      ['a/', 'file.created ab', false],
      ['a/', 'resync ', true],
    ] as const;
    for (const [path, summary, isPart] of cases) {
      assert.equal(isActivityOf(path, changeOf(summary, 0)), isPart, `${path}: ${summary}`);
    }
  });
});
