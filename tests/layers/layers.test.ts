import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { StoreError } from '../../src/domain/error.ts';
import type { Store } from '../../src/domain/store.ts';
import { circuit } from '../../src/layers/circuit.ts';
import { EFFECTS, type Member } from '../../src/layers/members.ts';
import { type Observation, observe } from '../../src/layers/observe.ts';
import { readOnly } from '../../src/layers/read-only.ts';
import { retry } from '../../src/layers/retry.ts';
import { timeLimit } from '../../src/layers/time-limit.ts';
import { trace } from '../../src/layers/trace.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { type Backend, bare, disk, memory } from '../contract/backend.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import { optionalContract } from '../contract/optional.ts';
import { storeContract } from '../contract/suite.ts';
import { until } from '../process/until.ts';

const LAYERS: Readonly<Record<string, (store: Store) => Store>> = {
  observe: (store) => observe(store, () => {}),
  retry: (store) => retry(store, { attempts: 3, delay: 1 }),
  'time-limit': (store) => timeLimit(store, { call: 10_000, afterBody: 10_000 }),
  circuit: (store) => circuit(store, { failures: 3, span: 0, interval: 10, onGone() {}, onBack() {} }),
  'read-only': readOnly,
  trace,
};
const MEMBERS = Object.keys(EFFECTS) as Member[];

/** A store that has every member, each of which does what `run` does and says how it was called. */
function fullStore(run: (member: Member, args: readonly unknown[]) => unknown): Store {
  const members = MEMBERS.map((member) => [
    member,
    member === 'walk' || member === 'quota' || member === 'isPrivileged'
      ? (...args: unknown[]) => run(member, args)
      : async (...args: unknown[]) => run(member, args),
  ]);
  return Object.fromEntries(members);
}

const call = async (store: Store, member: Member, ...args: unknown[]): Promise<unknown> => {
  const found = store[member] as ((...args: unknown[]) => Promise<unknown>) | undefined;
  assert.ok(found, member);
  return found.apply(store, args);
};

const outcome = async (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe('every layer', () => {
  for (const [name, wrap] of Object.entries(LAYERS)) {
    it(`${name} leaves a store without the members that it does not have`, async () => {
      for (const backend of [memory, bare, disk]) {
        const { store, close } = await backend.open();
        const had = MEMBERS.filter((member) => store[member] !== undefined);
        const has = Object.keys(wrap(store)).filter((member) => wrap(store)[member as Member] !== undefined);
        await close();
        assert.deepEqual(has.toSorted(), had.toSorted(), backend.name);
      }
      const lacking = Object.fromEntries(MEMBERS.map((member) => [member, undefined]));
      assert.deepEqual(Object.keys(wrap(lacking as unknown as Store)), []);
    });

    it(`${name} passes the arguments and the results of all that reads, and calls on the store itself`, async () => {
      const calls: unknown[] = [];
      const store = fullStore((member, args) => {
        calls.push([member, ...args]);
        return `result of ${member}`;
      });
      const wrapped = wrap(store);
      const options = { signal: AbortSignal.timeout(1000) };
      for (const member of MEMBERS.filter((each) => EFFECTS[each] !== 'writes')) {
        calls.length = 0;
        assert.equal(await call(wrapped, member, 'a', 'b', options), `result of ${member}`);
        assert.deepEqual(calls, [[member, 'a', 'b', options]]);
      }
      class Own {
        readonly #secret = 'kept';
        async list() {
          return this.#secret;
        }
      }
      assert.equal(await call(wrap(new Own() as unknown as Store), 'list'), 'kept');
    });

    it(`${name} passes errors as they are`, async () => {
      for (const error of [new StoreError('not-found', 'x'), new Error('fault'), 'no error at all', undefined]) {
        const failing = wrap(fullStore(() => Promise.reject(error)));
        assert.equal(await outcome(call(failing, 'stat', 'a')), error);
        assert.equal(await outcome(call(failing, 'list', 'a')), error);
      }
    });

    it(`${name} passes what a walk gives, and what it throws`, async () => {
      const walking = wrap({
        ...createMemoryStore(),
        async *walk(path) {
          yield { kind: 'folder', path };
          throw new Error('half-way');
        },
      });
      const seen: unknown[] = [];
      await assert.rejects(async () => {
        for await (const entry of walking.walk?.(folder('a')) ?? []) seen.push(entry);
      }, /half-way/);
      assert.deepEqual(seen, [{ kind: 'folder', path: 'a/' }]);
    });

    it(`${name} tells the quota at once, as the store does`, () => {
      const told = { limit: 5000, remaining: 4987, reset: new Date('2026-11-21T14:00:00Z') };
      for (const quota of [told, undefined]) {
        const wrapped = wrap({ ...createMemoryStore(), quota: () => quota });
        assert.equal(wrapped.quota?.(), quota);
        assert.equal(typeof wrapped.quota, 'function');
      }
    });
  }
});

for (const [name, wrap] of Object.entries(LAYERS).filter(([layer]) => layer !== 'read-only')) {
  const wrapped: Backend = {
    name: `memory in ${name}`,
    lacks: memory.lacks,
    async open() {
      const { store, close } = await memory.open();
      return { store: wrap(store), close };
    },
  };
  storeContract(wrapped);
  optionalContract(wrapped);
}

describe('observe', () => {
  it('tells of every call when it has ended: the member, the path, the outcome and the time', async () => {
    const seen: Observation[] = [];
    const store = observe(createMemoryStore(), (observation) => seen.push(observation));
    await store.write(file('f/a'), upload('x'));
    await store.list(folder('f'));
    await outcome(store.stat(file('missing')));
    await outcome(store.removeFolder(folder('f')));
    assert.deepEqual(
      seen.map(({ member, path, outcome: told }) => [member, path, told]),
      [
        ['write', 'f/a', 'ok'],
        ['list', 'f/', 'ok'],
        ['stat', 'missing', 'not-found'],
        ['removeFolder', 'f/', 'already-exists'],
      ],
    );
    for (const { milliseconds } of seen) assert.ok(milliseconds >= 0 && milliseconds < 10_000);
  });

  it('tells a fault from an error on purpose, and has no path where a call is about none', async () => {
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

  it('tells nothing before a call has ended', async () => {
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
  it('denies everything that would change something, and calls nothing for it', async () => {
    const calls: string[] = [];
    const store = readOnly(fullStore((member) => void calls.push(member)));
    for (const member of MEMBERS.filter((each) => EFFECTS[each] === 'writes')) {
      await assert.rejects(call(store, member, 'a', 'b'), ofKind('denied'), member);
    }
    assert.deepEqual(calls, []);
  });

  it('destroys the body that it does not take', async () => {
    const store = readOnly(createMemoryStore());
    const body = Readable.from(['x']);
    await assert.rejects(store.write(file('a'), { body, type: 'text/plain' }), ofKind('denied'));
    assert.ok(body.destroyed);
  });

  it('leaves a store as it is, and readable', async () => {
    const inner = createMemoryStore();
    const tree = { 'f/': null, 'f/a': 'x' };
    await plant(inner, tree);
    const store = readOnly(inner);
    await assert.rejects(store.write(file('b'), upload('x')), ofKind('denied'));
    await assert.rejects(store.remove(file('f/a')), ofKind('denied'));
    assert.equal(await textOf(store, 'f/a'), 'x');
    assert.deepEqual(await treeOf(store), tree);
  });

  it('counts what is written, removed, moved, copied and made among what changes something', () => {
    const writes = MEMBERS.filter((member) => EFFECTS[member] === 'writes');
    const changing = /^(write|stage|remove|create|copy|move)/;
    assert.deepEqual(
      writes,
      MEMBERS.filter((member) => changing.test(member)),
    );
  });
});

describe('retry', () => {
  /** A store that fails so many times, and then answers; and how often it was asked. */
  const failingFirst = (failures: number, error: () => Error) => {
    let calls = 0;
    const store = fullStore(() => {
      if (calls++ < failures) throw error();
      return 'answer';
    });
    return { store: retry(store, { attempts: 3, delay: 1 }), calls: () => calls };
  };
  const unavailable = () => new StoreError('unavailable', 'out of reach');

  it('asks again of what reads, as long as the store is unavailable', async () => {
    for (const member of MEMBERS.filter((each) => EFFECTS[each] === 'reads' && each !== 'walk' && each !== 'atHand')) {
      for (const failures of [0, 1, 2]) {
        const { store, calls } = failingFirst(failures, unavailable);
        assert.equal(await call(store, member, 'a'), 'answer', member);
        assert.equal(calls(), failures + 1, member);
      }
    }
  });

  it('gives up with the last error after all attempts', async () => {
    let number = 0;
    const { store, calls } = failingFirst(9, () => new StoreError('unavailable', `failure ${++number}`));
    await assert.rejects(call(store, 'stat', 'a'), { ...ofKind('unavailable'), message: 'failure 3' });
    assert.equal(calls(), 3);
  });

  it('never asks again of what writes: it may have been done, or its body be used up', async () => {
    for (const member of MEMBERS.filter((each) => EFFECTS[each] !== 'reads')) {
      const { store, calls } = failingFirst(1, unavailable);
      await assert.rejects(call(store, member, 'a'), ofKind('unavailable'), member);
      assert.equal(calls(), 1, member);
    }
  });

  it('never asks again for another reason', async () => {
    for (const error of [new StoreError('not-found', 'x'), new StoreError('denied', 'x'), new Error('fault')]) {
      const { store, calls } = failingFirst(1, () => error);
      assert.equal(await outcome(call(store, 'read', 'a')), error);
      assert.equal(calls(), 1);
    }
  });

  it('waits before it asks again, longer each time, and not always equally long', async () => {
    const waits: number[][] = [];
    for (let round = 0; round < 5; round++) {
      const calls: number[] = [];
      const failing = fullStore(() => {
        calls.push(performance.now());
        throw unavailable();
      });
      await assert.rejects(call(retry(failing, { attempts: 3, delay: 20 }), 'stat', 'a'), ofKind('unavailable'));
      const [first = 0, second = 0, third = 0] = calls;
      waits.push([second - first, third - second]);
    }
    // Half of what is set at least; timers end up to a millisecond early.
    for (const [first = 0, second = 0] of waits) assert.ok(first >= 9 && second >= 19, `${first}, ${second}`);
    assert.ok(new Set(waits.map(([first = 0]) => Math.round(first))).size > 1, 'they vary');
  });
});

describe('time limit', () => {
  const never = () => new Promise<never>(() => {});
  const LIMITS = { call: 5, afterBody: 5 };

  it('gives up what does not answer, and says that it may be done', async () => {
    const store = timeLimit(fullStore(never), LIMITS);
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
      assert.ok(error instanceof StoreError && error.kind === 'unavailable' && error.isOutOfReach, member);
      assert.match(error.message, /did not answer within 0\.005 seconds.*may be done/);
    }
  });

  it('counts for a body only from its end, however slowly it comes', async () => {
    const body = new Readable({ read() {} });
    const store = timeLimit(fullStore(never), LIMITS);
    const writing = outcome(call(store, 'write', 'a', { body, type: 'text/plain' }));
    const taking = outcome(call(store, 'stage', { body }));
    // Begun later, and over sooner.
    await assert.rejects(call(store, 'stat', 'a'), ofKind('unavailable'));
    assert.equal(await Promise.race([writing, taking, Promise.resolve('waiting')]), 'waiting');
    body.push(null);
    body.resume();
    for (const error of [await writing, await taking]) {
      assert.ok(error instanceof StoreError && error.isOutOfReach);
    }
  });

  it('lets what is long by its nature take its time', async () => {
    const gate = Promise.withResolvers<string>();
    const store = timeLimit(
      fullStore((member) => (member === 'stat' ? never() : gate.promise)),
      LIMITS,
    );
    const long = ['copy', 'move', 'copyFolder', 'moveFolder', 'removeTree'] as const;
    const pending = long.map((member) => call(store, member, 'a', 'b'));
    await assert.rejects(call(store, 'stat', 'a'), ofKind('unavailable'));
    gate.resolve('done');
    assert.deepEqual(
      await Promise.all(pending),
      long.map(() => 'done'),
    );
  });

  it('closes what comes too late', async () => {
    const gate = Promise.withResolvers<void>();
    const body = Readable.from(['x']);
    const discarded = Promise.withResolvers<string>();
    const closed = new Promise<string>((resolve) => body.once('close', () => resolve('closed')));
    const late: Partial<Record<Member, unknown>> = {
      read: { body },
      stage: { discard: async () => discarded.resolve('discarded') },
    };
    const store = timeLimit(
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
    assert.deepEqual(await Promise.all([closed, discarded.promise]), ['closed', 'discarded']);
  });
});

describe('circuit', () => {
  /** A store that answers as `state.error` says, how often it was asked, and what its circuit told. */
  const guarded = ({ failures = 3, span = 0 } = {}) => {
    const state = { error: undefined as Error | undefined, calls: 0, told: [] as string[] };
    const back = Promise.withResolvers<void>();
    const store = circuit(
      fullStore(() => {
        state.calls++;
        if (state.error) throw state.error;
        return 'answer';
      }),
      {
        failures,
        span,
        interval: 5,
        onGone: ({ message }) => state.told.push(`gone: ${message}`),
        onBack() {
          state.told.push('back');
          back.resolve();
        },
      },
    );
    return { store, state, back: back.promise };
  };
  const gone = () => new StoreError('unavailable', 'Nobody answers.', { isOutOfReach: true });
  const fail = (store: Store, times: number) =>
    Array.fromAsync({ length: times }, async () => outcome(call(store, 'stat', 'a')));

  it('asks a store that is gone no more, says why, and asks again when it is back', async (t) => {
    const { store, state, back } = guarded();
    t.after(() => store.close?.());
    state.error = gone();
    await fail(store, 3);
    assert.deepEqual(state.told, ['gone: Nobody answers.']);
    const body = Readable.from(['x']);
    const refused = await outcome(store.write(file('a'), { body, type: 'text/plain' }));
    assert.ok(refused instanceof StoreError && refused.kind === 'unavailable' && refused.isOutOfReach);
    assert.match(refused.message, /^The store has been out of reach for \d+ seconds\. Nobody answers\.$/);
    assert.equal(refused.retryAfter, 1);
    assert.ok(body.destroyed);
    for (const member of MEMBERS.filter(
      (each) => !['presign', 'close', 'walk', 'quota', 'atHand', 'isPrivileged'].includes(each),
    )) {
      await assert.rejects(call(store, member, 'a'), /has been out of reach/, member);
    }
    const asked = state.calls;
    state.error = undefined;
    await back;
    assert.deepEqual(state.told, ['gone: Nobody answers.', 'back']);
    // One look was enough, and more may have been before it.
    assert.ok(state.calls > asked);
    assert.equal(await call(store, 'stat', 'a'), 'answer');
  });

  it('goes on looking as long as it is gone, and counts a refusal as an answer', async () => {
    const { store, state, back } = guarded();
    state.error = gone();
    await fail(store, 3);
    const asked = state.calls;
    await until('it was looked at twice', async () => state.calls >= asked + 2);
    state.error = new StoreError('denied', 'not you');
    await back;
    assert.match(String(await outcome(call(store, 'stat', 'a'))), /not you/);
  });

  it('lets a store be that is busy, refuses or has a fault', async () => {
    const { store, state } = guarded();
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
    assert.deepEqual(state.told, []);
  });

  it('lets a store be that answers now and then', async () => {
    const { store, state } = guarded();
    for (const error of [undefined, new StoreError('not-found', 'x')]) {
      state.error = gone();
      await fail(store, 2);
      state.error = error;
      await fail(store, 1);
      state.error = gone();
      await fail(store, 2);
      state.error = undefined;
      await fail(store, 1);
    }
    assert.deepEqual(state.told, []);
  });

  it('takes no moment for an outage, however many calls fail in it', async () => {
    const { store, state } = guarded({ span: 60_000 });
    state.error = gone();
    await fail(store, 50);
    assert.equal(state.calls, 50);
    assert.deepEqual(state.told, []);
  });

  it('signs URLs all the same, and takes them for no sign of the store', async () => {
    const { store, state } = guarded({ failures: 2 });
    state.error = gone();
    await fail(store, 1);
    state.error = undefined;
    assert.equal(await call(store, 'presign', 'a'), 'answer');
    state.error = gone();
    await fail(store, 1);
    assert.equal(state.told.length, 1);
  });
});
