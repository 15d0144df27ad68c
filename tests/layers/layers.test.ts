import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { StoreError } from '../../src/model/error.ts';
import type { AppendOptions, FileEntry, PendingUpload, Store } from '../../src/model/store.ts';
import { circuitBreaker } from '../../src/stores/layers/circuit-breaker.ts';
import { minFreeBytes, minFreeSpace } from '../../src/stores/layers/min-free-space.ts';
import { type Observation, observe, trace } from '../../src/stores/layers/observe.ts';
import { readOnly } from '../../src/stores/layers/read-only.ts';
import { retry } from '../../src/stores/layers/retry.ts';
import { timeout } from '../../src/stores/layers/timeout.ts';
import { EFFECTS, type Member } from '../../src/stores/layers/wrap.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { until } from '../../testing/until.ts';
import { type Backend, bare, disk, memory } from '../contract/backend.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import { optionalContract } from '../contract/optional.ts';
import { storeContract } from '../contract/suite.ts';

const LAYERS: Readonly<Record<string, (store: Store) => Store>> = {
  observe: (store) => observe(store, () => {}),
  retry: (store) => retry(store, { maxAttempts: 3, delayMs: 1 }),
  timeout: (store) => timeout(store, { callMs: 10_000, afterBodyMs: 10_000 }),
  'circuit breaker': (store) =>
    circuitBreaker(store, { maxFailures: 3, minOutageMs: 0, probeIntervalMs: 10, onOpen() {}, onClose() {} }),
  'read-only': readOnly,
  trace,
};
const MEMBERS = Object.keys(EFFECTS) as Member[];

/** The members that return at once. */
const IMMEDIATE: readonly Member[] = ['quota', 'isPrivileged', 'isSizeCertain', 'maxPathBytes', 'watch'];

/** A store with every member. Each calls `run` with its name and arguments. */
function fullStore(run: (member: Member, args: readonly unknown[]) => unknown): Store {
  const members = MEMBERS.map((member) => {
    if (IMMEDIATE.includes(member)) return [member, (...args: unknown[]) => run(member, args)];
    if (member !== 'walk') return [member, async (...args: unknown[]) => run(member, args)];
    const walk = async function* (...args: unknown[]) {
      yield await run(member, args);
    };
    return [member, walk];
  });
  return Object.fromEntries(members);
}

const call = async (store: Store, member: Member, ...args: unknown[]): Promise<unknown> => {
  const found = store[member] as ((...args: unknown[]) => Promise<unknown>) | undefined;
  assert.ok(found, member);
  return found.apply(store, args);
};

const outcome = async (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe('Every layer', () => {
  for (const [name, wrap] of Object.entries(LAYERS)) {
    it(`${name} adds no member that the store lacks`, async () => {
      for (const backend of [memory, bare, disk]) {
        const { store, close } = await backend.open();
        const expected = MEMBERS.filter((member) => store[member] !== undefined);
        const actual = Object.keys(wrap(store)).filter((member) => wrap(store)[member as Member] !== undefined);
        await close();
        assert.deepEqual(actual.toSorted(), expected.toSorted(), backend.name);
      }
      const lacking = Object.fromEntries(MEMBERS.map((member) => [member, undefined]));
      assert.deepEqual(Object.keys(wrap(lacking as unknown as Store)), []);
    });

    it(`${name} passes arguments, results and the receiver of reading calls`, async () => {
      const calls: unknown[] = [];
      const store = fullStore((member, args) => {
        calls.push([member, ...args]);
        return `result of ${member}`;
      });
      const wrapped = wrap(store);
      const options = { signal: AbortSignal.timeout(1000) };
      for (const member of MEMBERS.filter((each) => EFFECTS[each] !== 'writes' && each !== 'walk')) {
        calls.length = 0;
        assert.equal(await call(wrapped, member, 'a', 'b', options), `result of ${member}`);
        assert.deepEqual(calls, [[member, 'a', 'b', options]]);
      }
      class WithPrivateField {
        readonly #secret = 'kept';
        async list() {
          return this.#secret;
        }
      }
      assert.equal(await call(wrap(new WithPrivateField() as unknown as Store), 'list'), 'kept');
    });

    it(`${name} passes errors unchanged`, async () => {
      for (const error of [new StoreError('not-found', 'x'), new Error('fault'), 'no error at all', undefined]) {
        const failing = wrap(fullStore(() => Promise.reject(error)));
        assert.equal(await outcome(call(failing, 'stat', 'a')), error);
        assert.equal(await outcome(call(failing, 'list', 'a')), error);
      }
    });

    it(`${name} passes the entries and the error of a walk`, async () => {
      const walking = wrap({
        ...createMemoryStore(),
        async *walk(path) {
          yield { kind: 'folder', path };
          throw new Error('interrupted');
        },
      });
      const seen: unknown[] = [];
      await assert.rejects(async () => {
        for await (const entry of walking.walk?.(folder('a')) ?? []) seen.push(entry);
      }, /interrupted/);
      assert.deepEqual(seen, [{ kind: 'folder', path: 'a/' }]);
    });

    it(`${name} returns the quota of the store synchronously`, () => {
      const limits = { limit: 5000, remaining: 4987, reset: new Date('2026-11-21T14:00:00Z') };
      for (const quota of [limits, undefined]) {
        const wrapped = wrap({ ...createMemoryStore(), quota: () => quota });
        assert.equal(wrapped.quota?.(), quota);
        assert.equal(typeof wrapped.quota, 'function');
      }
    });
  }
});

for (const [name, wrap] of Object.entries(LAYERS).filter(([layer]) => layer !== 'read-only')) {
  const wrapped: Backend = {
    ...memory,
    name: `memory in ${name}`,
    async open() {
      const { store, close } = await memory.open();
      return { store: wrap(store), close };
    },
  };
  storeContract(wrapped);
  optionalContract(wrapped);
}

describe('observe', () => {
  it('reports the member, path, outcome and duration of every call', async () => {
    const seen: Observation[] = [];
    const store = observe(createMemoryStore(), (observation) => seen.push(observation));
    await store.write(file('f/a'), upload('x'));
    await store.list(folder('f'));
    await outcome(store.stat(file('missing')));
    await outcome(store.removeFolder(folder('f')));
    assert.deepEqual(
      seen.map(({ member, path, outcome: result }) => [member, path, result]),
      [
        ['write', 'f/a', 'ok'],
        ['list', 'f/', 'ok'],
        ['stat', 'missing', 'not-found'],
        ['removeFolder', 'f/', 'already-exists'],
      ],
    );
    for (const { milliseconds } of seen) assert.ok(milliseconds >= 0 && milliseconds < 10_000);
  });

  it('reports a walk once, when it ends, fails or is stopped', async () => {
    const seen: Observation[] = [];
    const walking: Store = {
      ...createMemoryStore(),
      async *walk(path) {
        yield { kind: 'folder', path };
        if (path === 'bad/') throw new StoreError('denied', 'No access.');
        yield { kind: 'folder', path };
      },
    };
    const store = observe(walking, (observation) => seen.push(observation));
    for await (const _entry of store.walk?.(folder('stopped')) ?? []) break;
    await Array.fromAsync(store.walk?.(folder('whole')) ?? []);
    await assert.rejects(async () => Array.fromAsync(store.walk?.(folder('bad')) ?? []), ofKind('denied'));
    assert.deepEqual(
      seen.map(({ member, path, outcome: result }) => [member, path, result]),
      [
        ['walk', 'stopped/', 'ok'],
        ['walk', 'whole/', 'ok'],
        ['walk', 'bad/', 'denied'],
      ],
    );
  });

  it('reports an unexpected error as a fault, and no path for calls without one', async () => {
    const seen: Observation[] = [];
    const failing = fullStore(() => Promise.reject(new Error('fault')));
    const store = observe(failing, (observation) => seen.push(observation));
    for (const [member, argument] of [
      ['check', undefined],
      ['stage', { body: null }],
      ['close', undefined],
    ] as const) {
      await outcome(call(store, member, argument));
      assert.deepEqual(seen.at(-1), { ...seen.at(-1), member, path: undefined, outcome: 'fault' });
    }
  });

  it('reports a call only after it has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const seen: Observation[] = [];
    const store = observe(
      fullStore(() => gate.promise),
      (observation) => seen.push(observation),
    );
    const pending = call(store, 'stat', 'a');
    assert.deepEqual(seen, []);
    gate.resolve();
    await pending;
    assert.equal(seen.length, 1);
  });
});

describe('read-only', () => {
  it('denies every write without calling the store', async () => {
    const calls: string[] = [];
    const store = readOnly(fullStore((member) => void calls.push(member)));
    for (const member of MEMBERS.filter((each) => EFFECTS[each] === 'writes' && each !== 'openUpload')) {
      await assert.rejects(call(store, member, 'a', 'b'), ofKind('denied'), member);
    }
    assert.deepEqual(calls, []);
  });

  it('opens unfinished uploads, and denies every change of them', async () => {
    const fail = () => assert.fail('The upload was changed.');
    const inner = { offset: 3, append: fail, commit: fail, remove: fail };
    const opened = await readOnly({ ...createMemoryStore(), openUpload: async () => inner }).openUpload?.('id');
    assert.equal(opened?.offset, 3);
    const body = Readable.from(['x']);
    await assert.rejects(opened.append(body), ofKind('denied'));
    assert.ok(body.destroyed);
    await assert.rejects(opened.commit(file('a'), { type: 'text/plain' }), ofKind('denied'));
    await assert.rejects(opened.remove(), ofKind('denied'));
  });

  it('destroys the body of a denied write', async () => {
    const store = readOnly(createMemoryStore());
    const body = Readable.from(['x']);
    await assert.rejects(store.write(file('a'), { body, type: 'text/plain' }), ofKind('denied'));
    assert.ok(body.destroyed);
  });

  it('keeps the store unchanged and readable', async () => {
    const inner = createMemoryStore();
    const tree = { 'f/': null, 'f/a': 'x' };
    await plant(inner, tree);
    const store = readOnly(inner);
    await assert.rejects(store.write(file('b'), upload('x')), ofKind('denied'));
    await assert.rejects(store.remove(file('f/a')), ofKind('denied'));
    assert.equal(await textOf(store, 'f/a'), 'x');
    assert.deepEqual(await treeOf(store), tree);
  });

  it('classifies write, stage, open, presignParts, remove, set, create, copy, move, restore, purge and expire as writes', () => {
    const writes = MEMBERS.filter((member) => EFFECTS[member] === 'writes');
    const changing = /^(write|stage|open|presignParts|remove|set|create|copy|move|restore|purge|expire)/;
    assert.deepEqual(
      writes,
      MEMBERS.filter((member) => changing.test(member)),
    );
  });
});

describe('min-free-space', () => {
  const MIN_FREE = 1000;
  const STEP = 10;

  /** A store with every member on a volume with this space, and the members that were called. */
  const onVolume = (available: () => number) => {
    const calls: Member[] = [];
    const full = fullStore((member, args) => {
      calls.push(member);
      const [, options] = args as [unknown, { body?: Readable } | undefined];
      return options?.body?.toArray();
    });
    const space = async () => ({ available: available(), used: 0 });
    const store = minFreeSpace({ ...full, space }, MIN_FREE, { stepBytes: STEP });
    return { store, calls };
  };
  const isFull = { code: 'store-full', kind: 'unavailable' };
  const ADDING = [
    'write',
    'stage',
    'createUpload',
    'presignParts',
    'createFolder',
    'copy',
    'copyFolder',
    'restoreVersion',
  ];

  it('refuses exactly what adds content, without calling the store', async () => {
    const { store, calls } = onVolume(() => MIN_FREE);
    for (const member of MEMBERS.filter((each) => EFFECTS[each] === 'writes' && each !== 'openUpload')) {
      const empty = { body: Readable.from([]) };
      const result = call(store, member, empty, empty);
      if (ADDING.includes(member)) await assert.rejects(result, isFull, member);
      else await result;
    }
    assert.deepEqual(
      calls.filter((member) => ADDING.includes(member)),
      [],
    );
    assert.ok(calls.includes('moveToTrash') && calls.includes('moveFolder') && calls.includes('restoreTrashed'));
  });

  it('refuses what does not fit above the limit by its announced size, before it reads the body', async () => {
    const { store, calls } = onVolume(() => MIN_FREE + 5);
    for (const sizes of [{ size: 6 }, { maxSize: 6 }]) {
      const body = new Readable({ read: () => assert.fail('The body was read.') });
      await assert.rejects(store.write(file('a'), { body, type: 'text/plain', ...sizes }), isFull);
      assert.ok(body.destroyed);
    }
    await assert.rejects(
      async () => store.createUpload?.('id', { file: file('a'), type: 'text/plain', size: 6 }),
      isFull,
    );
    assert.deepEqual(calls, []);
    await store.write(file('a'), { body: Readable.from(['12345']), type: 'text/plain', size: 5, maxSize: 500 });
    assert.deepEqual(calls, ['write']);
  });

  it('aborts a body at the limit, whether its size is known or not', async () => {
    for (const sizes of [{}, { maxSize: 3 * STEP }]) {
      let available = MIN_FREE + 5 * STEP;
      const { store } = onVolume(() => available);
      const endless = new Readable({ read() {} });
      endless.push('a');
      const written = store.write(file('a'), { body: endless, type: 'text/plain', ...sizes });
      endless.once('data', () => {
        available = MIN_FREE;
        endless.push(Buffer.alloc(STEP));
      });
      await assert.rejects(written, isFull);
      assert.ok(endless.destroyed);
    }
  });

  /** A store whose volumes have this room above the limit, and which writes bodies until they end. */
  const withRoom = (room: number) => {
    const inner = createMemoryStore();
    const opened = { offset: 0, append: async (body: Readable) => (await body.toArray()).length } as const;
    const space: Store['space'] = async ({ path = '' } = {}) => ({
      available: MIN_FREE + room,
      used: 0,
      volume: path.startsWith('mount/') ? 'mount' : 'root',
    });
    const openUpload = async () => opened as unknown as PendingUpload;
    return minFreeSpace({ ...inner, space, openUpload }, MIN_FREE, { stepBytes: STEP });
  };
  const begin = (store: Store, path: string, size: number | undefined) => {
    const body = new Readable({ read() {} });
    const written = store.write(file(path), { body, type: 'text/plain', maxSize: size });
    return { body, written };
  };
  const end = async ({ body, written }: ReturnType<typeof begin>) => {
    body.push(null);
    await written;
  };
  const write = (store: Store, path: string, bytes: number) =>
    store.write(file(path), { ...upload('x'.repeat(bytes)), maxSize: bytes });

  it('counts the size of a write while it is received', async () => {
    const store = withRoom(15);
    const first = begin(store, 'a', 9);
    await nextTurn();
    await assert.rejects(write(store, 'b', 7), isFull);
    await write(store, 'b', 6);
    await write(store, 'mount/b', 7);
    await end(first);
    await write(store, 'b', 15);
    const aborted = begin(store, 'a', 9);
    aborted.body.destroy(new Error('gone'));
    await assert.rejects(aborted.written);
    await write(store, 'b', 15);
  });

  it('reserves no more than a large write has sent, so that a short request reserves little', async () => {
    const store = withRoom(100);
    for (const size of [90, undefined]) {
      const first = begin(store, 'a', size);
      await nextTurn();
      await write(store, 'b', 100 - STEP);
      await assert.rejects(write(store, 'b', 101 - STEP), isFull);
      const arrived = once(first.body, 'data');
      first.body.push(Buffer.alloc(30));
      await arrived;
      await write(store, 'b', 100 - 30);
      await assert.rejects(write(store, 'b', 101 - 30), isFull);
      await end(first);
    }
  });

  it('counts the size of the part of an upload, on the volume of its file', async () => {
    const store = withRoom(15);
    const append = async (options: AppendOptions, body = Readable.from([])) =>
      (await store.openUpload?.('id'))?.append(body, options);
    await assert.rejects(append({ maxSize: 16, file: file('a') }), isFull);
    const body = new Readable({ read() {} });
    const first = append({ maxSize: 9, file: file('mount/a') }, body);
    await nextTurn();
    await assert.rejects(append({ maxSize: 7, file: file('mount/b') }), isFull);
    await append({ maxSize: 7, file: file('b') });
    body.push(null);
    await first;
  });

  it('refuses to append to an upload, whose content can be committed and removed', async () => {
    const inner = { offset: 3, append: async () => 4, commit: async () => ({}) as FileEntry, remove: async () => {} };
    const space = async () => ({ available: 0, used: 0 });
    const store = minFreeSpace({ ...createMemoryStore(), space, openUpload: async () => inner }, MIN_FREE);
    const opened = await store.openUpload?.('id');
    assert.equal(opened?.offset, 3);
    const body = Readable.from(['x']);
    await assert.rejects(opened.append(body), isFull);
    assert.ok(body.destroyed);
    await opened.commit(file('a'), { type: 'text/plain' });
    await opened.remove();
  });

  it('asks for the space of the volume of the path, and returns it without the bytes that stay free', async () => {
    const asked: unknown[] = [];
    const space: Store['space'] = async ({ path } = {}) => {
      asked.push(path);
      return { available: MIN_FREE + 7, used: 9 };
    };
    const store = minFreeSpace({ ...createMemoryStore(), space }, MIN_FREE);
    await store.write(file('a/b'), upload('x'));
    await store.createFolder(folder('c/'));
    assert.deepEqual(asked, ['a/b', 'c/']);
    assert.deepEqual(await store.space?.(), { available: 7, used: 9 });
  });

  it('leaves stores alone whose space is unknown, and every store without a limit', async () => {
    const store = createMemoryStore();
    assert.equal(minFreeSpace(store, MIN_FREE), store);
    const space = async () => ({ available: 0, used: 0 });
    const unlimited = { ...store, space };
    assert.equal(minFreeSpace(unlimited, 0), unlimited);
    const failing = { ...store, space: () => Promise.reject(new StoreError('store-unreachable', 'gone')) };
    await minFreeSpace(failing, MIN_FREE).write(file('a'), upload('x'));
  });

  it('has a default that suits small and large volumes', () => {
    assert.equal(minFreeBytes({ available: 50, used: 50 }, undefined), 5);
    assert.equal(minFreeBytes({ available: 1e12, used: 1e12 }, undefined), 1e9);
    assert.equal(minFreeBytes({ available: 50, used: 50 }, 70), 70);
  });
});

describe('retry', () => {
  /** A store that fails this many times and then succeeds, and its number of calls. */
  const failingFirst = (failures: number, error: () => Error) => {
    let calls = 0;
    const store = fullStore(() => {
      if (calls++ < failures) throw error();
      return 'result';
    });
    return { store: retry(store, { maxAttempts: 3, delayMs: 1 }), calls: () => calls };
  };
  const unavailable = () => new StoreError('unavailable', 'unreachable');

  it('retries reads while the store is unavailable', async () => {
    for (const member of MEMBERS.filter(
      (each) => EFFECTS[each] === 'reads' && each !== 'walk' && each !== 'readCached',
    )) {
      for (const failures of [0, 1, 2]) {
        const { store, calls } = failingFirst(failures, unavailable);
        assert.equal(await call(store, member, 'a'), 'result', member);
        assert.equal(calls(), failures + 1, member);
      }
    }
  });

  it('rejects with the last error after all attempts', async () => {
    let number = 0;
    const { store, calls } = failingFirst(9, () => new StoreError('unavailable', `failure ${++number}`));
    await assert.rejects(call(store, 'stat', 'a'), { ...ofKind('unavailable'), message: 'failure 3' });
    assert.equal(calls(), 3);
  });

  it('never retries writes: they may be complete, or their body consumed', async () => {
    for (const member of MEMBERS.filter((each) => EFFECTS[each] !== 'reads')) {
      const { store, calls } = failingFirst(1, unavailable);
      await assert.rejects(call(store, member, 'a'), ofKind('unavailable'), member);
      assert.equal(calls(), 1, member);
    }
  });

  it('never retries other errors', async () => {
    for (const error of [new StoreError('not-found', 'x'), new StoreError('denied', 'x'), new Error('fault')]) {
      const { store, calls } = failingFirst(1, () => error);
      assert.equal(await outcome(call(store, 'read', 'a')), error);
      assert.equal(calls(), 1);
    }
  });

  it('backs off exponentially with jitter', async (t) => {
    // The delay, with jitter of ±50 %. Timers fire up to a millisecond early.
    for (const [random, first, second] of [
      [0, 9, 19],
      [0.999, 28, 58],
    ] as const) {
      t.mock.method(Math, 'random', () => random);
      const calls: number[] = [];
      const failing = fullStore(() => {
        calls.push(performance.now());
        throw unavailable();
      });
      await assert.rejects(call(retry(failing, { maxAttempts: 3, delayMs: 20 }), 'stat', 'a'), ofKind('unavailable'));
      const waits = calls.slice(1).map((time, index) => time - (calls[index] ?? 0));
      assert.equal(waits.length, 2);
      assert.ok(Number(waits[0]) >= first && Number(waits[1]) >= second, `${random}: ${waits.join(', ')}`);
    }
  });
});

describe('timeout', () => {
  const never = () => new Promise<never>(() => {});
  const LIMITS = { callMs: 5, afterBodyMs: 5 };

  it('fails a call without a response as unavailable and says that it may be complete', async () => {
    const store = timeout(fullStore(never), LIMITS);
    for (const member of [
      'list',
      'stat',
      'read',
      'check',
      'presign',
      'remove',
      'createFolder',
      'removeFolder',
    ] as const) {
      const error = await outcome(call(store, member, 'a'));
      assert.ok(error instanceof StoreError && error.code === 'store-unreachable', member);
      assert.match(error.message, /did not respond within 0\.005 seconds.*might still complete/);
    }
  });

  it('starts the timeout of an upload at the end of its body', async () => {
    const body = new Readable({ read() {} });
    const store = timeout(fullStore(never), LIMITS);
    const writing = outcome(call(store, 'write', 'a', { body, type: 'text/plain' }));
    const staging = outcome(call(store, 'stage', { body }));
    // Starts later and times out first.
    await assert.rejects(call(store, 'stat', 'a'), ofKind('unavailable'));
    assert.equal(await Promise.race([writing, staging, Promise.resolve('waiting')]), 'waiting');
    body.push(null);
    body.resume();
    for (const error of [await writing, await staging]) {
      assert.ok(error instanceof StoreError && error.code === 'store-unreachable');
    }
  });

  it('sets no timeout for copies, moves and folder removals', async () => {
    const gate = Promise.withResolvers<string>();
    const store = timeout(
      fullStore((member) => (member === 'stat' ? never() : gate.promise)),
      LIMITS,
    );
    const unlimited = ['copy', 'move', 'copyFolder', 'moveFolder', 'removeTree'] as const;
    const pending = unlimited.map((member) => call(store, member, 'a', 'b'));
    await assert.rejects(call(store, 'stat', 'a'), ofKind('unavailable'));
    gate.resolve('done');
    assert.deepEqual(
      await Promise.all(pending),
      unlimited.map(() => 'done'),
    );
  });

  it('limits each step of a walk, not the whole walk', async () => {
    const steps: (() => Promise<void>)[] = [async () => {}, async () => {}, never];
    const store = timeout(
      {
        ...createMemoryStore(),
        async *walk(path) {
          for (const step of steps) {
            await step();
            yield { kind: 'folder', path };
          }
        },
      },
      LIMITS,
    );
    const seen: unknown[] = [];
    await assert.rejects(async () => {
      for await (const entry of store.walk?.(folder('a')) ?? []) {
        seen.push(entry);
        // Longer than the timeout of a step.
        await delay(10);
      }
    }, ofKind('unavailable'));
    assert.equal(seen.length, 2);
  });

  it('closes a body and aborts a stage that arrive after the timeout', async () => {
    const gate = Promise.withResolvers<void>();
    const body = Readable.from(['x']);
    const aborted = Promise.withResolvers<string>();
    const closed = new Promise<string>((resolve) => body.once('close', () => resolve('closed')));
    const late: Partial<Record<Member, unknown>> = {
      read: { body },
      stage: { abort: async () => aborted.resolve('aborted') },
    };
    const store = timeout(
      fullStore(async (member) => {
        await gate.promise;
        return late[member];
      }),
      LIMITS,
    );
    await assert.rejects(call(store, 'read', 'a'), ofKind('unavailable'));
    await assert.rejects(call(store, 'stage', {}), ofKind('unavailable'));
    assert.ok(!body.destroyed);
    gate.resolve();
    assert.deepEqual(await Promise.all([closed, aborted.promise]), ['closed', 'aborted']);
  });
});

describe('circuitBreaker', () => {
  /** A store behind a circuit breaker that fails with `state.error`, its number of calls, and the reported events. */
  const openCircuit = ({ maxFailures = 3, minOutageMs = 0 } = {}) => {
    const state = { error: undefined as Error | undefined, calls: 0, events: [] as string[] };
    const closed = Promise.withResolvers<void>();
    const store = circuitBreaker(
      fullStore(() => {
        state.calls++;
        if (state.error) throw state.error;
        return 'result';
      }),
      {
        maxFailures,
        minOutageMs,
        probeIntervalMs: 5,
        onOpen: ({ message }) => state.events.push(`opened: ${message}`),
        onClose() {
          state.events.push('closed');
          closed.resolve();
        },
      },
    );
    return { store, state, closed: closed.promise };
  };
  const unreachable = () => new StoreError('store-unreachable', 'Connection refused.');
  const fail = (store: Store, times: number) =>
    Array.fromAsync({ length: times }, async () => outcome(call(store, 'stat', 'a')));

  it('fails calls while the circuit breaker is open and closes it when the store is reachable', async (t) => {
    const { store, state, closed } = openCircuit();
    t.after(() => store.close?.());
    state.error = unreachable();
    await fail(store, 3);
    assert.deepEqual(state.events, ['opened: Connection refused.']);
    const body = Readable.from(['x']);
    const refused = await outcome(store.write(file('a'), { body, type: 'text/plain' }));
    assert.ok(refused instanceof StoreError && refused.code === 'store-unreachable');
    assert.match(refused.message, /^The store has been unreachable for \d+ seconds\. Connection refused\.$/);
    assert.equal(refused.retryAfter, 1);
    assert.ok(body.destroyed);
    for (const member of MEMBERS.filter((each) => !['close', 'walk', 'readCached', ...IMMEDIATE].includes(each))) {
      await assert.rejects(call(store, member, 'a'), /has been unreachable/, member);
    }
    await assert.rejects(async () => Array.fromAsync(store.walk?.(folder('a')) ?? []), /has been unreachable/);
    const callsBefore = state.calls;
    state.error = undefined;
    await closed;
    assert.deepEqual(state.events, ['opened: Connection refused.', 'closed']);
    // At least one probe was sent after the calls.
    assert.ok(state.calls > callsBefore);
    assert.equal(await call(store, 'stat', 'a'), 'result');
  });

  it('probes while the store is unreachable and treats a denied probe as reachable', async () => {
    const { store, state, closed } = openCircuit();
    state.error = unreachable();
    await fail(store, 3);
    const callsBefore = state.calls;
    await until('two probes were sent', async () => state.calls >= callsBefore + 2);
    state.error = new StoreError('denied', 'access denied');
    await closed;
    assert.match(String(await outcome(call(store, 'stat', 'a'))), /access denied/);
  });

  it('stays closed for busy, not-found and unexpected errors', async () => {
    const { store, state } = openCircuit();
    for (const error of [
      new StoreError('unavailable', 'busy', { retryAfter: 1 }),
      new StoreError('not-found', 'x'),
      new Error('fault'),
    ]) {
      state.error = error;
      assert.deepEqual(
        await fail(store, 9),
        Array.from({ length: 9 }, () => error),
      );
    }
    assert.deepEqual(state.events, []);
  });

  it('stays closed when a response comes between the failures', async () => {
    const { store, state } = openCircuit();
    for (const error of [undefined, new StoreError('not-found', 'x')]) {
      state.error = unreachable();
      await fail(store, 2);
      state.error = error;
      await fail(store, 1);
      state.error = unreachable();
      await fail(store, 2);
      state.error = undefined;
      await fail(store, 1);
    }
    assert.deepEqual(state.events, []);
  });

  it('stays closed while all failures are within `minOutageMs`', async () => {
    const { store, state } = openCircuit({ minOutageMs: 60_000 });
    state.error = unreachable();
    await fail(store, 50);
    assert.equal(state.calls, 50);
    assert.deepEqual(state.events, []);
  });

  it('counts walks that fail without a response', async () => {
    const { store, state } = openCircuit({ maxFailures: 2 });
    state.error = unreachable();
    for (let walk = 0; walk < 2; walk++) {
      await assert.rejects(async () => Array.fromAsync(store.walk?.(folder('a')) ?? []), ofKind('unavailable'));
    }
    assert.deepEqual(state.events, ['opened: Connection refused.']);
  });

  it('does not count presign as a response of the store', async () => {
    const { store, state } = openCircuit({ maxFailures: 2 });
    state.error = unreachable();
    await fail(store, 1);
    state.error = undefined;
    assert.equal(await call(store, 'presign', 'a'), 'result');
    state.error = unreachable();
    await fail(store, 1);
    assert.equal(state.events.length, 1);
  });
});
