import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { file, folder, ofKind, treeOf, upload } from '../contract/bytes.ts';
import type { GitHubDouble, Verdict } from '../servers/github.ts';
import {
  bytesUpload,
  countCommits,
  fileOf,
  filesIn,
  having,
  openRepository,
  PATCH_REF,
  POST_BLOB,
  POST_COMMIT,
  POST_TREE,
  sent,
} from './github-writing.ts';

describe('A branch that was moved though the answer was lost', () => {
  for (const [times, cut] of [
    ['once', ['cut when done']],
    ['each time', ['cut when done', 'cut when done', 'cut when done', 'cut when done']],
  ] as const) {
    it(`has one commit, and the change succeeds: ${times}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      answering(host, PATCH_REF, ...cut);
      const { etag } = await store.write(file('a'), upload('ours'), { condition: 'absent' });
      assert.equal(await countCommits(repository), 2);
      assert.equal((await filesIn(repository))['a'], fileOf('ours'));
      host.intercept(undefined);
      assert.equal((await store.stat(file('a'))).etag, etag);
    });
  }

  it('has the change once, though others went on from it before it was asked again', async (t) => {
    const files = { m: 'm', r: 'r', 'f/x': 'x' };
    const { store, host, repository } = await openRepository(t, { files }, { gatherFor: 1 });
    answering(host, PATCH_REF, 'cut when done', async () => {
      for (const number of [1, 2, 3]) await repository.commit({ theirs: `${number}`, new: 'changed by them' });
    });
    const staged = await having(store, 'stage')(upload('ours'));
    await Promise.all([
      staged.publish(file('new'), { type: 'text/plain' }, { condition: 'absent' }),
      having(store, 'move')(file('m'), file('n'), { replace: false }),
      store.remove(file('r')),
      having(store, 'moveFolder')(folder('f'), folder('g'), { replace: false }),
    ]);
    assert.equal(await countCommits(repository), 5);
    const expected = { 'g/': null, 'g/x': 'x', n: 'm', new: 'changed by them', theirs: '3' };
    // What they did is seen at once, since it was asked for after that.
    assert.deepEqual(await treeOf(store), expected);
    assert.deepEqual(await treeOf(store), expected);
  });

  it('has the change once, though the host takes no requests for a moment behind that', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { quotaWait: 10 });
    const limited = { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many requests' } };
    answering(host, PATCH_REF, 'cut when done', limited, () => repository.commit({ theirs: 'x' }));
    await store.write(file('a'), upload('ours'), { condition: 'absent' });
    assert.equal(await countCommits(repository), 3);
  });

  it('has the change made again, if it had not been moved and was by others', async (t) => {
    const { store, host, repository } = await openRepository(t);
    answering(host, PATCH_REF, 'cut', () => repository.commit({ theirs: 'x' }));
    await store.write(file('a'), upload('ours'), { condition: 'absent' });
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'a', 'theirs']);
    assert.equal(await countCommits(repository), 3);
  });

  it('is left as it was, if no request gets through', async (t) => {
    const { store, host, repository } = await openRepository(t);
    host.intercept(({ route }) => (route === PATCH_REF ? 'cut' : undefined));
    await assert.rejects(store.write(file('a'), upload('ours')), ofKind('unavailable'));
    assert.equal(await countCommits(repository), 1);
    assert.equal(sent(host, PATCH_REF).length, 4);
  });
});

describe('What a commit is made of', () => {
  const broken = { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' };
  const ways: Readonly<Record<string, readonly Verdict[]>> = {
    'whose answer is lost': ['cut when done'],
    'that is cut off': ['cut', 'cut'],
    'whose answer is cut off': [{ cutBehind: 10 }],
    'that fails in passing': [broken, { status: 503, body: { message: 'Unicorn' } }],
  };
  for (const route of [POST_BLOB, POST_TREE, POST_COMMIT]) {
    for (const [how, verdicts] of Object.entries(ways)) {
      it(`is asked for again: ${route.split('/').at(-1)} ${how}`, async (t) => {
        const { store, host, repository } = await openRepository(t);
        const bytes = randomBytes(1000);
        answering(host, route, ...verdicts);
        await store.write(file('a'), bytesUpload(bytes), { condition: 'absent' });
        assert.equal((await filesIn(repository))['a'], fileOf(bytes));
        assert.equal(await countCommits(repository), 2);
        assert.equal(sent(host, route).length, verdicts.length + 1);
      });
    }

    it(`fails in the end, and then works again: ${route.split('/').at(-1)}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      const bytes = randomBytes(1000);
      host.intercept((request) => (request.route === route ? broken : undefined));
      await assert.rejects(store.write(file('a'), bytesUpload(bytes)), ofKind('unavailable'));
      assert.equal(sent(host, route).length, 4);
      assert.equal(await countCommits(repository), 1);
      host.intercept(undefined);
      await store.write(file('a'), bytesUpload(bytes));
      assert.equal((await filesIn(repository))['a'], fileOf(bytes));
    });
  }

  it('is sent byte by byte, where the host makes other bytes of a text', async (t) => {
    const { store, host, repository, told } = await openRepository(t);
    host.intercept(async ({ route, body }) => {
      if (route !== POST_TREE || !JSON.stringify(body).includes('"content"')) return undefined;
      const sha = await repository.git('rev-parse', 'main^{tree}');
      return { status: 201, body: { sha, url: '', tree: [], truncated: false } };
    });
    const text = 'a line\r\nanother\r\n';
    await Promise.all([store.write(file('a'), upload(text)), store.write(file('b'), upload('b'))]);
    assert.deepEqual([(await filesIn(repository))['a'], (await filesIn(repository))['b']], [fileOf(text), fileOf('b')]);
    assert.ok(told.some(({ level, message }) => level === 'warn' && /byte by byte/.test(message)));
  });
});

/** Answers the first requests of a route, each in its way; a function is run before its request is served. */
function answering(host: GitHubDouble, route: string, ...ways: readonly (Verdict | (() => unknown))[]): void {
  let served = 0;
  host.intercept(async (request) => {
    if (request.route !== route) return undefined;
    const way = ways[served++];
    if (typeof way !== 'function') return way;
    await way();
    return undefined;
  });
}
