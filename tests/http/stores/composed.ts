import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../../../src/model/error.ts';
import type { Store } from '../../../src/model/store.ts';
import { until } from '../../../testing/until.ts';
import { bare } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  begin,
  type Exchange,
  plant,
  postJson,
  send,
  treeOf,
  upload,
  within,
} from '../client.ts';
import {
  BYTES,
  COPY,
  callOf,
  DELETE,
  FILES,
  linesOf,
  MOVE,
  NDJSON,
  type Operation,
  resultOf,
  sendOperation,
  source,
  type Tree,
} from '../folder-operations.ts';
import { served, startService, type TestService } from '../service.ts';

// `Files` renames a folder by moving it, and deletes it in the same way for both methods.
const ALL = [COPY, MOVE, DELETE];
const TRANSFERS = [COPY, MOVE];
/** The numbers of files before each place of an operation. */
const FILE_COUNTS = Array.from({ length: FILES }, (_, index) => index);
const MOVES = [MOVE];

/**
 * Tests the operations that `Files` composes from single files, on a store without its own folder operations, so that a
 * test can act between any two files.
 */
export function composedSuite(): void {
  describe('Composed folder operations', () => {
    let hooks: Hooks = {};
    const service = served(bare, { wrap: (store) => composed(store, () => hooks) });
    /** Makes the store hold `tree`, with `ofTest` before each later change of a file. */
    const start = async (ofTest: Hooks, tree: Tree) => {
      hooks = {};
      await service.empty();
      await plant(service.port, tree);
      hooks = ofTest;
      return service;
    };

    describe('progress', () => {
      for (const operation of ALL) {
        it(`of ${operation.name} counts files and bytes, and has the total once known`, async (test) => {
          const { port } = await start({}, source('a'));
          let now = 0;
          test.mock.method(performance, 'now', () => (now += 1000));
          const { progress, last } = linesOf(await sendOperation(port, operation, NDJSON));
          assert.equal(last['status'], 200);
          for (const [index, { done, total, bytes }] of progress.entries()) {
            const before = progress[index - 1] ?? { done: 0, total: null, bytes: 0 };
            assert.ok(done >= before.done && bytes >= before.bytes, 'it never goes back');
            assert.ok(total === FILES || (total === null && before.total === null), 'a total that is known stays');
          }
          assert.deepEqual(progress.at(-1), { done: FILES, total: FILES, bytes: BYTES });
        });

        it(`of ${operation.name} is sent at most ten times per second`, async (test) => {
          const { port } = await start({}, source('a'));
          test.mock.method(performance, 'now', () => 1000);
          assert.equal(linesOf(await sendOperation(port, operation, NDJSON)).progress.length, 1);
        });

        it(`of ${operation.name} begins with 200 before the first change`, async () => {
          const gate = createGate();
          const { port } = await start(gate.before(operation), source('a'));
          const exchange = begin(port, operation.path, callOf(operation, NDJSON));
          try {
            await within('the operation', gate.reached);
            assert.equal((await within('the response headers', exchange.response)).statusCode, 200);
          } finally {
            gate.open();
            exchange.disconnect();
          }
        });
      }
    });

    describe('after a client that requested progress disconnects', () => {
      it('copy is cancelled, keeps the source and removes the destination', async () => {
        const gate = createGate();
        const running = await start(gate.before(COPY), source('a'));
        await disconnectHalfWay(running, COPY, gate, NDJSON);
        await until('the destination is gone', async () => (await send(running.port, '/b')).status === 404);
        assert.deepEqual(await treeOf(running.port), source('a'));
      });

      it('copy is cancelled, and keeps files that others stored at the destination', async () => {
        const gate = createGate();
        const running = await start(gate.before(COPY), source('a'));
        await disconnectHalfWay(running, COPY, gate, NDJSON, () => upload(running.port, 'b/other', 'of another'));
        const rest = { 'b/other': 'of another' };
        await until('the copy is removed', async () => (await send(running.port, '/file/b/0')).status === 404);
        await until('the copy is removed', async () => (await send(running.port, '/b/s')).status === 404);
        await until('the copy is removed', async () => (await send(running.port, '/b/empty')).status === 404);
        assert.deepEqual(await treeOf(running.port), { ...source('a'), 'b/': null, ...rest });
      });

      for (const operation of MOVES) {
        it(`${operation.name} is cancelled, keeps the source, and completes when repeated`, async () => {
          const gate = createGate();
          const running = await start(gate.before(operation), source('a'));
          await disconnectHalfWay(running, operation, gate, NDJSON);
          assert.deepEqual(await treeOf(running.port, 'a'), withoutRoot(source('a')));
          assertSuccess(await sendOperation(running.port, operation), operation.success);
          assert.deepEqual(await treeOf(running.port), source('b'));
        });
      }

      it('delete is cancelled, and keeps the remaining files', async () => {
        const gate = createGate();
        const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`a/${index + 100}`, `${index}`]));
        // Stopping it waits for the operation.
        const running = await startService(bare, {
          wrap: (store) => composed(store, () => ({ remove: () => gate.pass() })),
        });
        await plant(running.port, many);
        const exchange = begin(running.port, DELETE.path, callOf(DELETE, NDJSON));
        await within('the operation', gate.reached);
        exchange.disconnect();
        await until('the service has noticed the disconnect', () => hasLoggedDisconnect(running, DELETE));
        gate.open();
        await running.stop();
        // Removals in progress may have completed.
        assert.ok(gate.passed() < 40, `${gate.passed()} were removed`);
      });
    });

    describe('after a client that requested the envelope disconnects', () => {
      for (const operation of ALL) {
        it(`${operation.name} completes`, async () => {
          const gate = createGate();
          const running = await start(gate.before(operation), source('a'));
          await disconnectHalfWay(running, operation, gate, undefined);
          await until('the operation is complete', async () =>
            operation.keepsSource
              ? (await send(running.port, '/file/b/2')).status === 200 &&
                (await send(running.port, '/b/s/t')).status === 200
              : (await send(running.port, '/a')).status === 404,
          );
          await until('the last file exists', async () => {
            const last = await send(running.port, operation.path.startsWith('/delete') ? '/' : '/file/b/s/t/3');
            return last.status === 200;
          });
          assert.deepEqual(await treeOf(running.port), resultOf(operation));
        });
      }
    });

    describe('after a failure', () => {
      for (const operation of TRANSFERS) {
        for (const [what, error, status] of [
          ['a fault', () => new Error('The network broke.'), 500],
          ['an unreachable store', () => new StoreError('unavailable', 'The store is unreachable.'), 503],
        ] as const) {
          it(`${operation.name} keeps the source after ${what}, and completes when repeated`, async () => {
            let breaker = createBreaker(0, error);
            const { port } = await start({ put: (path) => breaker.pass(path.startsWith('b/')) }, {});
            for (const copies of status === 500 ? FILE_COUNTS : [1]) {
              breaker = createBreaker(copies, error);
              await plant(port, source('a'));
              breaker.arm();
              assertFailure(await sendOperation(port, operation), status, /./);
              assert.deepEqual(await treeOf(port, 'a'), withoutRoot(source('a')), `after ${copies} copies`);
              // A move is not rolled back, so that the repeated request continues.
              if (operation === COPY) assert.equal((await send(port, '/b')).status, 404);
              breaker.disarm();
              assertSuccess(await sendOperation(port, operation), operation.success);
              assert.deepEqual(await treeOf(port), resultOf(operation));
              assert.equal((await send(port, '/delete_folder/b', { method: 'DELETE' })).status, 200);
            }
          });
        }

        it(`${operation.name} over an existing folder keeps the source after a fault, and completes when repeated`, async () => {
          const breaker = createBreaker(2, () => new Error('The network broke.'));
          const old = { 'b/0': 'old', 'b/old': 'old', 'b/s/t/3': 'old', 'b/old-folder/x': 'old' };
          const ofTest = { put: (path: string) => breaker.pass(path.startsWith('b/')) };
          const { port } = await start(ofTest, { ...source('a'), ...old });
          const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
          breaker.arm();
          assertFailure(await sendOperation(port, overwriting), 500, /./);
          assert.deepEqual(await treeOf(port, 'a'), withoutRoot(source('a')));
          breaker.disarm();
          assertSuccess(await sendOperation(port, overwriting), operation.success);
          assert.deepEqual(await treeOf(port), resultOf(operation));
        });
      }

      for (const operation of MOVES) {
        it(`${operation.name} loses nothing when a removal fails, and completes when repeated`, async () => {
          let breaker = createBreaker(0, () => new Error('The network broke.'));
          const ofTest = { remove: (path: string) => breaker.pass(path.startsWith('a/')) };
          const { port } = await start(ofTest, {});
          for (const removals of FILE_COUNTS) {
            breaker = createBreaker(removals, () => new Error('The network broke.'));
            await plant(port, source('a'));
            breaker.arm();
            assertFailure(await sendOperation(port, operation), 500, /./);
            assert.deepEqual(await treeOf(port, 'b'), withoutRoot(source('b')), `after ${removals} removals`);
            breaker.disarm();
            assertSuccess(await sendOperation(port, operation), operation.success);
            assert.deepEqual(await treeOf(port), source('b'));
            assert.equal((await send(port, '/delete_folder/b', { method: 'DELETE' })).status, 200);
          }
        });
      }

      for (const operation of MOVES) {
        it(`${operation.name} over an existing folder loses nothing when a removal fails, and completes when repeated`, async () => {
          let breaker = createBreaker(0, () => new Error('The network broke.'));
          const ofTest = { remove: (path: string) => breaker.pass(path.startsWith('a/')) };
          const { port } = await start(ofTest, {});
          for (const removals of [1]) {
            breaker = createBreaker(removals, () => new Error('The network broke.'));
            await plant(port, { ...source('a'), 'b/0': 'old', 'b/old': 'old' });
            const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
            breaker.arm();
            assertFailure(await sendOperation(port, overwriting), 500, /./);
            assert.deepEqual(await treeOf(port, 'b'), withoutRoot(source('b')), `after ${removals} removals`);
            breaker.disarm();
            assertSuccess(await sendOperation(port, overwriting), operation.success);
            assert.deepEqual(await treeOf(port), source('b'), `after ${removals} removals`);
            assert.equal((await send(port, '/delete_folder/b', { method: 'DELETE' })).status, 200);
          }
        });
      }

      it('delete completes when repeated after a failure', async () => {
        const breaker = createBreaker(2, () => new Error('The network broke.'));
        const { port } = await start({ remove: () => breaker.pass(true) }, source('a'));
        breaker.arm();
        assertFailure(await sendOperation(port, DELETE), 500, /./);
        breaker.disarm();
        assertSuccess(await sendOperation(port, DELETE), DELETE.success);
        assert.deepEqual(await treeOf(port), {});
      });

      it('a move of a file loses nothing when the removal fails, and completes when repeated', async () => {
        const breaker = createBreaker(0, () => new Error('The network broke.'));
        const ofTest = { remove: () => breaker.pass(true) };
        const { port } = await start(ofTest, { 'a/x': 'text' });
        const move = { source: 'a/x', destination: 'b/x', is_folder: false };
        breaker.arm();
        assertFailure(await postJson(port, '/move', move), 500, /./);
        assert.equal((await send(port, '/file/a/x')).body.toString(), 'text');
        breaker.disarm();
        assertSuccess(await postJson(port, '/move', move), MOVE.success);
        assert.deepEqual(await treeOf(port), { 'a/': null, 'b/': null, 'b/x': 'text' });
      });
    });

    describe('over a folder where files and folders have swapped names', () => {
      for (const operation of TRANSFERS) {
        it(`${operation.name} replaces them, with any timing of the store`, async () => {
          for (const ticks of [0, 5]) {
            const wait = async () => {
              for (let tick = 0; tick < ticks; tick++) await setImmediate();
            };
            const old = { 'b/0/old/x': 'old', 'b/s': 'old', 'b/1/': null, 'b/empty': 'old' };
            const { port } = await start({ put: wait, remove: wait }, { ...source('a'), ...old });
            const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
            const response = await sendOperation(port, overwriting);
            assert.equal(response.status, 200, `after ${ticks} ticks: ${response.body.toString()}`);
            assert.deepEqual(await treeOf(port), resultOf(operation));
          }
        });
      }
    });

    describe('after an interruption without rollback', () => {
      for (const operation of TRANSFERS) {
        it(`${operation.name} copies only the missing files when it is repeated`, async () => {
          const puts: string[] = [];
          const { port } = await start(
            { put: async (path) => void puts.push(path) },
            { ...source('a'), ...COPIED_SO_FAR },
          );
          puts.length = 0;
          assertSuccess(await sendOperation(port, operation), operation.success);
          assert.deepEqual(await treeOf(port), resultOf(operation));
          assert.deepEqual(puts.toSorted(), ['b/1', 'b/2', 'b/s/nothing'], 'existing files are not copied again');
        });
      }
    });

    interruptionSuite((tree) => start({}, tree), TRANSFERS);

    describe('with concurrent changes in the source', () => {
      for (const operation of MOVES) {
        it(`${operation.name} keeps files that others add or change meanwhile`, async () => {
          const gate = createGate();
          const { port } = await start(gate.before(operation), source('a'));
          const { response } = begin(port, operation.path, callOf(operation));
          await within('the operation', gate.reached);
          await until('a file is copied', async () => (await send(port, '/file/b/0')).status === 200);
          await upload(port, 'a/0', 'changed');
          await upload(port, 'a/new', 'arrived');
          await upload(port, 'a/n/new', 'arrived');
          gate.open();
          assert.equal((await within('the response', response)).statusCode, 200);
          const { 'a/0': changed, 'a/new': arrived, 'a/n/new': below } = await treeOf(port);
          assert.deepEqual([changed, arrived, below], ['changed', 'arrived', 'arrived']);
          const copies = await treeOf(port, 'b');
          assert.deepEqual({ ...copies, 'b/0': 'text of 0' }, withoutRoot(source('b')));
        });
      }
    });
  });
}

/** Tests that a repeated operation completes what an interrupted one left, on a service that `start` starts with a tree. */
export function interruptionSuite(start: (tree: Tree) => Promise<TestService>, operations: readonly Operation[]): void {
  describe('after an interruption without rollback', () => {
    for (const operation of operations) {
      it(`${operation.name} completes when repeated after copying some files`, async () => {
        const { port } = await start({ ...source('a'), ...COPIED_SO_FAR });
        assertSuccess(await sendOperation(port, operation), operation.success);
        assert.deepEqual(await treeOf(port), resultOf(operation));
      });

      it(`${operation.name} completes when repeated after copying all but an empty folder`, async () => {
        const { port } = await start({ 'a/x': '1', 'a/z/': null, 'b/x': '1' });
        assertSuccess(await sendOperation(port, operation), operation.success);
        const left = operation.keepsSource ? { 'a/': null, 'a/x': '1', 'a/z/': null } : {};
        assert.deepEqual(await treeOf(port), { ...left, 'b/': null, 'b/x': '1', 'b/z/': null });
      });

      it(`${operation.name} returns 409 when the destination has anything but copies`, async () => {
        const { port } = await start({});
        const others: Tree[] = [
          { 'b/0': 'another 0' },
          { ...COPIED_SO_FAR, 'b/other': 'text' },
          { ...COPIED_SO_FAR, 'b/1': 'another 1' },
        ];
        for (const other of others) {
          await plant(port, { ...source('a'), ...other });
          const before = await treeOf(port);
          assertFailure(await sendOperation(port, operation), 409, /already/);
          assert.deepEqual(await treeOf(port), before);
          await send(port, '/delete_folder/b', { method: 'DELETE' });
        }
      });
    }

    for (const operation of operations.filter(({ keepsSource }) => keepsSource !== true)) {
      const states: readonly (readonly [what: string, rest: readonly string[]])[] = [
        ['none is removed', Object.keys(source('a'))],
        ['some are removed', ['a/2', 'a/s/t/3']],
        ['all but one are removed', ['a/s/nothing']],
      ];
      for (const [what, rest] of states) {
        it(`${operation.name} completes when repeated after copying all files: ${what}`, async () => {
          const left = Object.fromEntries(Object.entries(source('a')).filter(([path]) => rest.includes(path)));
          const { port } = await start({ ...left, ...source('b') });
          assertSuccess(await sendOperation(port, operation), operation.success);
          assert.deepEqual(await treeOf(port), source('b'));
        });
      }
    }

    it('copy returns 409 when it is repeated after its success', async () => {
      const { port } = await start(source('a'));
      assertSuccess(await sendOperation(port, COPY), COPY.success);
      assertFailure(await sendOperation(port, COPY), 409, /already/);
    });
  });
}

/** What an interrupted operation has copied. */
const COPIED_SO_FAR: Tree = { 'b/0': 'text of 0', 'b/s/t/3': 'text of 3' };

/** What runs before each file is stored or removed. */
interface Hooks {
  readonly put?: (path: string) => Promise<void>;
  readonly remove?: (path: string) => Promise<void>;
}

/** The store without its own operations on folders, with `hooks` before each file. */
function composed(store: Store, hooks: () => Hooks): Store {
  const { copy } = store;
  return {
    ...store,
    copyFolder: undefined,
    moveFolder: undefined,
    removeTree: undefined,
    copy:
      copy &&
      (async (from, to, options) => {
        await hooks().put?.(to);
        return copy(from, to, options);
      }),
    async write(file, body, options) {
      try {
        await hooks().put?.(file);
      } catch (error) {
        body.body.destroy();
        throw error;
      }
      return store.write(file, body, options);
    },
    async remove(file, options) {
      await hooks().remove?.(file);
      return store.remove(file, options);
    },
  };
}

/** A gate that is closed until the test opens it. */
function createGate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let count = 0;
  const pass = async () => {
    reached.resolve();
    await opened.promise;
    count++;
  };
  return {
    pass,
    /** Resolves when the first caller waits. */
    reached: reached.promise,
    open: () => opened.resolve(),
    passed: () => count,
    /** Returns hooks that block the third file of an operation, and no others. */
    before: ({ path }: Operation): Hooks =>
      path.startsWith('/delete')
        ? { remove: async (file) => (file === 'a/2' ? pass() : undefined) }
        : { put: async (file) => (file === 'b/2' ? pass() : undefined) },
  };
}

/** Lets this number of calls pass after `arm`, and fails all others. */
function createBreaker(passes: number, error: () => Error) {
  let [isArmed, count] = [false, 0];
  return {
    arm: () => void (isArmed = true),
    disarm: () => void (isArmed = false),
    async pass(isMeant: boolean) {
      if (isArmed && isMeant && ++count > passes) throw error();
    },
  };
}

/**
 * Starts the operation and waits until it reaches the gate. Then disconnects, waits until the service has noticed that,
 * and opens the gate.
 */
async function disconnectHalfWay(
  running: TestService,
  operation: Operation,
  gate: ReturnType<typeof createGate>,
  accept: string | undefined,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  const exchange: Exchange = begin(running.port, operation.path, callOf(operation, accept));
  try {
    await within('the operation', gate.reached);
    if (!operation.path.startsWith('/delete')) {
      await until('a file is copied', async () => (await send(running.port, '/file/b/0')).status === 200);
    }
    await meanwhile();
    exchange.disconnect();
    await until('the service has noticed the disconnect', () => hasLoggedDisconnect(running, operation));
  } finally {
    gate.open();
  }
}

const hasLoggedDisconnect = ({ log }: TestService, { path }: Operation) =>
  log.some((line) => line['path'] === path && line['status'] === 499);

/** Removes the folder at the top from a tree in the form of `treeOf`. */
const withoutRoot = (tree: Tree): Tree => Object.fromEntries(Object.entries(tree).slice(1));
