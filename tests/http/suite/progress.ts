import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StoreError } from '../../../src/domain/error.ts';
import type { Store } from '../../../src/domain/store.ts';
import { type Backend, emptied } from '../../contract/backend.ts';
import {
  type Answer,
  assertFailure,
  assertSuccess,
  begin,
  type Exchange,
  plant,
  postJson,
  send,
  treeOf,
  until,
  upload,
  within,
} from '../client.ts';
import { startService, type TestService } from '../service.ts';
import { failing } from './errors.ts';

type Tree = Record<string, string | null>;

/** An operation on the folder `a`: on all of it, and with `b` as its destination where it has one. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
  readonly success: Record<string, unknown>;
  readonly keepsSource?: boolean;
}

const COPY: Operation = {
  name: 'copy',
  method: 'POST',
  path: '/copy',
  body: { source: 'a', destination: 'b', is_folder: true },
  success: { message: 'Item copied successfully' },
  keepsSource: true,
};
const MOVE: Operation = {
  name: 'move',
  method: 'POST',
  path: '/move',
  body: { source: 'a', destination: 'b', is_folder: true },
  success: { message: 'Item moved successfully' },
};
const RENAME: Operation = {
  name: 'rename',
  method: 'POST',
  path: '/rename_folder/a',
  body: { newName: 'b' },
  success: { message: 'Folder renamed successfully', newPrefix: 'b/' },
};
const DELETE: Operation = {
  name: 'delete',
  method: 'DELETE',
  path: '/delete_folder/a',
  success: { message: 'Folder deleted successfully' },
};
const DELETE_BY_POST: Operation = { ...DELETE, name: 'delete by POST', method: 'POST' };

/** Those that have a destination. */
const TRANSFERS = [COPY, MOVE, RENAME];
const MOVES = [MOVE, RENAME];
const ALL = [...TRANSFERS, DELETE, DELETE_BY_POST];

const NDJSON = 'application/x-ndjson';

/** A folder with files at several depths, one of them empty, and a folder that is empty. */
const source = (folder: string): Tree => ({
  [`${folder}/`]: null,
  [`${folder}/0`]: 'text of 0',
  [`${folder}/1`]: 'text of 1!',
  [`${folder}/2`]: 'text of 2',
  [`${folder}/empty/`]: null,
  [`${folder}/s/`]: null,
  [`${folder}/s/nothing`]: '',
  [`${folder}/s/t/`]: null,
  [`${folder}/s/t/3`]: 'text of 3',
});
const FILES = 5;
const BYTES = Object.values(source('a')).join('').length;

/** The operations on whole folders: their progress, their being cancelled, cut short and sent again. */
export function progressSuite(backend: Backend): void {
  describe(`Progress of folder operations over HTTP: ${backend.name}`, () => {
    let service: TestService;
    let port: number;

    beforeEach(async () => {
      service = await startService(backend);
      ({ port } = service);
    });
    afterEach(() => service.stop());

    for (const operation of ALL) {
      it(`${operation.name} answers a client that accepts NDJSON with lines of progress and the envelope with its status as the last`, async () => {
        await plant(port, source('a'));
        const answer = await ask(port, operation, NDJSON);
        assert.equal(answer.headers['content-type'], NDJSON);
        assert.equal(answer.headers['cache-control'], 'no-store');
        assert.ok(answer.headers['x-request-id']);
        const { progress, last } = linesOf(answer);
        assert.deepEqual(last, { success: true, ...operation.success, status: 200 });
        for (const { done, total, bytes } of progress) {
          assert.ok(Number.isInteger(done) && done >= 0 && done <= FILES);
          assert.ok(Number.isInteger(bytes) && bytes >= 0 && bytes <= BYTES);
          assert.ok(total === null || total === FILES);
        }
        assert.deepEqual(await treeOf(port), resultOf(operation));
      });

      it(`${operation.name} answers a client that does not name NDJSON with the envelope alone`, async () => {
        for (const accept of [undefined, '*/*', 'application/*', 'application/json', 'application/x-ndjson;q=0']) {
          await plant(port, source('a'));
          assertSuccess(await ask(port, operation, accept), operation.success);
          assert.deepEqual(await treeOf(port), resultOf(operation));
          await send(port, '/delete_folder/b', { method: 'DELETE' });
        }
      });

      it(`${operation.name} tells a failure as the last line, with the status that it would have had`, async () => {
        const answer = await ask(port, operation, `text/html, ${NDJSON}; q=0.5`);
        assert.equal(answer.status, 200);
        const { progress, last } = linesOf(answer);
        assert.deepEqual([progress, last], [[], { success: false, error: 'There is no folder "a/".', status: 404 }]);
      });

      it(`${operation.name} tells a fault as the last line, with nothing but the request id, and logs it`, async (test) => {
        const faulty = await startWith(
          backend,
          test,
          failing(() => new Error('secret')),
        );
        const answer = await ask(faulty.port, operation, NDJSON);
        const id = String(answer.headers['x-request-id']);
        const error = `Something failed inside the service. Its log says more, under the request id ${id}.`;
        assert.deepEqual(linesOf(answer), { progress: [], last: { success: false, error, status: 500 } });
        const logged = faulty.log.filter((line) => line['requestId'] === id && line['level'] === 50);
        assert.equal(logged.length, 1);
        assert.match(JSON.stringify(logged), /secret/);
      });

      it(`${operation.name} tells that the store is out of reach as the last line, with 503`, async (test) => {
        const unavailable = failing(() => new StoreError('unavailable', 'It is out of reach.', { retryAfter: 9 }));
        const faulty = await startWith(backend, test, unavailable);
        const { last } = linesOf(await ask(faulty.port, operation, NDJSON));
        assert.deepEqual(last, { success: false, error: 'It is out of reach.', status: 503 });
      });
    }

    it('tells a conflict, and a folder into itself, as the last line', async () => {
      await plant(port, { 'a/x': '1', 'b/x': 'other' });
      for (const operation of TRANSFERS) {
        const { last } = linesOf(await ask(port, operation, NDJSON));
        assert.deepEqual([last['success'], last['status']], [false, 409]);
      }
      for (const operation of [COPY, MOVE]) {
        const below = { ...operation, body: { ...operation.body, destination: 'a/b' } };
        const { last } = linesOf(await ask(port, below, NDJSON));
        assert.deepEqual([last['success'], last['status']], [false, 400]);
      }
      assert.deepEqual(await treeOf(port), { 'a/': null, 'a/x': '1', 'b/': null, 'b/x': 'other' });
    });

    it('is no matter of single files: they are answered with the envelope alone', async () => {
      await plant(port, { a: '1' });
      for (const [path, body, message] of [
        ['/copy', { source: 'a', destination: 'b', is_folder: false }, 'Item copied successfully'],
        ['/move', { source: 'a', destination: 'c', is_folder: false }, 'Item moved successfully'],
        ['/create_folder', { path: 'f' }, 'Folder created successfully'],
      ] as const) {
        assertSuccess(await postJson(port, path, body, { accept: NDJSON }), { message });
      }
    });

    it('is no matter of requests that are wrong in themselves: they are 400', async () => {
      for (const operation of TRANSFERS) {
        assertFailure(await postJson(port, operation.path, {}, { accept: NDJSON }), 400, /lacks/);
        assertFailure(await postJson(port, operation.path, [], { accept: NDJSON }), 400, /must be a JSON object/);
      }
    });
  });

  composedSuite(backend);
}

/**
 * The operations as `Files` composes them from single files, on a store without operations of its own on folders,
 * so that a test can stand between any two files.
 */
function composedSuite(backend: Backend): void {
  const skip =
    backend.lacks['composed-operations'] ??
    (backend.lacks['etags-of-content'] && `such a store brings its own: ${backend.lacks['etags-of-content']}`);

  describe(`Folder operations file by file over HTTP: ${backend.name}`, { skip: skip ?? false }, () => {
    /** The service on the store with `hooks`, holding `tree`. */
    const start = async (test: TestContext, hooks: Hooks, tree: Tree) => {
      const started = await startWith(backend, test, (store) => composed(store, hooks));
      await plant(started.port, tree);
      return started;
    };

    describe('their progress', () => {
      for (const operation of ALL) {
        it(`of ${operation.name} counts files and bytes, and the total when it is known`, async (test) => {
          const { port } = await start(test, {}, source('a'));
          let now = 0;
          test.mock.method(performance, 'now', () => (now += 1000));
          const { progress, last } = linesOf(await ask(port, operation, NDJSON));
          assert.equal(last['status'], 200);
          for (const [index, { done, total, bytes }] of progress.entries()) {
            const before = progress[index - 1] ?? { done: 0, total: null, bytes: 0 };
            assert.ok(done >= before.done && bytes >= before.bytes, 'it never goes back');
            assert.ok(total === FILES || (total === null && before.total === null), 'a total that is known stays');
          }
          assert.deepEqual(progress.at(-1), { done: FILES, total: FILES, bytes: BYTES });
        });

        it(`of ${operation.name} is told ten times a second at most`, async (test) => {
          const { port } = await start(test, {}, source('a'));
          test.mock.method(performance, 'now', () => 1000);
          assert.equal(linesOf(await ask(port, operation, NDJSON)).progress.length, 1);
        });

        it(`of ${operation.name} is answered at once with 200, before anything is done`, async (test) => {
          const gate = createGate();
          const { port } = await start(test, gate.before(operation), source('a'));
          const exchange = begin(port, operation.path, callOf(operation, NDJSON));
          try {
            await within('the operation', gate.reached);
            assert.equal((await within('the head of the answer', exchange.answer)).statusCode, 200);
          } finally {
            gate.open();
            exchange.leave();
          }
        });
      }
    });

    describe('left by a client that asked for progress', () => {
      it('copy is cancelled: the source is whole, and the destination gone', async (test) => {
        const gate = createGate();
        const running = await start(test, gate.before(COPY), source('a'));
        await leaveHalfWay(running, COPY, gate, NDJSON);
        await until('the destination is gone', async () => (await send(running.port, '/b')).status === 404);
        assert.deepEqual(await treeOf(running.port), source('a'));
      });

      it('copy is cancelled, and leaves at the destination what came there from elsewhere', async (test) => {
        const gate = createGate();
        const running = await start(test, gate.before(COPY), source('a'));
        await leaveHalfWay(running, COPY, gate, NDJSON, () => upload(running.port, 'b/other', 'of another'));
        const rest = { 'b/other': 'of another' };
        await until('it is undone', async () => (await send(running.port, '/file/b/0')).status === 404);
        await until('it is undone', async () => (await send(running.port, '/b/s')).status === 404);
        await until('it is undone', async () => (await send(running.port, '/b/empty')).status === 404);
        assert.deepEqual(await treeOf(running.port), { ...source('a'), 'b/': null, ...rest });
      });

      for (const operation of MOVES) {
        it(`${operation.name} is cancelled: the source is whole, and the same request completes it`, async (test) => {
          const gate = createGate();
          const running = await start(test, gate.before(operation), source('a'));
          await leaveHalfWay(running, operation, gate, NDJSON);
          assert.deepEqual(await treeOf(running.port, 'a'), withoutRoot(source('a')));
          assertSuccess(await ask(running.port, operation), operation.success);
          assert.deepEqual(await treeOf(running.port), source('b'));
        });
      }

      it('delete is cancelled: what was not removed yet stays', async (test) => {
        const gate = createGate();
        const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`a/${index + 100}`, `${index}`]));
        const running = await start(test, { remove: () => gate.pass() }, many);
        const exchange = begin(running.port, DELETE.path, callOf(DELETE, NDJSON));
        await within('the operation', gate.reached);
        exchange.leave();
        await until('it is noticed', () => hasLeft(running, DELETE));
        gate.open();
        await running.stop();
        // Those on their way at that moment may have gone.
        assert.ok(gate.passed() < 40, `${gate.passed()} were removed`);
      });
    });

    describe('left by a client that asked for the envelope', () => {
      for (const operation of ALL) {
        it(`${operation.name} goes on to its end`, async (test) => {
          const gate = createGate();
          const running = await start(test, gate.before(operation), source('a'));
          await leaveHalfWay(running, operation, gate, undefined);
          await until('it is done', async () =>
            operation.keepsSource
              ? (await send(running.port, '/file/b/2')).status === 200 &&
                (await send(running.port, '/b/s/t')).status === 200
              : (await send(running.port, '/a')).status === 404,
          );
          await until('the last file is there', async () => {
            const last = await send(running.port, operation.path.startsWith('/delete') ? '/' : '/file/b/s/t/3');
            return last.status === 200;
          });
          assert.deepEqual(await treeOf(running.port), resultOf(operation));
        });
      }
    });

    describe('failing half-way', () => {
      for (const operation of TRANSFERS) {
        for (const [what, error, status] of [
          ['a fault', () => new Error('The network broke.'), 500],
          ['a store out of reach', () => new StoreError('unavailable', 'It is out of reach.'), 503],
        ] as const) {
          it(`${operation.name} leaves by ${what} the source whole, and completes when it is sent again`, async (test) => {
            for (let copies = 0; copies < FILES; copies++) {
              const breaker = createBreaker(copies, error);
              const { port } = await start(test, { put: (path) => breaker.pass(path.startsWith('b/')) }, source('a'));
              breaker.arm();
              assertFailure(await ask(port, operation), status, /./);
              assert.deepEqual(await treeOf(port, 'a'), withoutRoot(source('a')), `after ${copies} copies`);
              // A move is not undone, so that the same request goes on from its copies.
              if (operation === COPY) assert.equal((await send(port, '/b')).status, 404);
              breaker.disarm();
              assertSuccess(await ask(port, operation), operation.success);
              assert.deepEqual(await treeOf(port), resultOf(operation));
            }
          });
        }

        it(`${operation.name} over a folder that is there leaves the source whole, and completes when it is sent again`, async (test) => {
          const breaker = createBreaker(2, () => new Error('The network broke.'));
          const old = { 'b/0': 'old', 'b/old': 'old', 'b/s/t/3': 'old', 'b/old-folder/x': 'old' };
          const hooks = { put: (path: string) => breaker.pass(path.startsWith('b/')) };
          const { port } = await start(test, hooks, { ...source('a'), ...old });
          const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
          breaker.arm();
          assertFailure(await ask(port, overwriting), 500, /./);
          assert.deepEqual(await treeOf(port, 'a'), withoutRoot(source('a')));
          breaker.disarm();
          assertSuccess(await ask(port, overwriting), operation.success);
          assert.deepEqual(await treeOf(port), resultOf(operation));
        });
      }

      for (const operation of MOVES) {
        it(`${operation.name} loses nothing when it fails while it removes, and completes when it is sent again`, async (test) => {
          for (let removals = 0; removals < FILES; removals++) {
            const breaker = createBreaker(removals, () => new Error('The network broke.'));
            const hooks = { remove: (path: string) => breaker.pass(path.startsWith('a/')) };
            const { port } = await start(test, hooks, source('a'));
            breaker.arm();
            assertFailure(await ask(port, operation), 500, /./);
            assert.deepEqual(await treeOf(port, 'b'), withoutRoot(source('b')), `after ${removals} removals`);
            breaker.disarm();
            assertSuccess(await ask(port, operation), operation.success);
            assert.deepEqual(await treeOf(port), source('b'));
          }
        });
      }

      for (const operation of MOVES) {
        it(`${operation.name} over a folder that is there loses nothing when it fails while it removes, and completes when it is sent again`, async (test) => {
          for (let removals = 0; removals < FILES; removals++) {
            const breaker = createBreaker(removals, () => new Error('The network broke.'));
            const hooks = { remove: (path: string) => breaker.pass(path.startsWith('a/')) };
            const { port } = await start(test, hooks, { ...source('a'), 'b/0': 'old', 'b/old': 'old' });
            const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
            breaker.arm();
            assertFailure(await ask(port, overwriting), 500, /./);
            assert.deepEqual(await treeOf(port, 'b'), withoutRoot(source('b')), `after ${removals} removals`);
            breaker.disarm();
            assertSuccess(await ask(port, overwriting), operation.success);
            assert.deepEqual(await treeOf(port), source('b'), `after ${removals} removals`);
          }
        });
      }

      it('delete goes on where it was cut short, when it is sent again', async (test) => {
        const breaker = createBreaker(2, () => new Error('The network broke.'));
        const { port } = await start(test, { remove: () => breaker.pass(true) }, source('a'));
        breaker.arm();
        assertFailure(await ask(port, DELETE), 500, /./);
        breaker.disarm();
        assertSuccess(await ask(port, DELETE), DELETE.success);
        assert.deepEqual(await treeOf(port), {});
      });

      it('a move of a single file loses nothing when it fails before the removal, and completes when it is sent again', async (test) => {
        const breaker = createBreaker(0, () => new Error('The network broke.'));
        const hooks = { remove: () => breaker.pass(true) };
        const withoutMove = (store: Store) => ({ ...composed(store, hooks), move: undefined });
        const { port } = await startWith(backend, test, withoutMove);
        await plant(port, { 'a/x': 'text' });
        const move = { source: 'a/x', destination: 'b/x', is_folder: false };
        breaker.arm();
        assertFailure(await postJson(port, '/move', move), 500, /./);
        assert.equal((await send(port, '/file/a/x')).body.toString(), 'text');
        breaker.disarm();
        assertSuccess(await postJson(port, '/move', move), MOVE.success);
        assert.deepEqual(await treeOf(port), emptied(backend, { 'a/': null, 'b/': null, 'b/x': 'text' }, 'a/'));
      });
    });

    describe("over a folder in which files and folders have each other's names", () => {
      const skipped = { skip: backend.lacks['one-kind-per-name'] ?? false };
      for (const operation of TRANSFERS) {
        it(`${operation.name} replaces them, however long the store takes for each`, skipped, async (test) => {
          for (const ticks of [0, 1, 5, 20]) {
            const wait = async () => {
              for (let tick = 0; tick < ticks; tick++) await setImmediate();
            };
            const old = { 'b/0/old/x': 'old', 'b/s': 'old', 'b/1/': null, 'b/empty': 'old' };
            const { port } = await start(test, { put: wait, remove: wait }, { ...source('a'), ...old });
            const overwriting = { ...operation, body: { ...operation.body, overwrite: true } };
            const answer = await ask(port, overwriting);
            assert.equal(answer.status, 200, `after ${ticks} ticks: ${answer.body.toString()}`);
            assert.deepEqual(await treeOf(port), resultOf(operation));
          }
        });
      }
    });

    describe('interrupted where nothing could be undone', () => {
      const some: Tree = { 'b/0': 'text of 0', 'b/s/t/3': 'text of 3' };

      for (const operation of TRANSFERS) {
        it(`${operation.name} completes when it is sent again: some files are copied already`, async (test) => {
          const puts: string[] = [];
          const { port } = await start(
            test,
            { put: async (path) => void puts.push(path) },
            { ...source('a'), ...some },
          );
          puts.length = 0;
          assertSuccess(await ask(port, operation), operation.success);
          assert.deepEqual(await treeOf(port), resultOf(operation));
          assert.deepEqual(puts.toSorted(), ['b/1', 'b/2', 'b/s/nothing'], 'what is there already is not copied again');
        });

        it(`${operation.name} completes when it is sent again: all but an empty folder is copied already`, async (test) => {
          const { port } = await start(test, {}, { 'a/x': '1', 'a/z/': null, 'b/x': '1' });
          assertSuccess(await ask(port, operation), operation.success);
          const left = operation.keepsSource ? { 'a/': null, 'a/x': '1', 'a/z/': null } : {};
          assert.deepEqual(await treeOf(port), { ...left, 'b/': null, 'b/x': '1', 'b/z/': null });
        });

        it(`${operation.name} is a conflict where the destination holds anything that is no copy`, async (test) => {
          const { port } = await start(test, {}, {});
          const others: Tree[] = [
            { 'b/0': 'another 0' },
            { ...some, 'b/other': 'text' },
            { ...some, 'b/1': 'another 1' },
          ];
          for (const other of others) {
            await plant(port, { ...source('a'), ...other });
            const before = await treeOf(port);
            assertFailure(await ask(port, operation), 409, /already/);
            assert.deepEqual(await treeOf(port), before);
            await send(port, '/delete_folder/b', { method: 'DELETE' });
          }
        });
      }

      for (const operation of MOVES) {
        const states: readonly (readonly [what: string, rest: readonly string[]])[] = [
          ['none is removed', Object.keys(source('a'))],
          ['some are removed', ['a/2', 'a/s/t/3']],
          ['all but one are removed', ['a/s/nothing']],
        ];
        for (const [what, rest] of states) {
          it(`${operation.name} completes when it is sent again: all files are copied and ${what}`, async (test) => {
            const left = Object.fromEntries(Object.entries(source('a')).filter(([path]) => rest.includes(path)));
            const { port } = await start(test, {}, { ...left, ...source('b') });
            assertSuccess(await ask(port, operation), operation.success);
            assert.deepEqual(await treeOf(port), source('b'));
          });
        }
      }

      it('copy is a conflict where all is copied: that is what a copy that is sent twice finds', async (test) => {
        const { port } = await start(test, {}, source('a'));
        assertSuccess(await ask(port, COPY), COPY.success);
        assertFailure(await ask(port, COPY), 409, /already/);
      });
    });

    describe('with others at work in the source', () => {
      for (const operation of MOVES) {
        it(`${operation.name} removes nothing that arrives or changes there meanwhile`, async (test) => {
          const gate = createGate();
          const { port } = await start(test, gate.before(operation), source('a'));
          const { answer } = begin(port, operation.path, callOf(operation));
          await within('the operation', gate.reached);
          await until('a file is copied', async () => (await send(port, '/file/b/0')).status === 200);
          await upload(port, 'a/0', 'changed');
          await upload(port, 'a/new', 'arrived');
          await upload(port, 'a/n/new', 'arrived');
          gate.open();
          assert.equal((await within('the answer', answer)).statusCode, 200);
          const { 'a/0': changed, 'a/new': arrived, 'a/n/new': below } = await treeOf(port);
          assert.deepEqual([changed, arrived, below], ['changed', 'arrived', 'arrived']);
          const copies = await treeOf(port, 'b');
          assert.deepEqual({ ...copies, 'b/0': 'text of 0' }, withoutRoot(source('b')));
        });
      }
    });
  });
}

/** What stands before each file that is put or removed. */
interface Hooks {
  readonly put?: (path: string) => Promise<void>;
  readonly remove?: (path: string) => Promise<void>;
}

/** The store without its own operations on folders, with `hooks` before each file. */
function composed(store: Store, { put, remove }: Hooks): Store {
  const { copy } = store;
  return {
    ...store,
    copyFolder: undefined,
    moveFolder: undefined,
    removeTree: undefined,
    copy:
      copy &&
      (async (from, to, options) => {
        await put?.(to);
        return copy(from, to, options);
      }),
    async write(file, body, options) {
      try {
        await put?.(file);
      } catch (error) {
        body.body.destroy();
        throw error;
      }
      return store.write(file, body, options);
    },
    async remove(file, options) {
      await remove?.(file);
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
    /** Settles when somebody stands before it. */
    reached: reached.promise,
    open: () => opened.resolve(),
    passed: () => count,
    /** Hooks that hold up the third file of an operation, and let the others through. */
    before: ({ path }: Operation): Hooks =>
      path.startsWith('/delete')
        ? { remove: async (file) => (file === 'a/2' ? pass() : undefined) }
        : { put: async (file) => (file === 'b/2' ? pass() : undefined) },
  };
}

/** Lets so many pass after it was armed, and fails for all others. */
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

/** Starts the operation, waits until it stands before the gate, leaves, and opens the gate when that is noticed. */
async function leaveHalfWay(
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
    exchange.leave();
    await until('it is noticed', () => hasLeft(running, operation));
  } finally {
    gate.open();
  }
}

const hasLeft = ({ log }: TestService, { path }: Operation) =>
  log.some((line) => line['path'] === path && line['status'] === 499);

function callOf({ method, body }: Operation, accept?: string) {
  const headers = { ...(accept !== undefined && { accept }), ...(body && { 'content-type': 'application/json' }) };
  return { method, headers, ...(body && { body: JSON.stringify(body) }) };
}

const ask = (port: number, operation: Operation, accept?: string): Promise<Answer> =>
  send(port, operation.path, callOf(operation, accept));

async function startWith(backend: Backend, test: TestContext, wrap: (store: Store) => Store): Promise<TestService> {
  const started = await startService(backend, { wrap });
  test.after(() => started.stop());
  return started;
}

/** What is there when an operation on `a` has succeeded. */
function resultOf({ name, keepsSource }: Operation): Tree {
  return { ...(keepsSource && source('a')), ...(name.startsWith('delete') ? {} : source('b')) };
}

/** A tree as `treeOf` gives it below its one folder at the top. */
const withoutRoot = (tree: Tree): Tree => Object.fromEntries(Object.entries(tree).slice(1));

interface ProgressLine {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

/** The lines of an answer of NDJSON: progress and nothing else, and an envelope as the last one. */
function linesOf(answer: Answer): { progress: ProgressLine[]; last: Record<string, unknown> } {
  assert.equal(answer.status, 200, answer.body.toString());
  assert.equal(answer.headers['content-type'], NDJSON);
  const text = answer.body.toString();
  assert.ok(text.endsWith('\n'));
  const lines = text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const last = lines.pop() ?? {};
  const progress = lines.map((line) => {
    assert.deepEqual(Object.keys(line), ['progress']);
    const told = line['progress'] as ProgressLine;
    assert.deepEqual(Object.keys(told).toSorted(), ['bytes', 'done', 'total']);
    return told;
  });
  return { progress, last };
}
