import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import type { GitHubRequest } from '../../testing/servers/github.ts';
import { file, folder, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  countCommits,
  event,
  fileOf,
  filesIn,
  isForPath,
  openRepository,
  PATCH_REF,
  POST_COMMIT,
  POST_TREE,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const numbers = Array.from({ length: 100 }, (_, index) => index);

describe('A failed change in a batch', () => {
  it('fails alone when the host rejects the commit or the branch update for it', async (t) => {
    const message = 'refusing to allow a Personal Access Token to create or update workflow';
    const refusals = [
      [PATCH_REF, 403],
      [PATCH_REF, 422],
      [POST_COMMIT, 403],
    ] as const;
    const assertAlone = async ([route, status]: (typeof refusals)[number]) => {
      const { store, host, repository } = await openRepository(t, {}, { gatherFor: 50 });
      host.intercept(async (request) => {
        if (request.route !== route) return undefined;
        const sha = route === POST_COMMIT ? bodyOf(request, 'tree') : bodyOf(request, 'sha');
        const paths = await repository.git('ls-tree', '-r', '--name-only', sha);
        return paths.includes('.github/workflows/') ? { status, body: { message } } : undefined;
      });
      const outcomes = await Promise.allSettled([
        ...numbers.slice(0, 3).map((number) => store.write(file(`${number}`), upload(`${number}`))),
        store.write(file('.github/workflows/own.yml'), upload('x')),
        ...numbers.slice(3, 6).map((number) => store.write(file(`${number}`), upload(`${number}`))),
      ]);
      const failed = outcomes.flatMap((outcome, index) => (outcome.status === 'rejected' ? [index] : []));
      assert.deepEqual(failed, [3]);
      assert.equal(Object.keys(await filesIn(repository)).length, 7);
    };
    await Promise.all(refusals.map(assertAlone));
  });

  it('does not cause one commit per change when the branch rejects every commit', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { gatherFor: 50 });
    repository.protect('main');
    const outcomes = await Promise.allSettled(
      numbers.map((number) => store.write(file(`${number}`), upload(`${number}`))),
    );
    assert.ok(outcomes.every(({ status }) => status === 'rejected'));
    assert.ok(sent(host, PATCH_REF).length < 50, `${sent(host, PATCH_REF).length}`);
    assert.equal(await countCommits(repository), 1);
  });

  it('fails alone when it conflicts with the present files', async (t) => {
    const { store, repository } = await openRepository(t, { files: { present: 'old', 'f/a': 'a' } });
    const outcomes = await Promise.allSettled([
      ...numbers.slice(0, 10).map((number) => store.write(file(`new/${number}`), upload(`${number}`))),
      store.write(file('present'), upload('new'), { condition: 'absent' }),
      store.write(file('present'), upload('new'), { condition: { etag: 'another' } }),
      store.remove(file('missing')),
      store.remove(file('present'), { ifMatch: 'another' }),
      store.write(file('present/below'), upload('x')),
      store.write(file('f'), upload('x')),
      requireMember(store, 'move')(file('present'), file('f/a'), { replace: false }),
      store.removeFolder(folder('f')),
      store.createFolder(folder('present')),
    ]);
    const kinds = outcomes
      .slice(10)
      .map((one) => one.status === 'rejected' && isStoreError(one.reason) && one.reason.kind);
    assert.deepEqual(kinds, [
      'condition-failed',
      'condition-failed',
      'not-found',
      'condition-failed',
      'wrong-kind',
      'wrong-kind',
      'already-exists',
      'already-exists',
      'wrong-kind',
    ]);
    assert.ok(outcomes.slice(0, 10).every(({ status }) => status === 'fulfilled'));
    assert.equal(await countCommits(repository), 2);
    const files = await filesIn(repository);
    assert.equal(Object.keys(files).length, 12);
    assert.deepEqual([files['present'], files['f/a']], [fileOf('old'), fileOf('a')]);
  });

  it('fails alone when the host rejects its path', async (t) => {
    const { store, host, repository } = await openRepository(t);
    host.intercept((request) =>
      ['new/5', 'new/12'].some((path) => isForPath(request, path))
        ? { status: 422, body: { message: 'tree.path contains a malformed path component' } }
        : undefined,
    );
    const outcomes = await Promise.allSettled(
      numbers.slice(0, 16).map((number) => store.write(file(`new/${number}`), upload(`${number}`))),
    );
    const refused = outcomes.flatMap((one, number) => (one.status === 'rejected' ? [{ number, ...one }] : []));
    assert.deepEqual(
      refused.map(({ number }) => number),
      [5, 12],
    );
    for (const { reason } of refused) {
      assert.ok(isStoreError(reason, 'invalid-request'));
      assert.match(reason.message, /malformed path component/);
    }
    assert.equal(Object.keys(await filesIn(repository)).length, 1 + 14);
    assert.ok(sent(host, POST_TREE).length < 20, `${sent(host, POST_TREE).length} trees`);
  });

  it('fails alone, however many changes were rejected before', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { gatherFor: 50 });
    host.intercept(({ route, body }) =>
      route === POST_TREE && JSON.stringify(body).includes('"path":"bad/')
        ? { status: 422, body: { message: 'tree.path contains a malformed path component' } }
        : undefined,
    );
    const write = (path: string) => store.write(file(path), upload(path));
    for (let batch = 0; batch < 2; batch++) {
      host.forget();
      const refused = await Promise.allSettled(numbers.map((number) => write(`bad/${number}`)));
      assert.ok(refused.every(({ status }) => status === 'rejected'));
      assert.ok(sent(host, POST_TREE).length < 50, `${sent(host, POST_TREE).length} trees`);
      const outcomes = await Promise.allSettled(['good1', 'bad/1', 'good2'].map((path) => write(`${path}${batch}`)));
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
    }
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'good10', 'good11', 'good20', 'good21']);
  });

  it('is avoided by splitting the batch when the host returns 413', async (t) => {
    const { store, host, repository } = await openRepository(t);
    host.intercept(({ route, body }) =>
      route === POST_TREE && JSON.stringify(body).length > 100_000
        ? { status: 413, body: 'Payload Too Large' }
        : undefined,
    );
    const text = 'x'.repeat(30_000);
    await Promise.all(numbers.slice(0, 8).map((number) => store.write(file(`new/${number}`), upload(text))));
    assert.equal(Object.keys(await filesIn(repository)).length, 9);
  });

  it('is dropped when it is aborted while queued, and committed when it is aborted while in progress', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const [requested, responded] = [event(), event()];
    host.intercept(async ({ route }) => {
      if (route !== PATCH_REF) return undefined;
      requested.happen();
      await responded.happened;
      return undefined;
    });
    const running = new AbortController();
    const waiting = new AbortController();
    const first = store.write(file('first'), upload('1'), { signal: running.signal });
    await requested.happened;
    const second = store.createFolder(folder('second'), { signal: waiting.signal });
    const third = store.write(file('third'), upload('3'));
    waiting.abort(new Error('no longer wanted'));
    running.abort(new Error('too late'));
    await assert.rejects(second, /no longer wanted/);
    responded.happen();
    await Promise.all([first, third]);
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'first', 'third']);
  });
});

/** A sha in the body of a request. */
function bodyOf({ body }: GitHubRequest, name: string): string {
  assert.ok(typeof body === 'object' && body !== null && name in body);
  return String(body[name as keyof typeof body]);
}
