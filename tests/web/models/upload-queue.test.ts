import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import { until } from '../../../testing/until.ts';
import { createTakenNames, type TakenNames } from '../../../web/src/model/name-conflicts.ts';
import { createPathLocks } from '../../../web/src/model/path-locks.ts';
import { countOtherConflicts, type QueueOptions, UploadQueue } from '../../../web/src/model/uploads/queue.ts';
import { UploadTotals } from '../../../web/src/model/uploads/totals.ts';
import type { QueuedItem } from '../../../web/src/model/uploads/upload-item.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';
import { fileItem, newBatch } from './upload-items.ts';

const nameTaken = () => refusal('name-taken', 'There is a file of this name.');
const stored = (item: QueuedItem) => ({ path: item.folder + item.storedName.value, etag: '"1"' });

/** Names that are known to be taken. Those in `listed` become known when the folder is listed. */
function namesOf(known: readonly string[] = [], listed: readonly string[] = []): TakenNames {
  const taken = new Set(known);
  return {
    isTaken: (folder, name) => taken.has(folder + name) || taken.has(`${folder}${name}/`),
    isFile: (folder, name) => taken.has(folder + name),
    take: (path) => void taken.add(path),
    async learn() {
      for (const path of listed) taken.add(path);
    },
    forget() {},
  };
}

function createScene(options: Partial<QueueOptions> = {}) {
  const totals = new UploadTotals();
  const queue = new UploadQueue({
    totals,
    pathLocks: createPathLocks(),
    names: namesOf(),
    send: async (item) => stored(item),
    rejectionOf: () => null,
    ask: async ({ name }) => assert.fail(`Unexpected question about "${name}".`),
    onStored() {},
    onUncertain() {},
    records: { add() {}, update() {}, forget() {} },
    ...options,
  });
  const idle = () => until('all uploads have ended', () => !totals.isBusy.value);
  const states = () => queue.items.value.map(({ state }) => state.value);
  return { queue, totals, idle, states };
}

describe('The upload queue', () => {
  it('sends three files at a time, in the order in which they were added', async () => {
    const open: { name: string; finish: () => void }[] = [];
    const { queue, idle } = createScene({
      send: (item) => new Promise((resolve) => open.push({ name: item.name, finish: () => resolve(stored(item)) })),
    });
    queue.add(['a', 'b', 'c', 'd', 'e'].map((name) => fileItem(name)));
    await until('files are sent', () => open.length > 0);
    assert.deepEqual(
      open.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
    open[1]?.finish();
    await until('the next file is sent', () => open.length === 4);
    assert.equal(open[3]?.name, 'd');
    for (let at = 0; at < 5; at++) {
      await until('the file is sent', () => open.length > at);
      open[at]?.finish();
    }
    await idle();
  });

  it('aborts a cancelled upload, and sends the file again on a retry', async () => {
    const signals: AbortSignal[] = [];
    const { queue, idle } = createScene({
      send: (item, ending) => {
        signals.push(ending);
        if (signals.length > 1) return Promise.resolve(stored(item));
        return new Promise((_resolve, reject) => ending.addEventListener('abort', () => reject(ending.reason)));
      },
    });
    const item = fileItem('a');
    queue.add([item]);
    await until('the file is sent', () => signals.length > 0);
    queue.cancel([item]);
    assert.equal(signals[0]?.aborted, true);
    assert.equal(item.state.value, 'cancelled');
    queue.retry([item]);
    await idle();
    assert.equal(item.state.value, 'done');
  });

  it('rejects a file that is too large without a request', async () => {
    const { queue, idle } = createScene({
      rejectionOf: ({ size }) => (size > 10 ? refusal('upload-too-large', 'Too large.') : null),
    });
    queue.add([fileItem('large', { size: 11 }), fileItem('small', { size: 10 })]);
    await idle();
    assert.deepEqual(
      queue.items.value.map(({ state, problem }) => [state.value, problem.value?.message]),
      [
        ['failed', 'Too large.'],
        ['done', undefined],
      ],
    );
  });

  it('uploads 10,000 files that were added together', async () => {
    const { queue, totals, idle } = createScene();
    const batch = newBatch();
    queue.add(Array.from({ length: 10_000 }, (_, index) => fileItem(`${index}`, { batch })));
    await idle();
    totals.publish();
    assert.equal(totals.summary.value.count.done, 10_000);
  });

  it('reports a stored file before the uploads end', async () => {
    const isBusy: boolean[] = [];
    const { queue, totals, idle } = createScene({ onStored: () => void isBusy.push(totals.isBusy.value) });
    queue.add([fileItem('a', { folder: 'album/' })]);
    await idle();
    assert.deepEqual(isBusy, [true]);
  });

  it('reports an uncertain outcome when an upload is cancelled or its response is lost', async () => {
    const uncertain: string[] = [];
    const { queue, totals, idle } = createScene({
      send: (item, ending) =>
        new Promise((_resolve, reject) => {
          ending.addEventListener('abort', () => reject(ending.reason));
          if (item.name === 'lost') item.uncertainAttempt = { name: 'lost', since: 0 };
          if (item.name !== 'cancelled') reject(new ServiceError(item.name === 'lost' ? 0 : 400, ''));
        }),
      onUncertain: ({ name }) => {
        assert.ok(totals.isBusy.value);
        uncertain.push(name);
      },
    });
    queue.add(['rejected', 'lost', 'cancelled', 'late'].map((name) => fileItem(name)));
    await until('the others have ended', () => queue.items.value[3]?.state.value === 'failed');
    queue.cancel(queue.items.value);
    await idle();
    assert.deepEqual(uncertain, ['lost', 'cancelled']);
  });
});

describe('The path lock of an upload', () => {
  it('delays a later change of the folder until the upload is done, failed or cancelled', async () => {
    const pathLocks = createPathLocks();
    const open: PromiseWithResolvers<void>[] = [];
    const { queue, states } = createScene({
      pathLocks,
      send: async (item, ending) => {
        const sending = Promise.withResolvers<void>();
        open.push(sending);
        ending.addEventListener('abort', () => sending.reject(ending.reason));
        await sending.promise;
        return stored(item);
      },
    });
    queue.add(['done', 'failing', 'cancelled', 'waiting'].map((name) => fileItem(name, { folder: 'in/' })));
    await until('three files are sent', () => open.length === 3);
    let isDeleted = false;
    const deleting = pathLocks.withLock({ written: ['in/'] }, async () => {
      isDeleted = true;
    });
    open[0]?.resolve();
    open[1]?.reject(refusal('invalid-request', 'No.'));
    queue.cancel(queue.items.value.slice(2, 3));
    await until('the next file is sent', () => open.length === 4);
    assert.equal(isDeleted, false);
    open[3]?.resolve();
    await deleting;
    assert.deepEqual(states(), ['done', 'failed', 'cancelled', 'done']);
  });

  it('waits for an earlier change of the folder, while files of other folders are sent', async () => {
    const pathLocks = createPathLocks();
    const deleting = Promise.withResolvers<void>();
    void pathLocks.withLock({ written: ['in/'] }, () => deleting.promise);
    const { queue, idle, states } = createScene({ pathLocks });
    queue.add([...['1', '2', '3'].map((name) => fileItem(name, { folder: 'in/' })), fileItem('elsewhere')]);
    await until('the file of the other folder is stored', () => queue.items.value[3]?.state.value === 'done');
    assert.equal(queue.items.value[0]?.state.value, 'waiting');
    deleting.resolve();
    await idle();
    assert.deepEqual(states(), ['done', 'done', 'done', 'done']);
  });

  it('fails the upload when the folder could not be renamed, so that no second folder appears', async () => {
    const pathLocks = createPathLocks();
    const renaming = Promise.withResolvers<void>();
    const failing = pathLocks.withLock({ written: ['in/', 'out/'] }, () => renaming.promise);
    const { queue, idle } = createScene({ pathLocks, send: async () => assert.fail('Unexpected upload.') });
    queue.add([fileItem('a', { folder: 'out/' })]);
    renaming.reject(new Error('It failed.'));
    await assert.rejects(failing);
    await idle();
    const [item] = queue.items.value;
    assert.equal(item?.state.value, 'failed');
    assert.equal(item?.problem.value?.code, 'folder-outdated');
  });
});

describe('The upload queue at a name conflict', () => {
  it('applies one choice to all files of a batch', async () => {
    const [first, second] = [newBatch(), newBatch()];
    const questions: string[] = [];
    const { queue, idle, states } = createScene({
      names: namesOf(['0', '1', '2', '3']),
      ask: async ({ name, batch }) => {
        questions.push(name);
        return { decision: batch === first ? 'replace' : 'skip', forAll: batch === first };
      },
    });
    queue.add([first, first, first, second].map((batch, index) => fileItem(`${index}`, { batch })));
    await idle();
    assert.deepEqual(questions, ['0', '3']);
    assert.deepEqual(states(), ['done', 'done', 'done', 'skipped']);
    assert.ok(queue.items.value.slice(0, 3).every(({ mayReplace }) => mayReplace));
  });

  it('shows the dialog again for a file that was cancelled and retried while it waited', async () => {
    const questions: string[] = [];
    const { queue, idle, states } = createScene({
      names: namesOf(['a', 'b']),
      ask: async ({ name }) => {
        questions.push(name);
        if (name === 'b') return { decision: 'replace', forAll: false };
        const retried = queue.items.value.filter((item) => item.name === 'b');
        queue.cancel(retried);
        queue.retry(retried);
        return { decision: 'skip', forAll: true };
      },
    });
    const batch = newBatch();
    queue.add(['a', 'b'].map((name) => fileItem(name, { batch })));
    await idle();
    assert.deepEqual(questions, ['a', 'b']);
    assert.deepEqual(states(), ['skipped', 'done']);
  });

  it('shows a dialog for each file, except for cancelled ones', async () => {
    const batch = newBatch();
    const questions: string[] = [];
    const { queue, idle, states } = createScene({
      names: namesOf(['a', 'b', 'c']),
      ask: async ({ name }) => {
        questions.push(name);
        queue.cancel(queue.items.value.filter((item) => item.name === 'b'));
        return { decision: 'skip', forAll: false };
      },
    });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name, { batch })));
    await idle();
    assert.deepEqual(questions, ['a', 'c']);
    assert.deepEqual(states(), ['skipped', 'cancelled', 'skipped']);
  });

  it('counts the other conflicts of the batch, also those that become known while the dialog is open', async () => {
    const batch = newBatch();
    const others: number[] = [];
    const names = namesOf(['a', 'b'], ['c', 'd']);
    const { promise: sent, resolve: send } = Promise.withResolvers<void>();
    const { queue, idle } = createScene({
      names,
      send: async (item) => {
        await sent;
        return stored(item);
      },
      ask: async (item) => {
        others.push(countOtherConflicts(item, queue.items.value, names));
        await names.learn('');
        others.push(countOtherConflicts(item, queue.items.value, names));
        send();
        return { decision: 'replace', forAll: true };
      },
    });
    const added = ['a', 'b', 'e', 'f', 'g', 'c', 'd'].map((name) => fileItem(name, { batch }));
    queue.add([...added, fileItem('b')]);
    await until('the first conflict is decided', () => others.length >= 2);
    await idle();
    assert.deepEqual(others.slice(0, 2), [1, 3]);
  });

  it('skips all files of the batch when the user cancels the dialog', async () => {
    let questions = 0;
    const { queue, idle, states } = createScene({
      names: namesOf(['a', 'b']),
      ask: async () => {
        questions++;
        return null;
      },
      send: async () => assert.fail('Unexpected upload.'),
    });
    const batch = newBatch();
    queue.add(['a', 'b'].map((name) => fileItem(name, { batch })));
    await idle();
    assert.equal(questions, 1);
    assert.deepEqual(states(), ['skipped', 'skipped']);
  });

  it('lets files without a conflict continue', async () => {
    const question = Promise.withResolvers<null>();
    const { queue } = createScene({ names: namesOf(['a']), ask: () => question.promise });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name)));
    await until('the others are done', () =>
      queue.items.value.every(({ name, state }) => name === 'a' || state.value === 'done'),
    );
    assert.equal(queue.items.value[0]?.state.value, 'conflict');
    question.resolve(null);
  });

  it('tries numbered names until the service accepts one', async () => {
    const taken = new Set(['cat.jpg', 'cat (2).jpg', 'cat (3).jpg']);
    const { queue, idle } = createScene({
      ask: async () => ({ decision: 'keep-both', forAll: false }),
      send: async (item) => {
        if (taken.has(item.storedName.value)) throw nameTaken();
        return stored(item);
      },
    });
    queue.add([fileItem('cat.jpg')]);
    await idle();
    assert.equal(queue.items.value[0]?.storedName.value, 'cat (4).jpg');
  });

  it('fails after 100 rejected names', async () => {
    const { queue, idle } = createScene({
      ask: async () => ({ decision: 'keep-both', forAll: false }),
      send: () => Promise.reject(nameTaken()),
    });
    queue.add([fileItem('cat.jpg')]);
    await idle();
    assert.equal(queue.items.value[0]?.problem.value?.status, 412);
    assert.equal(queue.items.value[0]?.storedName.value, 'cat (101).jpg');
  });

  it('replaces a file only if the user chose that', async () => {
    const sent: string[] = [];
    const { queue, idle } = createScene({
      names: namesOf(['a', 'b']),
      ask: async ({ name }) => ({ decision: name === 'a' ? 'replace' : 'keep-both', forAll: false }),
      send: async (item) => {
        sent.push(`${item.storedName.value} ${item.mayReplace}`);
        return stored(item);
      },
    });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name)));
    await idle();
    assert.deepEqual(sent.toSorted(), ['a true', 'b (2) false', 'c false']);
  });

  it('detects it without an upload once the folder has been listed', async () => {
    const names = namesOf([], ['photos/0', 'photos/7', 'photos/8', 'photos/9']);
    const sent: string[] = [];
    const { queue, idle } = createScene({
      names,
      ask: async () => ({ decision: 'skip', forAll: true }),
      send: async (item) => {
        sent.push(item.name);
        if (item.name === '0') throw nameTaken();
        return stored(item);
      },
    });
    const batch = newBatch();
    queue.add(Array.from({ length: 10 }, (_, index) => fileItem(`${index}`, { batch, folder: 'photos/' })));
    await idle();
    assert.deepEqual(sent, ['0', '1', '2', '3', '4', '5', '6']);
  });

  it('keeps both files under a name that no folder has either', async () => {
    const entries: readonly Entry[] = [
      { type: 'folder', name: 'a (2)', path: 'a (2)/' },
      { type: 'file', name: 'a', path: 'a', size: 1, modified: null, contentType: '', etag: '' },
    ];
    const shown = {
      path: signal(''),
      listing: signal('complete' as const),
      entryOf: (path: string) => entries.find((entry) => entry.path === path),
    };
    const list = () => assert.fail('Unexpected request for a listing.');
    const { queue, idle } = createScene({
      names: createTakenNames({ list }, shown),
      ask: async () => ({ decision: 'keep-both', forAll: false }),
    });
    queue.add([fileItem('a')]);
    await idle();
    assert.equal(queue.items.value[0]?.storedName.value, 'a (3)');
  });

  it('shows the dialog again on a retry, because the existing file can have changed', async () => {
    let questions = 0;
    const sent: boolean[] = [];
    const { queue, idle, states } = createScene({
      names: namesOf(['a']),
      ask: async () => {
        questions++;
        return { decision: questions === 1 ? 'replace' : 'skip', forAll: false };
      },
      send: async (item) => {
        sent.push(item.mayReplace);
        throw refusal('store-busy', 'Busy.');
      },
    });
    queue.add([fileItem('a')]);
    await idle();
    queue.retry(queue.items.value);
    await idle();
    assert.equal(questions, 2);
    assert.deepEqual(sent, [true]);
    assert.deepEqual(states(), ['skipped']);
  });

  it('sends a retry without a dialog when the first attempt might have stored the file', async () => {
    const names = namesOf();
    let sent = 0;
    const { queue, idle, states } = createScene({
      names,
      send: async (item) => {
        if (++sent > 1) return stored(item);
        item.uncertainAttempt = { name: 'a', since: Date.now() };
        names.take('a');
        throw new ServiceError(0, '');
      },
    });
    queue.add([fileItem('a')]);
    await idle();
    queue.retry(queue.items.value);
    await idle();
    assert.deepEqual(states(), ['done']);
  });

  it('does not rename a file that is retried while the folder is being listed', async () => {
    const listing = Promise.withResolvers<void>();
    const sending = Promise.withResolvers<void>();
    const { queue, idle, states } = createScene({
      names: { ...namesOf(['a']), learn: () => listing.promise },
      ask: async () => ({ decision: 'keep-both', forAll: false }),
      send: async (item) => {
        const sent = stored(item);
        await sending.promise;
        return sent;
      },
      onStored: (item, { path }) => assert.equal(path, item.storedName.value),
    });
    const item = fileItem('a');
    queue.add([item]);
    await until('the user has decided', () => item.mayRename);
    queue.cancel([item]);
    queue.retry([item]);
    await until('the file is sent', () => item.state.value === 'sending');
    listing.resolve();
    await listing.promise;
    sending.resolve();
    await idle();
    assert.deepEqual(states(), ['done']);
  });
});
