import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../web/src/service/service-error.ts';
import { createConflicts } from '../../web/src/uploads/conflicts.ts';
import { createQueue, type QueueOptions } from '../../web/src/uploads/queue.ts';
import { createSending } from '../../web/src/uploads/sending.ts';
import { createSpeedometer, secondsLeft } from '../../web/src/uploads/speed.ts';
import type { TakenNames } from '../../web/src/uploads/taken-names.ts';
import { createTally } from '../../web/src/uploads/tally.ts';
import { type Batch, createItem, type QueuedItem } from '../../web/src/uploads/upload-item.ts';
import { until } from '../process/until.ts';

const newBatch = (): Batch => ({ decision: null, unfinished: 0 });

function fileItem(name: string, { size = 4, batch = newBatch(), folder = '' } = {}): QueuedItem {
  return createItem({ folder, name, file: new File([new Uint8Array(size)], name) }, batch);
}

const nameTaken = () => new ServiceError(412, 'There is a file of this name.');
const stored = (item: QueuedItem) => ({ path: item.folder + item.storedName.value, etag: '"1"' });

/** Names as the service has them; those that are `known` are known before anything is sent. */
function namesOf(known: readonly string[] = [], listed: readonly string[] = []): TakenNames & { learnt: number } {
  const taken = new Set(known);
  return {
    learnt: 0,
    isTaken: (folder, name) => taken.has(folder + name),
    take: (folder, name) => void taken.add(folder + name),
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
    names: namesOf(),
    send: async (item) => stored(item),
    refuse: () => null,
    ask: async () => assert.fail('Nobody was to be asked.'),
    onStored() {},
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
    const [sending, asking] = [fileItem('a', { size: 3000 }), fileItem('b', { size: 90_000 })];
    for (const item of [sending, asking]) tally.add(item);
    tally.move(asking, 'asking');
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
    const asked: string[] = [];
    const decided: string[] = [];
    const conflicts = createConflicts({
      ask: async (item) => {
        asked.push(item.name);
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
    assert.deepEqual(asked, ['0', '3']);
    assert.deepEqual(decided, ['0 replace', '1 replace', '2 replace', '3 skip']);
  });

  it('is asked about again for each where the answer was not for all, but not once it is cancelled', async () => {
    const batch = newBatch();
    const asked: string[] = [];
    const { queue, settled } = queueOf({
      names: namesOf(['a', 'b', 'c']),
      ask: async ({ name }) => {
        asked.push(name);
        queue.cancel(queue.items.value.filter((item) => item.name === 'b'));
        return { decision: 'skip', forAll: false };
      },
    });
    queue.add(['a', 'b', 'c'].map((name) => fileItem(name, { batch })));
    await settled();
    assert.deepEqual(asked, ['a', 'c']);
    assert.deepEqual(
      queue.items.value.map(({ state }) => state.value),
      ['skipped', 'cancelled', 'skipped'],
    );
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

describe('The queue of uploads', () => {
  it('sends three at a time, in their order', async () => {
    const open: { name: string; finish: () => void }[] = [];
    const { queue, settled } = queueOf({
      send: (item) => new Promise((resolve) => open.push({ name: item.name, finish: () => resolve(stored(item)) })),
    });
    queue.add(['a', 'b', 'c', 'd', 'e'].map((name) => fileItem(name)));
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
    queue.cancel([item]);
    assert.equal(signals[0]?.aborted, true);
    assert.equal(item.state.value, 'cancelled');
    queue.retry([item]);
    await settled();
    assert.equal(item.state.value, 'done');
  });

  it('refuses at once what can’t be taken, without sending it', async () => {
    const { queue, settled } = queueOf({
      refuse: ({ size }) => (size > 10 ? new ServiceError(413, 'Too large.') : null),
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

  it('takes 10,000 files without a pause that a person would notice', async () => {
    const { queue, tally, settled } = queueOf({});
    const batch = newBatch();
    const items = Array.from({ length: 10_000 }, (_, index) => fileItem(`${index}`, { batch }));
    const began = performance.now();
    queue.add(items);
    assert.ok(performance.now() - began < 500);
    await settled();
    tally.publish();
    assert.equal(tally.summary.value.count.done, 10_000);
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
      },
      connection: { online: async () => {}, pause: async (milliseconds) => void pauses.push(milliseconds) },
      unreadable: () => 'It can’t be read.',
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
    const { pauses } = await sendThrough({ errors: [new ServiceError(503, '', 17), undefined] });
    assert.deepEqual(pauses, [17_000]);
  });

  it('fails with the service’s words in the end, and those behind it do so at once', async () => {
    const errors = Array.from({ length: 20 }, (_, index) => new ServiceError(503, `Busy ${index}.`));
    const { outcomes, attempts } = await sendThrough({ errors }, 3);
    assert.deepEqual(outcomes.map(String), ['ServiceError: Busy 4.', 'ServiceError: Busy 5.', 'ServiceError: Busy 6.']);
    assert.equal(attempts, 7);
  });

  it('fails at once where the problem stays', async () => {
    const { outcomes, pauses } = await sendThrough({ errors: [new ServiceError(400, 'A bad name.')] });
    assert.deepEqual(outcomes.map(String), ['ServiceError: A bad name.']);
    assert.deepEqual(pauses, []);
  });

  it('says so where it can’t be read, instead of trying for long', async () => {
    const file = new File(['a'], 'a');
    file.slice = () => {
      throw new DOMException('It was changed.', 'NotReadableError');
    };
    const { outcomes, pauses } = await sendThrough({ errors: [new ServiceError(0, '')], file });
    assert.deepEqual(outcomes.map(String), ['ServiceError: It can’t be read.']);
    assert.deepEqual(pauses, []);
  });
});
