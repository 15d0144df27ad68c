import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal as createSignal } from '@preact/signals';
import { until } from '../../../testing/until.ts';
import { createTurns } from '../../../web/src/model/path-locks.ts';
import { createTakenNames, type TakenNames } from '../../../web/src/model/folder/taken-names.ts';
import type { Entry, FileEntry } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createConflicts } from '../../../web/src/model/uploads/conflicts.ts';
import { countOtherConflicts, createQueue, type QueueOptions } from '../../../web/src/model/uploads/queue.ts';
import { createReadings } from '../../../web/src/model/uploads/readings.ts';
import { createSending } from '../../../web/src/model/uploads/sending.ts';
import { createSpeedometer, secondsLeft } from '../../../web/src/model/uploads/speed.ts';
import { createTally } from '../../../web/src/model/uploads/tally.ts';
import { type Batch, createItem, type QueuedItem } from '../../../web/src/model/uploads/upload-item.ts';
import { refusal } from './service-errors.ts';

const newBatch = (): Batch => ({ decision: null });

function fileItem(name: string, { size = 4, batch = newBatch(), folder = '' } = {}): QueuedItem {
  return createItem({ folder, name, file: new File([new Uint8Array(size)], name) }, batch);
}

const nameTaken = () => refusal('name-taken', 'There is a file of this name.');
const stored = (item: QueuedItem) => ({ path: item.folder + item.storedName.value, etag: '"1"' });

/** Names as the service has them; those that are `known` are known before anything is sent. */
function namesOf(known: readonly string[] = [], listed: readonly string[] = []): TakenNames & { learnt: number } {
  const taken = new Set(known);
  return {
    learnt: 0,
    isTaken: (folder, name) => taken.has(folder + name) || taken.has(`${folder}${name}/`),
    isFile: (folder, name) => taken.has(folder + name),
    take: (path) => void taken.add(path),
    async learn() {
      this.learnt++;
      for (const path of listed) taken.add(path);
    },
    forget() {},
  };
}

function queueOf(options: Partial<QueueOptions>) {
  const tally = createTally();
  const queue = createQueue({
    tally,
    turns: createTurns(),
    names: namesOf(),
    send: async (item) => stored(item),
    refuse: () => null,
    ask: async () => assert.fail('Nobody was to be asked.'),
    onStored() {},
    onUncertain() {},
    ...options,
  });
  const settled = () => until('all uploads have ended', () => !tally.isBusy.value);
  return { queue, tally, settled };
}

describe('The speed of uploads', () => {
  it('is that of the last few seconds', () => {
    const speedometer = createSpeedometer();
    for (let second = 0; second <= 20; second++) speedometer.record(second * 1000, second * 100);
    for (let second = 21; second <= 30; second++) speedometer.record(second * 1000, 2000 + (second - 20) * 5000);
    assert.equal(speedometer.speed(), 5000);
  });

  it('is told neither before there is enough to tell it by nor after a pause', () => {
    const speedometer = createSpeedometer();
    speedometer.record(0, 0);
    speedometer.record(400, 1000);
    assert.equal(speedometer.speed(), null);
    speedometer.record(1000, 3000);
    assert.equal(speedometer.speed(), 3000);
    speedometer.reset();
    assert.equal(speedometer.speed(), null);
  });

  it('falls to nothing where nothing moves, and no time is told then', () => {
    const speedometer = createSpeedometer();
    for (let second = 0; second <= 10; second++) speedometer.record(second * 1000, Math.min(second, 2) * 1000);
    assert.equal(speedometer.speed(), 0);
    assert.equal(secondsLeft(5000, 0), null);
    assert.equal(secondsLeft(5000, null), null);
    assert.equal(secondsLeft(5000, 250), 20);
  });
});

describe('The sum of uploads', () => {
  it('leaves out what failed, was cancelled or skipped, and begins anew with what is tried again', () => {
    const tally = createTally();
    const [done, failing, cancelled, skipped] = ['a', 'b', 'c', 'd'].map((name) => fileItem(name, { size: 100 }));
    assert.ok(done && failing && cancelled && skipped);
    const read = () => {
      tally.publish();
      const { sent, total, part } = tally.summary.value;
      return { sent, total, part };
    };
    for (const item of [done, failing, cancelled, skipped]) tally.add(item);
    assert.deepEqual(read(), { sent: 0, total: 400, part: 0 });

    for (const item of [done, failing, cancelled]) tally.move(item, 'sending');
    for (const item of [done, failing, cancelled]) tally.send(item, 60);
    assert.deepEqual(read(), { sent: 180, total: 400, part: 0.45 });

    tally.move(done, 'done');
    tally.move(failing, 'failed');
    tally.move(cancelled, 'cancelled');
    tally.move(skipped, 'skipped');
    assert.deepEqual(read(), { sent: 100, total: 100, part: 1 });
    assert.equal(tally.isBusy.value, false);

    tally.move(failing, 'waiting');
    assert.deepEqual(read(), { sent: 100, total: 200, part: 0.5 });
    assert.equal(failing.sent.value, 0);
    assert.equal(tally.isBusy.value, true);
  });

  it('counts files where they have no bytes', () => {
    const tally = createTally();
    const items = ['a', 'b', 'c', 'd'].map((name) => fileItem(name, { size: 0 }));
    for (const item of items) tally.add(item);
    for (const item of items.slice(0, 3)) tally.move(item, 'done');
    tally.publish();
    assert.equal(tally.summary.value.part, 0.75);
  });

  it('tells the time that is left of what moves, not of what waits for an answer', () => {
    let time = 0;
    const tally = createTally(() => time);
    const [sending, requesting] = [fileItem('a', { size: 3000 }), fileItem('b', { size: 90_000 })];
    for (const item of [sending, requesting]) tally.add(item);
    tally.move(requesting, 'asking');
    tally.move(sending, 'sending');
    tally.publish();
    time = 2000;
    tally.send(sending, 1000);
    tally.publish();
    assert.equal(tally.summary.value.speed, 500);
    assert.equal(tally.summary.value.secondsLeft, 4);
    tally.move(sending, 'done');
  });
});

describe('A name that is taken', () => {
  it('is asked about once for all that were added together, and for no others', async () => {
    const [first, second] = [newBatch(), newBatch()];
    const items = [first, first, first, second].map((batch, index) => fileItem(`${index}`, { batch }));
    const requested: string[] = [];
    const decided: string[] = [];
    const conflicts = createConflicts({
      ask: async (item) => {
        requested.push(item.name);
        return { decision: item.batch === first ? 'replace' : 'skip', forAll: item.batch === first };
      },
      onDecided: (item, decision) => {
        item.state.value = 'waiting';
        decided.push(`${item.name} ${decision}`);
      },
    });
    for (const item of items) {
      item.state.value = 'asking';
      conflicts.add(item);
    }
    await until('all are decided', () => decided.length === 4);
    assert.deepEqual(requested, ['0', '3']);
    assert.deepEqual(decided, ['0 replace', '1 replace', '2 replace', '3 skip']);
  });

  it('is asked about again for each where the answer was not for all, but not once it is cancelled', async () => {
    const batch = newBatch();
    const requested: string[] = [];
    const { queue, settled } = queueOf({
      names: namesOf(['a', 'b', 'c']),
      ask: async ({ name }) => {
        requested.push(name);
        queue.cancel(queue.items.value.filter((item) => item.name === 'b'));
        return { decision: 'skip', forAll: false };
      },
    });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name, { batch })));
    await settled();
    assert.deepEqual(requested, ['a', 'c']);
    assert.deepEqual(
      queue.items.value.map(({ state }) => state.value),
      ['skipped', 'cancelled', 'skipped'],
    );
  });

  it('counts the other conflicts, and not the uploads that have none', async () => {
    const batch = newBatch();
    const others: number[] = [];
    const names = namesOf(['a', 'b'], ['c', 'd']);
    const { promise: sent, resolve: send } = Promise.withResolvers<void>();
    const { queue, settled } = queueOf({
      names,
      send: async (item) => {
        await sent;
        return stored(item);
      },
      ask: async (item) => {
        others.push(countOtherConflicts(item, queue.items.value, names));
        // What the folder has is learnt while the first question is open.
        await names.learn('');
        others.push(countOtherConflicts(item, queue.items.value, names));
        send();
        return { decision: 'replace', forAll: true };
      },
    });
    const added = ['a', 'b', 'e', 'f', 'g', 'c', 'd'].map((name) => fileItem(name, { batch }));
    queue.add([...added, fileItem('b', { folder: '' })]);
    await until('the first is decided', () => others.length >= 2);
    await settled();
    assert.deepEqual(others.slice(0, 2), [1, 3]);
  });

  it('leaves all as it is where the question is left', async () => {
    let questions = 0;
    const { queue, settled } = queueOf({
      names: namesOf(['a', 'b']),
      ask: async () => {
        questions++;
        return null;
      },
      send: async () => assert.fail('Nothing was to be sent.'),
    });
    const batch = newBatch();
    queue.add(['a', 'b'].map((name) => fileItem(name, { batch })));
    await settled();
    assert.equal(questions, 1);
    assert.ok(queue.items.value.every(({ state }) => state.value === 'skipped'));
  });

  it('holds up nothing else', async () => {
    const question = Promise.withResolvers<null>();
    const { queue } = queueOf({ names: namesOf(['a']), ask: () => question.promise });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name)));
    await until('the others are done', () =>
      queue.items.value.every(({ name, state }) => name === 'a' || state.value === 'done'),
    );
    assert.equal(queue.items.value[0]?.state.value, 'asking');
    question.resolve(null);
  });

  it('gets a number that is free by the service’s own word', async () => {
    const there = new Set(['cat.jpg', 'cat (2).jpg', 'cat (3).jpg']);
    const { queue, settled } = queueOf({
      ask: async () => ({ decision: 'keep-both', forAll: false }),
      send: async (item) => {
        if (there.has(item.storedName.value)) throw nameTaken();
        return stored(item);
      },
    });
    queue.add([fileItem('cat.jpg')]);
    await settled();
    assert.equal(queue.items.value[0]?.storedName.value, 'cat (4).jpg');
  });

  it('fails when the service refuses one free name after another', async () => {
    const { queue, settled } = queueOf({
      ask: async () => ({ decision: 'keep-both', forAll: false }),
      send: () => Promise.reject(nameTaken()),
    });
    queue.add([fileItem('cat.jpg')]);
    await settled();
    assert.equal(queue.items.value[0]?.problem.value?.status, 412);
    assert.equal(queue.items.value[0]?.storedName.value, 'cat (101).jpg');
  });

  it('is replaced only where a person said so', async () => {
    const sent: string[] = [];
    const { queue, settled } = queueOf({
      names: namesOf(['a', 'b']),
      ask: async ({ name }) => ({ decision: name === 'a' ? 'replace' : 'keep-both', forAll: false }),
      send: async (item) => {
        sent.push(`${item.storedName.value} ${item.mayReplace}`);
        return stored(item);
      },
    });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name)));
    await settled();
    assert.deepEqual(sent.toSorted(), ['a true', 'b (2) false', 'c false']);
  });

  it('is not sent in vain once it is known which there are', async () => {
    const names = namesOf([], ['photos/0', 'photos/7', 'photos/8', 'photos/9']);
    const sent: string[] = [];
    const { queue, settled } = queueOf({
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
    await settled();
    assert.deepEqual(sent, ['0', '1', '2', '3', '4', '5', '6']);
  });
});

describe('Folders that are read', () => {
  it('are told of until the last of them is', () => {
    const readings = createReadings();
    assert.equal(readings.found.value, null);
    const [first, second] = [readings.begin(), readings.begin()];
    first.find(3);
    second.find(4);
    second.find(5);
    assert.equal(readings.found.value, 8);
    first.end();
    assert.equal(readings.found.value, 5);
    second.end();
    assert.equal(readings.found.value, null);
  });
});

describe('The queue of uploads', () => {
  it('sends three at a time, in their order', async () => {
    const open: { name: string; finish: () => void }[] = [];
    const { queue, settled } = queueOf({
      send: (item) => new Promise((resolve) => open.push({ name: item.name, finish: () => resolve(stored(item)) })),
    });
    queue.add(['a', 'b', 'c', 'd', 'e'].map((name) => fileItem(name)));
    await until('they are sent', () => open.length > 0);
    assert.deepEqual(
      open.map(({ name }) => name),
      ['a', 'b', 'c'],
    );
    open[1]?.finish();
    await until('the next one is sent', () => open.length === 4);
    assert.equal(open[3]?.name, 'd');
    for (let at = 0; at < 5; at++) {
      await until('it is sent', () => open.length > at);
      open[at]?.finish();
    }
    await settled();
  });

  it('ends what is cancelled, and sends it again where it is retried', async () => {
    const signals: AbortSignal[] = [];
    const { queue, settled } = queueOf({
      send: (item, signal) => {
        signals.push(signal);
        if (signals.length > 1) return Promise.resolve(stored(item));
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    queue.add([fileItem('a')]);
    const item = queue.items.value[0];
    assert.ok(item);
    await until('it is sent', () => signals.length > 0);
    queue.cancel([item]);
    assert.equal(signals[0]?.aborted, true);
    assert.equal(item.state.value, 'cancelled');
    queue.retry([item]);
    await settled();
    assert.equal(item.state.value, 'done');
  });

  it('refuses at once what can’t be taken, without sending it', async () => {
    const { queue, settled } = queueOf({
      refuse: ({ size }) => (size > 10 ? refusal('upload-too-large', 'Too large.') : null),
    });
    queue.add([fileItem('large', { size: 11 }), fileItem('small', { size: 10 })]);
    await settled();
    assert.deepEqual(
      queue.items.value.map(({ state, problem }) => [state.value, problem.value?.message]),
      [
        ['failed', 'Too large.'],
        ['done', undefined],
      ],
    );
  });

  it('takes 10,000 files at once', async () => {
    const { queue, tally, settled } = queueOf({});
    const batch = newBatch();
    const items = Array.from({ length: 10_000 }, (_, index) => fileItem(`${index}`, { batch }));
    queue.add(items);
    await settled();
    tally.publish();
    assert.equal(tally.summary.value.count.done, 10_000);
  });
});

describe('The turn of an upload', () => {
  it('lets a change of its folder wait until it has ended, whichever way it does', async () => {
    const turns = createTurns();
    const open: PromiseWithResolvers<void>[] = [];
    const { queue } = queueOf({
      turns,
      send: async (item, signal) => {
        const sending = Promise.withResolvers<void>();
        open.push(sending);
        signal.addEventListener('abort', () => sending.reject(signal.reason));
        await sending.promise;
        return stored(item);
      },
    });
    queue.add(['done', 'failing', 'cancelled', 'waiting'].map((name) => fileItem(name, { folder: 'in/' })));
    await until('they are sent', () => open.length === 3);
    let isDeleted = false;
    const deleting = turns.inTurn({ written: ['in/'] }, async () => {
      isDeleted = true;
    });
    const [first, second, third, fourth] = queue.items.value;
    assert.ok(first && second && third && fourth);
    open[0]?.resolve();
    open[1]?.reject(refusal('invalid-request', 'No.'));
    queue.cancel([third]);
    await until('the next one is sent', () => open.length === 4);
    assert.equal(isDeleted, false);
    open[3]?.resolve();
    await deleting;
    assert.deepEqual(
      queue.items.value.map(({ state }) => state.value),
      ['done', 'failed', 'cancelled', 'done'],
    );
  });

  it('comes after the changes that were asked for before, and others are sent meanwhile', async () => {
    const turns = createTurns();
    const deleting = Promise.withResolvers<void>();
    void turns.inTurn({ written: ['in/'] }, () => deleting.promise);
    const { queue, settled } = queueOf({ turns });
    queue.add([...['1', '2', '3'].map((name) => fileItem(name, { folder: 'in/' })), fileItem('elsewhere')]);
    await until('the other one is stored', () => queue.items.value[3]?.state.value === 'done');
    assert.equal(queue.items.value[0]?.state.value, 'waiting');
    deleting.resolve();
    await settled();
    assert.ok(queue.items.value.every(({ state }) => state.value === 'done'));
  });

  it('is not used where what it waited for failed, so that no folder is made anew under a name that it never got', async () => {
    const turns = createTurns();
    const renaming = Promise.withResolvers<void>();
    const failing = turns.inTurn({ written: ['in/', 'out/'] }, () => renaming.promise);
    const { queue, settled } = queueOf({ turns, send: async () => assert.fail('Nothing was to be sent.') });
    queue.add([fileItem('a', { folder: 'out/' })]);
    renaming.reject(new Error('It failed.'));
    await assert.rejects(failing);
    await settled();
    const [item] = queue.items.value;
    assert.equal(item?.state.value, 'failed');
    assert.equal(item?.problem.value?.code, 'folder-not-as-shown');
  });
});

describe('What was uploaded', () => {
  it('is shown before all uploads are said to be over', async () => {
    const told: boolean[] = [];
    const { queue, tally, settled } = queueOf({ onStored: () => void told.push(tally.isBusy.value) });
    queue.add([fileItem('a', { folder: 'album/' })]);
    await settled();
    assert.deepEqual(told, [true]);
  });

  it('is looked for where it was cancelled on its way, or failed without an answer', async () => {
    const doubts: string[] = [];
    const { queue, tally, settled } = queueOf({
      send: (item, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          if (item.name === 'lost') item.unanswered = { name: 'lost', since: 0 };
          if (item.name !== 'cancelled') reject(new ServiceError(item.name === 'lost' ? 0 : 400, ''));
        }),
      onUncertain: ({ name }) => {
        assert.ok(tally.isBusy.value);
        doubts.push(name);
      },
    });
    queue.add(['refused', 'lost', 'cancelled', 'late'].map((name) => fileItem(name)));
    await until('the others have ended', () => queue.items.value[3]?.state.value === 'failed');
    queue.cancel(queue.items.value);
    await settled();
    assert.deepEqual(doubts, ['lost', 'cancelled']);
  });

  it('keeps both by a name that no folder has either', async () => {
    const there: readonly Entry[] = [
      { type: 'folder', name: 'a (2)', path: 'a (2)/' },
      { type: 'file', name: 'a', path: 'a', size: 1, modified: null, contentType: '', etag: '' },
    ];
    const shown = {
      path: createSignal(''),
      listing: createSignal('complete' as const),
      entryOf: (path: string) => there.find((entry) => entry.path === path),
    };
    const list = () => assert.fail('All is known.');
    const { queue, settled } = queueOf({
      names: createTakenNames({ list }, shown),
      ask: async () => ({ decision: 'keep-both', forAll: false }),
    });
    queue.add([fileItem('a')]);
    await settled();
    assert.equal(queue.items.value[0]?.storedName.value, 'a (3)');
  });

  it('is asked about anew when it is tried again: an answer is of what was there then', async () => {
    let questions = 0;
    const sent: boolean[] = [];
    const { queue, settled } = queueOf({
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
    await settled();
    queue.retry(queue.items.value);
    await settled();
    assert.equal(questions, 2);
    assert.deepEqual(sent, [true]);
    assert.equal(queue.items.value[0]?.state.value, 'skipped');
  });
});

describe('An upload whose answer was lost', () => {
  const entry = (size: number, modified: string | null): FileEntry => ({
    type: 'file',
    name: 'a',
    path: 'a',
    size,
    modified,
    contentType: '',
    etag: '"2"',
  });

  /** Sends `a` of four bytes to a service that answers with such statuses, and then has such a file. */
  async function sendTo(statuses: readonly number[], there: FileEntry, item = fileItem('a')) {
    let sent = 0;
    const send = createSending({
      service: {
        async upload() {
          throw new ServiceError(statuses[sent++] ?? 412, 'No.');
        },
        async createFolder() {},
        list: async () => ({ success: true, prefix: '', entries: [there] }),
      },
      connection: { online: async () => {}, pause: async () => {} },
      onSent() {},
    });
    const outcome = await send(item, new AbortController().signal).catch((error: unknown) => error);
    return { outcome: outcome instanceof ServiceError ? outcome.status : outcome, item };
  }

  it('is done where the name is taken by what it stored', async () => {
    for (const lost of [0, 503]) {
      const { outcome, item } = await sendTo([0, lost, 412], entry(4, new Date().toISOString()));
      assert.deepEqual(outcome, { path: 'a', etag: '"2"' });
      assert.equal(item.unanswered, undefined);
    }
  });

  it('is done when the stored file has kept the modification time of the sent one', async () => {
    const lastModified = Date.UTC(2019, 6, 20, 12, 30, 15, 250);
    const item = createItem({ folder: '', name: 'a', file: new File(['abcd'], 'a', { lastModified }) }, newBatch());
    const { outcome } = await sendTo([0, 412], entry(4, '2019-07-20T12:30:15.000Z'), item);
    assert.deepEqual(outcome, { path: 'a', etag: '"2"' });
  });

  it('is asked about where the name is taken by another file', async () => {
    for (const other of [
      entry(5, new Date().toISOString()),
      entry(4, new Date(Date.now() - 60_000).toISOString()),
      entry(4, null),
    ]) {
      assert.equal((await sendTo([0, 412], other)).outcome, 412);
    }
  });

  it('is asked about where there was an answer each time', async () => {
    assert.equal((await sendTo([412], entry(4, new Date().toISOString()))).outcome, 412);
    assert.equal((await sendTo([429, 412], entry(4, new Date().toISOString()))).outcome, 412);
  });

  it('is found by Retry too, and stored but once where both are to be kept', async () => {
    const item = fileItem('a');
    item.storedName.value = 'a (2)';
    item.mayRename = true;
    const lost = Array.from({ length: 5 }, () => 0);
    assert.equal((await sendTo(lost, entry(4, null), item)).outcome, 0);
    const there = { ...entry(4, new Date().toISOString()), name: 'a (2)', path: 'a (2)' };
    assert.deepEqual((await sendTo([412], there, item)).outcome, { path: 'a (2)', etag: '"2"' });
  });

  it('is sent by Retry although the name is taken by now: only the service can tell by whom', async () => {
    const names = namesOf();
    let sent = 0;
    const { queue, settled } = queueOf({
      names,
      send: async (item) => {
        if (++sent > 1) return stored(item);
        item.unanswered = { name: 'a', since: Date.now() };
        names.take('a');
        throw new ServiceError(0, '');
      },
    });
    queue.add([fileItem('a')]);
    await settled();
    queue.retry(queue.items.value);
    await settled();
    assert.equal(queue.items.value[0]?.state.value, 'done');
  });
});

describe('A file on its way', () => {
  interface Attempts {
    readonly errors: readonly (ServiceError | undefined)[];
    readonly file?: File;
  }

  /** Sends an item to a service that fails so, and tells how long it waited in between. */
  async function sendThrough({ errors, file }: Attempts, times = 1) {
    const pauses: number[] = [];
    let attempt = 0;
    const send = createSending({
      service: {
        async upload({ folder, name }) {
          const error = errors[attempt++];
          if (error) throw error;
          return { path: folder + name, etag: '"1"' };
        },
        async createFolder() {},
        async list() {
          return assert.fail('Nothing was to be looked up.');
        },
      },
      connection: { online: async () => {}, pause: async (milliseconds) => void pauses.push(milliseconds) },
      onSent() {},
    });
    const outcomes: unknown[] = [];
    for (let time = 0; time < times; time++) {
      const item = createItem({ folder: '', name: 'a', file: file ?? new File(['a'], 'a') }, newBatch());
      outcomes.push(await send(item, new AbortController().signal).catch((error: unknown) => error));
    }
    return { outcomes, pauses, attempts: attempt };
  }

  it('is sent again where the problem passes, each time a little later', async () => {
    const errors = [new ServiceError(0, ''), new ServiceError(503, ''), new ServiceError(429, ''), undefined];
    const { outcomes, pauses } = await sendThrough({ errors });
    assert.deepEqual(outcomes, [{ path: 'a', etag: '"1"' }]);
    assert.deepEqual(pauses, [1000, 2000, 4000]);
  });

  it('waits for as long as the service asks for', async () => {
    const { pauses } = await sendThrough({ errors: [refusal('store-busy', '', 17), undefined] });
    assert.deepEqual(pauses, [17_000]);
  });

  it('fails with the service’s words in the end, and those behind it do so at once', async () => {
    const errors = Array.from({ length: 20 }, (_, index) => new ServiceError(503, `Busy ${index}.`));
    const { outcomes, attempts } = await sendThrough({ errors }, 3);
    assert.deepEqual(outcomes.map(String), ['ServiceError: Busy 4.', 'ServiceError: Busy 5.', 'ServiceError: Busy 6.']);
    assert.equal(attempts, 7);
  });

  it('fails at once where the problem stays', async () => {
    const { outcomes, pauses } = await sendThrough({ errors: [refusal('unsupported-name', 'A bad name.')] });
    assert.deepEqual(outcomes.map(String), ['ServiceError: A bad name.']);
    assert.deepEqual(pauses, []);
  });

  it('says so where it can’t be read, instead of trying for long', async () => {
    const file = new File(['a'], 'a');
    file.slice = () => {
      throw new DOMException('It was changed.', 'NotReadableError');
    };
    const { outcomes, pauses } = await sendThrough({ errors: [new ServiceError(0, '')], file });
    assert.deepEqual(outcomes.map(String), ['ServiceError: The file is unreadable.']);
    assert.deepEqual(pauses, []);
  });
});
