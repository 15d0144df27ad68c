import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batch, signal } from '@preact/signals';
import {
  createOperations,
  type Item,
  type ItemContext,
  type Operation,
} from '../../../web/src/model/changes/operations.ts';
import { createClipboard } from '../../../web/src/model/clipboard.ts';
import { applyChanges, createChangeLog } from '../../../web/src/model/folder/change-log.ts';
import { createPathLocks, type LockedPaths } from '../../../web/src/model/path-locks.ts';
import { freeName } from '../../../web/src/platform/free-name.ts';
import { findNameProblem } from '../../../web/src/platform/paths.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';

describe('A name', () => {
  const problem = (name: string, { folder = '', isFolder = false, taken = [] as readonly string[] } = {}) =>
    findNameProblem(name, { folder, isFolder, isTaken: (other) => taken.includes(other) });

  it('is rejected only if the service would reject it', () => {
    assert.equal(problem(''), 'empty');
    assert.equal(problem('a/b'), 'slash');
    assert.equal(problem('.'), 'dots');
    assert.equal(problem('..'), 'dots');
    assert.equal(problem('a\nb'), 'control');
    assert.equal(problem('\u007f'), 'control');
    assert.equal(problem('half \ud83c'), 'control');
    assert.equal(problem('a', { taken: ['a'] }), 'taken');
    for (const odd of [' ', ' a ', '...', '~', 'a\\b', 'CON', 'e\u0301', '\u202e', '🎉', 'x'.repeat(255)]) {
      assert.equal(problem(odd), undefined, JSON.stringify(odd));
    }
  });

  it('is limited in bytes, alone and together with its folder', () => {
    assert.equal(problem('é'.repeat(127)), undefined);
    assert.equal(problem('é'.repeat(128)), 'long');
    const folder = `${'x'.repeat(250)}/`.repeat(4);
    assert.equal(problem('y'.repeat(20), { folder }), undefined);
    assert.equal(problem('y'.repeat(20), { folder, isFolder: true }), 'deep');
  });

  it('gets its number before the extension, except for a folder', () => {
    const taken = new Set(['a.txt', 'a (2).txt', 'v1.2', 'x.tar.gz']);
    const isTaken = (name: string) => taken.has(name);
    assert.equal(freeName('a.txt', isTaken), 'a (3).txt');
    assert.equal(freeName('x.tar.gz', isTaken), 'x (2).tar.gz');
    assert.equal(freeName('v1.2', isTaken, true), 'v1.2 (2)');
    assert.equal(freeName('b.txt', isTaken), 'b.txt');
  });
});

describe('The clipboard', () => {
  it('keeps the paths of renamed and moved entries up to date, and removes deleted entries', () => {
    const clipboard = createClipboard();
    clipboard.put({ kind: 'move', paths: ['a/b.txt', 'ab.txt', 'c/'] });
    clipboard.remapPaths(new Map([['a/', 'z/']]));
    assert.deepEqual(clipboard.clip.value?.paths, ['z/b.txt', 'ab.txt', 'c/']);
    clipboard.remapPaths(new Map([['ab.txt', 'd.txt']]));
    assert.ok(clipboard.isCut('d.txt'));
    assert.ok(!clipboard.isCut('ab.txt'));
    clipboard.forget(['z/', 'c/']);
    assert.deepEqual(clipboard.clip.value?.paths, ['d.txt']);
    clipboard.forget(['d.txt']);
    assert.equal(clipboard.clip.value, null);
  });
});

describe('Path locks', () => {
  /** Returns the order in which changes of the given paths begin and end. */
  const order = async (...changes: readonly LockedPaths[]) => {
    const pathLocks = createPathLocks();
    const events: string[] = [];
    const work = changes.map((paths, index) =>
      pathLocks.withLock(paths, async () => {
        events.push(`begin ${index}`);
        await new Promise((resolve) => setImmediate(resolve));
        events.push(`end ${index}`);
      }),
    );
    await Promise.all(work);
    return events.join(', ');
  };
  const serial = 'begin 0, end 0, begin 1, end 1';
  const parallel = 'begin 0, begin 1, end 0, end 1';

  it('serialize changes of the same paths, and let other changes run in parallel', async () => {
    assert.equal(await order({ written: ['a'] }, { written: ['a'] }), serial);
    assert.equal(await order({ written: ['a/'] }, { written: ['a/b/c'] }), serial);
    assert.equal(await order({ written: ['a/b/c'] }, { written: ['a/'] }), serial);
    assert.equal(await order({ written: ['a/'] }, { written: ['ab/'] }), parallel);
    assert.equal(await order({ read: ['a/'], written: ['x'] }, { read: ['a/b'], written: ['y'] }), parallel);
    assert.equal(await order({ read: ['a/'], written: ['x'] }, { written: ['a/b'] }), serial);
  });

  it('are released when a change fails', async () => {
    const pathLocks = createPathLocks();
    const failing = pathLocks.withLock({ written: ['a'] }, () => Promise.reject(new Error('no')));
    const next = pathLocks.withLock({ written: ['a'] }, async () => 'done');
    await assert.rejects(failing, /no/);
    assert.equal(await next, 'done');
  });
});

describe('A change that waits for a failed one', () => {
  const pathLocks = createPathLocks();
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  /** Returns the uncertain ones of the paths after an earlier change failed to write some of its paths. */
  const uncertain = async (failed: readonly string[], paths: readonly string[]) => {
    const first = pathLocks.withLock({ written: ['a/b', 'c/'] }, async ({ fail }) => {
      await nextTick();
      fail(failed);
    });
    const second = pathLocks.withLock({ written: ['a/', 'c/d'] }, async ({ isUncertain }) => paths.filter(isUncertain));
    await first;
    return second;
  };

  it('learns that the failed paths and everything in them are uncertain, but not the folders around them', async () => {
    const paths = ['a/', 'a/b', 'a/bc', 'c/', 'c/d', 'c/d/e', 'cd'];
    assert.deepEqual(await uncertain([], paths), []);
    assert.deepEqual(await uncertain(['a/b'], paths), ['a/b']);
    assert.deepEqual(await uncertain(['c/'], paths), ['c/', 'c/d', 'c/d/e']);
    assert.deepEqual(await uncertain(['a/', 'c/d'], paths), [], 'the failed change had not locked these paths');
  });

  it('learns that all paths are uncertain when the work threw, unless it starts after the failure', async () => {
    const failing = pathLocks.withLock({ written: ['a'] }, () => Promise.reject(new Error('no')));
    const waiting = pathLocks.withLock({ written: ['a'] }, async ({ isUncertain }) => isUncertain('a'));
    await assert.rejects(failing, /no/);
    assert.equal(await waiting, true);
    assert.equal(await pathLocks.withLock({ written: ['a'] }, async ({ isUncertain }) => isUncertain('a')), false);
  });

  it('does not start after it was aborted, which later changes learn', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = pathLocks.withLock({ written: ['a'] }, () => promise);
    const leaving = new AbortController();
    const second = pathLocks.withLock({ written: ['a', 'b'] }, async () => assert.fail('It started.'), leaving.signal);
    const third = pathLocks.withLock({ written: ['b'] }, async ({ isUncertain }) => isUncertain('b'));
    leaving.abort();
    await assert.rejects(second, { name: 'AbortError' });
    assert.equal(await third, true);
    resolve();
    await first;
  });
});

describe('The change log', () => {
  const file = (path: string, etag = ''): Entry => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return { type: 'file', path, name, size: 1, modified: null, contentType: 'text/plain', etag };
  };
  const compareNames = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
  const shown = (entries: readonly Entry[], changes: Parameters<typeof applyChanges>[1], folder = '') =>
    applyChanges(entries, changes, { folder, compareNames }).map(({ path }) => path);

  it('applies changes to the read entries in their order', () => {
    const read = [file('a'), file('b'), file('c')];
    assert.deepEqual(shown(read, [{ removed: ['b'], added: [file('bb')] }]), ['a', 'bb', 'c']);
    assert.deepEqual(shown(read, [{ added: [file('d')] }, { removed: ['d'] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown(read, [{ removed: ['a'] }, { added: [file('a')] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown(read, [{ added: [file('x/d')], removed: ['x/a'] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown([file('x/a')], [{ added: [file('x/d')], removed: ['x/a'] }], 'x/'), ['x/d']);
  });

  it('removes the changes that were committed before a listing was requested, and keeps all others', () => {
    let idle = 0;
    const log = createChangeLog(() => idle++);
    const early = log.begin({ removed: ['early'] });
    const open = log.begin({ removed: ['open'] });
    early.commit();
    const requestedAt = log.now();
    log.begin({ removed: ['late'] }).commit();
    log.begin({ removed: ['refused'] }).rollback();
    assert.equal(log.hasPending, true);
    assert.deepEqual(
      log.removeCommitted(requestedAt).map(({ removed }) => removed),
      [['early']],
    );
    assert.deepEqual(
      log.changes.value.map(({ removed }) => removed),
      [['open'], ['late']],
    );
    assert.equal(idle, 0);
    open.commit();
    open.rollback();
    assert.equal(idle, 1);
    assert.equal(log.changes.value.length, 2);
    assert.equal(log.removeCommitted(Number.POSITIVE_INFINITY).length, 2);
  });

  it('begins and rolls back tens of thousands of changes quickly', () => {
    const log = createChangeLog(() => {});
    batch(() => {
      const pending = Array.from({ length: 30_000 }, (_, index) => log.begin({ removed: [`${index}`] }));
      assert.equal(log.changes.value.length, 30_000);
      for (const change of pending) change.rollback();
    });
    assert.equal(log.changes.value.length, 0);
  });
});

describe('An operation', () => {
  const operations = (running = signal<readonly Operation[]>([]), pathLocks = createPathLocks()) =>
    createOperations({ running, pathLocks, dependencyError: () => new ServiceError(424, 'An earlier change failed.') });

  it('works on at most four items in parallel, and returns the result of each', async () => {
    const { perform } = operations();
    let active = 0;
    let maxActive = 0;
    const items = Array.from({ length: 10 }, (_, index) => ({ path: `${index}` }));
    const work = async ({ path }: Item, { stop }: ItemContext) => {
      maxActive = Math.max(maxActive, ++active);
      await new Promise((resolve) => setImmediate(resolve));
      active--;
      if (path === '1') throw refusal('internal-error', 'no');
      if (path === '5') stop();
      return path;
    };
    const outcome = await perform(items, { title: 'Trying', paths: { written: [] }, work });
    assert.equal(maxActive, 4);
    assert.deepEqual(
      outcome.failed.map(({ item }) => item.path),
      ['1'],
    );
    assert.ok(outcome.notStarted.length > 0 && outcome.interrupted.length === 0);
    assert.equal(outcome.done.length + outcome.failed.length + outcome.notStarted.length, 10);
  });

  it('is shown after a moment, sums up the progress, and cancels only the work on folders', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const running = signal<readonly Operation[]>([]);
    const { perform } = operations(running);
    const working = new Map<string, { finish: () => void }>();
    const items = [{ path: 'file', size: 5 }, { path: 'folder/' }];
    const work = ({ path }: Item, { signal: cancelled, onProgress }: ItemContext) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      cancelled?.addEventListener('abort', () => reject(cancelled.reason));
      working.set(path, { finish: resolve });
      if (path === 'folder/') onProgress({ done: 3, total: 10, bytes: 30 });
      return promise;
    };
    const outcome = perform(items, { title: 'Trying', paths: { written: [] }, work });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(running.value.length, 0);
    t.mock.timers.tick(400);
    const [operation] = running.value;
    assert.deepEqual(operation?.progress.value, { done: 3, total: 11, bytes: 30 });
    operation?.cancel();
    working.get('file')?.finish();
    const { done, interrupted } = await outcome;
    assert.deepEqual([done.map(({ item }) => item.path), interrupted.map(({ path }) => path)], [['file'], ['folder/']]);
    assert.equal(running.value.length, 0);
  });

  it('does not start items whose earlier change failed', async () => {
    const pathLocks = createPathLocks();
    const { perform } = operations(signal<readonly Operation[]>([]), pathLocks);
    const started: string[] = [];
    const plan = (written: readonly string[]) => ({
      title: 'Trying',
      paths: { written },
      work: async ({ path }: Item) => {
        started.push(path);
        await new Promise((resolve) => setImmediate(resolve));
        if (path === 'draft') throw refusal('already-exists', 'taken');
      },
    });
    const rename = perform([{ path: 'draft', destination: 'notes' }], plan(['draft', 'notes']));
    const removal = perform([{ path: 'notes' }, { path: 'other' }], plan(['notes', 'other']));
    const later = perform([{ path: 'notes' }], plan(['notes']));
    assert.equal((await rename).failed[0]?.error.status, 409);
    const { failed, done } = await removal;
    assert.deepEqual([failed[0]?.item.path, failed[0]?.error.status], ['notes', 424]);
    assert.deepEqual(
      done.map(({ item }) => item.path),
      ['other'],
    );
    assert.equal((await later).failed[0]?.error.status, 424);
    assert.deepEqual(started, ['draft', 'other']);
  });

  it('starts nothing when it is cancelled while it waits for an earlier change', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const pathLocks = createPathLocks();
    const running = signal<readonly Operation[]>([]);
    const { perform } = operations(running, pathLocks);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = pathLocks.withLock({ written: ['a'] }, () => promise);
    const work = async () => assert.fail('It started.');
    const outcome = perform([{ path: 'a' }], { title: 'Trying', paths: { written: ['a'] }, work });
    t.mock.timers.tick(400);
    running.value[0]?.cancel();
    assert.deepEqual((await outcome).notStarted, [{ path: 'a' }]);
    assert.equal(running.value.length, 0);
    resolve();
    await first;
  });
});
