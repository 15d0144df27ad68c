import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batch, signal } from '@preact/signals';
import { findNameProblem } from '../../../web/src/model/changes/names.ts';
import {
  createOperations,
  type Item,
  type ItemContext,
  type Operation,
} from '../../../web/src/model/changes/operations.ts';
import { createClipboard } from '../../../web/src/model/clipboard.ts';
import { applyChanges, createChangeLog } from '../../../web/src/model/folder/change-log.ts';
import { createPathLocks } from '../../../web/src/model/path-locks.ts';
import { freeName } from '../../../web/src/platform/paths.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';

describe('A name', () => {
  const problem = (name: string, { folder = '', isFolder = false, taken = [] as readonly string[] } = {}) =>
    findNameProblem(name, { folder, isFolder, isTaken: (other) => taken.includes(other) });

  it('is refused for what the service would refuse, and for nothing else', () => {
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

  it('is measured in bytes, alone and with its folder', () => {
    assert.equal(problem('é'.repeat(127)), undefined);
    assert.equal(problem('é'.repeat(128)), 'long');
    const folder = `${'x'.repeat(250)}/`.repeat(4);
    assert.equal(problem('y'.repeat(20), { folder }), undefined);
    assert.equal(problem('y'.repeat(20), { folder, isFolder: true }), 'deep');
  });

  it('is numbered before the extension, which folders have none of', () => {
    const taken = new Set(['a.txt', 'a (2).txt', 'v1.2', 'x.tar.gz']);
    const isTaken = (name: string) => taken.has(name);
    assert.equal(freeName('a.txt', isTaken), 'a (3).txt');
    assert.equal(freeName('x.tar.gz', isTaken), 'x (2).tar.gz');
    assert.equal(freeName('v1.2', isTaken, true), 'v1.2 (2)');
    assert.equal(freeName('b.txt', isTaken), 'b.txt');
  });
});

describe('The clipboard', () => {
  it('follows what is renamed or moved, and forgets what is deleted', () => {
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

describe('Changes of the same', () => {
  const order = async (...changes: readonly Parameters<ReturnType<typeof createPathLocks>['withLock']>[0][]) => {
    const pathLocks = createPathLocks();
    const told: string[] = [];
    const work = changes.map((touched, index) =>
      pathLocks.withLock(touched, async () => {
        told.push(`begin ${index}`);
        await new Promise((resolve) => setImmediate(resolve));
        told.push(`end ${index}`);
      }),
    );
    await Promise.all(work);
    return told.join(', ');
  };
  const apart = 'begin 0, end 0, begin 1, end 1';
  const together = 'begin 0, begin 1, end 0, end 1';

  it('come one after the other, others do not wait', async () => {
    assert.equal(await order({ written: ['a'] }, { written: ['a'] }), apart);
    assert.equal(await order({ written: ['a/'] }, { written: ['a/b/c'] }), apart);
    assert.equal(await order({ written: ['a/b/c'] }, { written: ['a/'] }), apart);
    assert.equal(await order({ written: ['a/'] }, { written: ['ab/'] }), together);
    assert.equal(await order({ read: ['a/'], written: ['x'] }, { read: ['a/b'], written: ['y'] }), together);
    assert.equal(await order({ read: ['a/'], written: ['x'] }, { written: ['a/b'] }), apart);
  });

  it('go on after one that failed', async () => {
    const pathLocks = createPathLocks();
    const failing = pathLocks.withLock({ written: ['a'] }, () => Promise.reject(new Error('no')));
    const next = pathLocks.withLock({ written: ['a'] }, async () => 'done');
    await assert.rejects(failing, /no/);
    assert.equal(await next, 'done');
  });
});

describe('What waited for a change that failed', () => {
  const pathLocks = createPathLocks();
  const nextTick = () => new Promise((resolve) => setImmediate(resolve));
  const uncertain = async (failed: readonly string[], paths: readonly string[]) => {
    const first = pathLocks.withLock({ written: ['a/b', 'c/'] }, async ({ fail }) => {
      await nextTick();
      fail(failed);
    });
    const second = pathLocks.withLock({ written: ['a/', 'c/d'] }, async ({ isUncertain }) => paths.filter(isUncertain));
    await first;
    return second;
  };

  it('learns of it, for what is at its paths and in its folders, not for what is around them', async () => {
    const paths = ['a/', 'a/b', 'a/bc', 'c/', 'c/d', 'c/d/e', 'cd'];
    assert.deepEqual(await uncertain([], paths), []);
    assert.deepEqual(await uncertain(['a/b'], paths), ['a/b']);
    assert.deepEqual(await uncertain(['c/'], paths), ['c/', 'c/d', 'c/d/e']);
    assert.deepEqual(await uncertain(['a/', 'c/d'], paths), [], 'these were not written by the one that failed');
  });

  it('learns of all that was to be written by work that threw, and nothing once that is over', async () => {
    const failing = pathLocks.withLock({ written: ['a'] }, () => Promise.reject(new Error('no')));
    const waiting = pathLocks.withLock({ written: ['a'] }, async ({ isUncertain }) => isUncertain('a'));
    await assert.rejects(failing, /no/);
    assert.equal(await waiting, true);
    assert.equal(await pathLocks.withLock({ written: ['a'] }, async ({ isUncertain }) => isUncertain('a')), false);
  });

  it('is not begun once it is given up, and those that wait for it learn that', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = pathLocks.withLock({ written: ['a'] }, () => promise);
    const leaving = new AbortController();
    const second = pathLocks.withLock({ written: ['a', 'b'] }, async () => assert.fail('begun'), leaving.signal);
    const third = pathLocks.withLock({ written: ['b'] }, async ({ isUncertain }) => isUncertain('b'));
    leaving.abort();
    await assert.rejects(second, { name: 'AbortError' });
    assert.equal(await third, true);
    resolve();
    await first;
  });
});

describe('The log of changes', () => {
  const file = (path: string, etag = ''): Entry => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return { type: 'file', path, name, size: 1, modified: null, contentType: 'text/plain', etag };
  };
  const compareNames = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
  const shown = (entries: readonly Entry[], changes: Parameters<typeof applyChanges>[1], folder = '') =>
    applyChanges(entries, changes, { folder, compareNames }).map(({ path }) => path);

  it('puts changes on top of what was read, in their order', () => {
    const read = [file('a'), file('b'), file('c')];
    assert.deepEqual(shown(read, [{ removed: ['b'], added: [file('bb')] }]), ['a', 'bb', 'c']);
    assert.deepEqual(shown(read, [{ added: [file('d')] }, { removed: ['d'] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown(read, [{ removed: ['a'] }, { added: [file('a')] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown(read, [{ added: [file('x/d')], removed: ['x/a'] }]), ['a', 'b', 'c']);
    assert.deepEqual(shown([file('x/a')], [{ added: [file('x/d')], removed: ['x/a'] }], 'x/'), ['x/d']);
  });

  it('keeps what was done after a reading began, and what is not answered', () => {
    let settled = 0;
    const log = createChangeLog(() => settled++);
    const early = log.begin({ removed: ['early'] });
    const open = log.begin({ removed: ['open'] });
    early.commit();
    const reading = log.now();
    log.begin({ removed: ['late'] }).commit();
    log.begin({ removed: ['refused'] }).rollback();
    assert.equal(log.hasPending, true);
    assert.deepEqual(
      log.removeCommitted(reading).map(({ removed }) => removed),
      [['early']],
    );
    assert.deepEqual(
      log.changes.value.map(({ removed }) => removed),
      [['open'], ['late']],
    );
    assert.equal(settled, 0);
    open.commit();
    open.rollback();
    assert.equal(settled, 1);
    assert.equal(log.changes.value.length, 2);
    assert.equal(log.removeCommitted(Number.POSITIVE_INFINITY).length, 2);
  });

  it('takes tens of thousands of changes one by one, and back', () => {
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
    createOperations({ running, pathLocks, dependencyError: () => new ServiceError(424, 'not begun') });

  it('works on a few at once, and tells what became of each', async () => {
    const { perform } = operations();
    let atOnce = 0;
    let most = 0;
    const items = Array.from({ length: 10 }, (_, index) => ({ path: `${index}` }));
    const work = async ({ path }: Item, { stop }: ItemContext) => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
      if (path === '1') throw refusal('internal-error', 'no');
      if (path === '5') stop();
      return path;
    };
    const outcome = await perform(items, { title: 'Trying', paths: { written: [] }, work });
    assert.equal(most, 4);
    assert.deepEqual(
      outcome.failed.map(({ item }) => item.path),
      ['1'],
    );
    assert.ok(outcome.notStarted.length > 0 && outcome.interrupted.length === 0);
    assert.equal(outcome.done.length + outcome.failed.length + outcome.notStarted.length, 10);
  });

  it('is shown after a moment, sums up its progress, and cancels the work on folders alone', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const running = signal<readonly Operation[]>([]);
    const { perform } = operations(running);
    const waiting = new Map<string, { finish: () => void }>();
    const items = [{ path: 'file', size: 5 }, { path: 'folder/' }];
    const work = ({ path }: Item, { signal: cancelled, onProgress }: ItemContext) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      cancelled?.addEventListener('abort', () => reject(cancelled.reason));
      waiting.set(path, { finish: resolve });
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
    waiting.get('file')?.finish();
    const { done, interrupted } = await outcome;
    assert.deepEqual([done.map(({ item }) => item.path), interrupted.map(({ path }) => path)], [['file'], ['folder/']]);
    assert.equal(running.value.length, 0);
  });

  it('does not begin what an earlier one left undone', async () => {
    const pathLocks = createPathLocks();
    const { perform } = operations(signal<readonly Operation[]>([]), pathLocks);
    const begun: string[] = [];
    const plan = (written: readonly string[]) => ({
      title: 'Trying',
      paths: { written },
      work: async ({ path }: Item) => {
        begun.push(path);
        await new Promise((resolve) => setImmediate(resolve));
        if (path === 'draft') throw refusal('already-exists', 'taken');
      },
    });
    const rename = perform([{ path: 'draft', destination: 'notes' }], plan(['draft', 'notes']));
    const removal = perform([{ path: 'notes' }, { path: 'other' }], plan(['notes', 'other']));
    const afterwards = perform([{ path: 'notes' }], plan(['notes']));
    assert.equal((await rename).failed[0]?.error.status, 409);
    const { failed, done } = await removal;
    assert.deepEqual([failed[0]?.item.path, failed[0]?.error.status], ['notes', 424]);
    assert.deepEqual(
      done.map(({ item }) => item.path),
      ['other'],
    );
    assert.equal((await afterwards).failed[0]?.error.status, 424);
    assert.deepEqual(begun, ['draft', 'other']);
  });

  it('is cancelled while it waits for its turn, and begins nothing', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const pathLocks = createPathLocks();
    const running = signal<readonly Operation[]>([]);
    const { perform } = operations(running, pathLocks);
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = pathLocks.withLock({ written: ['a'] }, () => promise);
    const work = async () => assert.fail('begun');
    const outcome = perform([{ path: 'a' }], { title: 'Trying', paths: { written: ['a'] }, work });
    t.mock.timers.tick(400);
    running.value[0]?.cancel();
    assert.deepEqual((await outcome).notStarted, [{ path: 'a' }]);
    assert.equal(running.value.length, 0);
    resolve();
    await first;
  });
});
