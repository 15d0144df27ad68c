import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Store, WriteOptions } from '../../src/model/store.ts';
import type { GitHubFake, TestRepository, Verdict } from '../../testing/servers/github.ts';
import { file, folder, ofKind, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { responseOf } from './github-reading.ts';
import {
  bytesUpload,
  countCommits,
  fileOf,
  filesIn,
  GET_BRANCH,
  openRepository,
  PATCH_REF,
  POST_BLOB,
  POST_COMMIT,
  POST_TREE,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

describe('A branch update whose response is lost', () => {
  for (const [times, cut] of [
    ['once', ['cut when done']],
    ['each time', ['cut when done', 'cut when done', 'cut when done', 'cut when done']],
  ] as const) {
    it(`makes one commit and succeeds when the response is lost ${times}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      answering(host, PATCH_REF, ...cut);
      const { etag } = await store.write(file('a'), upload('ours'), { condition: 'absent' });
      assert.equal(await countCommits(repository), 2);
      assert.equal((await filesIn(repository))['a'], fileOf('ours'));
      host.intercept(undefined);
      assert.equal((await store.stat(file('a'))).etag, etag);
    });
  }

  it('makes the change once when others commit on top of it before the retry', async (t) => {
    const files = { m: 'm', r: 'r', 'f/x': 'x' };
    const { store, host, repository } = await openRepository(t, { files }, { gatherFor: 1 });
    answering(host, PATCH_REF, 'cut when done', async () => {
      for (const number of [1, 2, 3]) await repository.commit({ theirs: `${number}`, new: 'changed by them' });
    });
    const staged = await requireMember(store, 'stage')(upload('ours'));
    await Promise.all([
      staged.commit(file('new'), { type: 'text/plain' }, { condition: 'absent' }),
      requireMember(store, 'move')(file('m'), file('n'), { replace: false }),
      store.remove(file('r')),
      requireMember(store, 'moveFolder')(folder('f'), folder('g'), { replace: false }),
    ]);
    assert.equal(await countCommits(repository), 5);
    const expected = { 'g/': null, 'g/x': 'x', n: 'm', new: 'changed by them', theirs: '3' };
    // Their effect is visible immediately, because the branch was requested afterwards.
    assert.deepEqual(await treeOf(store), expected);
    assert.deepEqual(await treeOf(store), expected);
  });

  it('reports the outcome of the attempt that succeeded', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const outcomes: boolean[] = [];
    const onOutcome: WriteOptions['onOutcome'] = ({ replaced }) => void outcomes.push(replaced);
    const write = async (path: string) => {
      await store.write(file(path), upload('ours'), { onOutcome });
      return outcomes.at(-1);
    };
    answering(host, PATCH_REF, 'cut when done', () => repository.commit({ theirs: 'x' }));
    assert.equal(await write('lost'), false);
    answering(host, PATCH_REF, 'cut', () => repository.commit({ theirs: 'y' }));
    assert.equal(await write('again'), false);
    answering(host, PATCH_REF, 'cut', () => repository.commit({ taken: 'theirs' }));
    assert.equal(await write('taken'), true);
  });

  it('makes the change once when the host limits requests before the retry', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { quotaWait: 10 });
    const limited = { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many requests' } };
    answering(host, PATCH_REF, 'cut when done', limited, () => repository.commit({ theirs: 'x' }));
    await store.write(file('a'), upload('ours'), { condition: 'absent' });
    assert.equal(await countCommits(repository), 3);
  });

  it('makes the change again when the update was not applied and others committed', async (t) => {
    const { store, host, repository } = await openRepository(t);
    answering(host, PATCH_REF, 'cut', () => repository.commit({ theirs: 'x' }));
    await store.write(file('a'), upload('ours'), { condition: 'absent' });
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'a', 'theirs']);
    assert.equal(await countCommits(repository), 3);
  });

  it('leaves the branch unchanged when no request gets through', async (t) => {
    const { store, host, repository } = await openRepository(t);
    host.intercept(({ route }) => (route === PATCH_REF ? 'cut' : undefined));
    await assert.rejects(store.write(file('a'), upload('ours')), ofKind('unavailable'));
    assert.equal(await countCommits(repository), 1);
    assert.equal(sent(host, PATCH_REF).length, 4);
  });
});

// Concurrent, because these tests mostly wait to read the branch again.
describe('A branch update whose response is lost while the host returns the old head', { concurrency: true }, () => {
  const move = (store: Store) => requireMember(store, 'move')(file('m'), file('n'), { replace: false });

  /**
   * Loses the response, lets other clients commit on the branch, and then returns the old head this number of times.
   */
  async function arrange(t: TestContext, { foreign, lags }: { foreign: number; lags: number }) {
    const opened = await openRepository(t, { files: { m: 'm' } }, { trust: 0 });
    const { host, repository } = opened;
    const old = { status: 200, body: await responseOf(opened, '/branches/main') };
    let [patches, branchReads] = [0, 0];
    host.intercept(({ route }) => {
      if (route === PATCH_REF && ++patches === 1) return 'cut when done';
      if (route === PATCH_REF && patches === 2) commitMany(repository, foreign);
      return route === GET_BRANCH && patches > 0 && ++branchReads <= lags ? old : undefined;
    });
    return opened;
  }

  for (const lags of [0, 3]) {
    it(`succeeds after ${lags} outdated responses`, async (t) => {
      const { store, repository } = await arrange(t, { foreign: 3, lags });
      await move(store);
      assert.deepEqual(Object.keys(await filesIn(repository)), ['n', 'theirs']);
      assert.equal(await countCommits(repository), 5);
      assert.deepEqual(await treeOf(store), { n: 'm', theirs: '3' });
    });
  }

  for (const [name, arranged] of [
    ['the host returns the old head forever', { foreign: 3, lags: Number.POSITIVE_INFINITY }],
    ['others made too many commits to search', { foreign: 120, lags: 0 }],
  ] as const) {
    it(`rejects with an unknown outcome: ${name}`, async (t) => {
      const { store, host, repository } = await arrange(t, arranged);
      await assert.rejects(move(store), { ...ofKind('unavailable'), message: /did not confirm the change/ });
      assert.equal(sent(host, POST_COMMIT).length, 1);
      assert.deepEqual(Object.keys(await filesIn(repository)), ['n', 'theirs']);
      assert.equal(await countCommits(repository), 2 + arranged.foreign);
      host.intercept(undefined);
      assert.deepEqual(await treeOf(store), { n: 'm', theirs: String(arranged.foreign) });
    });
  }
});

describe('Requests that create the objects of a commit', () => {
  const broken = { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' };
  const ways: Readonly<Record<string, readonly Verdict[]>> = {
    'whose response is lost': ['cut when done'],
    'whose connection is cut': ['cut', 'cut'],
    'whose response is truncated': [{ cutAfterBytes: 10 }],
    'that fails temporarily': [broken, { status: 503, body: { message: 'Unicorn' } }],
  };
  for (const route of [POST_BLOB, POST_TREE, POST_COMMIT]) {
    // All of these requests are retried by the same code.
    const used = route === POST_BLOB ? Object.entries(ways) : Object.entries(ways).slice(0, 1);
    for (const [how, verdicts] of used) {
      it(`are retried: ${route.split('/').at(-1)} ${how}`, async (t) => {
        const { store, host, repository } = await openRepository(t);
        const bytes = randomBytes(1000);
        answering(host, route, ...verdicts);
        await store.write(file('a'), bytesUpload(bytes), { condition: 'absent' });
        assert.equal((await filesIn(repository))['a'], fileOf(bytes));
        assert.equal(await countCommits(repository), 2);
        assert.equal(sent(host, route).length, verdicts.length + 1);
      });
    }

    it(`fail after four attempts, and work again later: ${route.split('/').at(-1)}`, async (t) => {
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

  it('upload a text as a blob when the host stores other bytes for it', async (t) => {
    const { store, host, repository, logged } = await openRepository(t);
    host.intercept(async ({ route, body }) => {
      if (route !== POST_TREE || !JSON.stringify(body).includes('"content"')) return undefined;
      const sha = await repository.git('rev-parse', 'main^{tree}');
      return { status: 201, body: { sha, url: '', tree: [], truncated: false } };
    });
    const text = 'a line\r\nanother\r\n';
    await Promise.all([store.write(file('a'), upload(text)), store.write(file('b'), upload('b'))]);
    assert.deepEqual([(await filesIn(repository))['a'], (await filesIn(repository))['b']], [fileOf(text), fileOf('b')]);
    assert.ok(logged.some(({ level, message }) => level === 'warn' && /sent again as blobs/.test(message)));
  });
});

/** Answers the first requests of a route, each in its way; a function is run before its request is served. */
function answering(host: GitHubFake, route: string, ...ways: readonly (Verdict | (() => unknown))[]): void {
  let served = 0;
  host.intercept(async (request) => {
    if (request.route !== route) return undefined;
    const way = ways[served++];
    if (typeof way !== 'function') return way;
    await way();
    return undefined;
  });
}

/** Adds that many commits in one push of another client. */
function commitMany({ folder: at, branch }: TestRepository, times: number): void {
  const commits = Array.from({ length: times }, (_, index) => {
    const text = String(index + 1);
    const from = index === 0 ? `from refs/heads/${branch}^0\n` : '';
    const head = `commit refs/heads/${branch}\ncommitter Another User <another@example.com> 1700000000 +0000\ndata 1\nx\n`;
    return `${head}${from}M 100644 inline theirs\ndata ${text.length}\n${text}\n`;
  });
  const { status, stderr } = spawnSync('git', ['--git-dir', at, 'fast-import', '--quiet'], {
    input: commits.join(''),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}
