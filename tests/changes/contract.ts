import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { START } from '../../src/changes/cursor.ts';
import { ChangeFeed } from '../../src/changes/feed.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { ChangeRecorder, type RecorderOptions } from '../../src/changes/recorder.ts';
import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import type { Change, LoggedChange } from '../../src/model/change.ts';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile } from '../../src/model/path.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

const DAY_MS = 24 * 60 * 60_000;

export const RECORDER: RecorderOptions = {
  retention: { ageMs: DAY_MS, maxChanges: 1_000_000 },
  beatMs: 50,
  // Longer than a busy machine suspends a process.
  timeoutMs: 4000,
  expiryMs: DAY_MS,
  log: { info: () => {}, warn: () => {}, error: () => {} },
};

const created = (path: string): Change => ({ type: 'file.created', path: parseFile(path) });

const hasCode = (code: string) => (error: unknown) => isStoreError(error) && error.code === code;

/** Returns a subscriber whose notifications do not matter. */
const ignoring = () => ({ onChanges: () => {} });

const pathsOf = (changes: readonly LoggedChange[]) => changes.map(({ path }) => path);

/**
 * The tests that the change log passes on every database engine. `create` returns the location of an empty database for a test.
 * `kills`: whether processes are also killed. With PostgreSQL, only `tests/long` does that.
 */
export function testChanges(
  engineName: string,
  create: (t: TestContext) => Promise<DatabaseLocation>,
  { kills = true }: { readonly kills?: boolean } = {},
): void {
  describe(`The change log on ${engineName}`, { concurrency: CONCURRENT_TESTS }, () => {
    const open = async (t: TestContext, location?: DatabaseLocation) => {
      const database = new Database(await openEngine(location ?? (await create(t))));
      atEnd(t, () => database.close());
      await database.start();
      return { database, log: new ChangeLog(database) };
    };
    const startRecorder = async (t: TestContext, { database, log }: { database: Database; log: ChangeLog }) => {
      const recorder = new ChangeRecorder(log, database, RECORDER);
      atEnd(t, () => recorder.close());
      await recorder.start();
      return recorder;
    };
    const startProcess = (t: TestContext, location: DatabaseLocation, name: string, count: number): ChildProcess => {
      const script = fileURLToPath(new URL('recording-process.ts', import.meta.url));
      const child = spawn(process.execPath, [script, JSON.stringify(location), name, String(count)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      atEnd(t, async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      });
      return child;
    };
    const readAll = async (log: ChangeLog) => (await log.read(START, 100_000)).changes;

    it('returns changes as they were recorded, with the ID as the cursor of later ones', async (t) => {
      const { log } = await open(t);
      const change: Change = {
        type: 'file.copied',
        path: parseFile('b/ü "'),
        from: parseFile('a'),
        size: 2 ** 40,
        etag: 'e"tag',
        user: 'ann',
      };
      await log.append([change, created('c')]);
      const { changes, cursor, hasMore } = await log.read(START, 1);
      const [first] = changes;
      assert.ok(first);
      const { id, time, ...rest } = first;
      assert.deepEqual(rest, change);
      assert.ok(Math.abs(time.getTime() - Date.now()) < 60_000);
      assert.deepEqual([id, hasMore], [cursor, true]);
      const next = await log.read(await log.positionOf(id), 10);
      assert.deepEqual([pathsOf(next.changes), next.hasMore], [['c'], false]);
      assert.deepEqual((await log.newest()).cursor, next.cursor);
    });

    it('returns the newest changes first, and continues before a change', async (t) => {
      const { log } = await open(t);
      assert.deepEqual((await log.readBefore(undefined, 2)).changes, []);
      await log.append(['a', 'b', 'c', 'd'].map(created));
      const newest = await log.readBefore(undefined, 2);
      assert.deepEqual([pathsOf(newest.changes), newest.hasMore], [['d', 'c'], true]);
      await log.append([created('e')]);
      const next = await log.readBefore(await log.positionOf(newest.cursor), 2);
      assert.deepEqual([pathsOf(next.changes), next.hasMore], [['b', 'a'], false]);
      assert.deepEqual((await log.readBefore(next.end, 2)).changes, []);
      await log.expire({ ageMs: DAY_MS, maxChanges: 1 });
      const expired = await log.readBefore(newest.end, 2);
      assert.deepEqual([expired.changes, expired.hasMore], [[], false]);
    });

    it('never shows a number before a smaller one, with two processes that write', async (t) => {
      const location = await create(t);
      const { log } = await open(t, location);
      const names = ['p', 'q'];
      for (const name of names) startProcess(t, location, name, 8);
      const seen: string[] = [];
      let position = START;
      await until('all changes are read', async () => {
        // Reads only forward: a change that became visible late would be missing.
        const page = await log.read(position, 7);
        position = page.end;
        seen.push(...pathsOf(page.changes));
        return seen.length >= 160;
      });
      assert.equal(position.sequence, 160);
      assert.equal(new Set(seen).size, 160);
      for (const name of names) {
        for (let index = 0; index < 8; index++) {
          const prefix = `${name}/${index}/`;
          const own = seen.filter((path) => path.startsWith(prefix));
          assert.deepEqual(
            own,
            Array.from({ length: 10 }, (_, round) => `${prefix}${round}`),
          );
        }
      }
    });

    it('refuses cursors of another database, and of changes that a restored backup does not have', async (t) => {
      const { log, database } = await open(t);
      const other = await open(t);
      await log.append([created('a'), created('b')]);
      await other.log.append([created('a')]);
      const { cursor } = await log.newest();
      await assert.rejects(other.log.positionOf(cursor), hasCode('cursor-expired'));
      await assert.rejects(log.positionOf('short'), hasCode('invalid-cursor'));
      const position = await log.positionOf(cursor);
      await database.run((db) => db.deleteFrom('changes').where('sequence', '=', 2).execute());
      await database.run((db) => db.updateTable('change_feed').set({ last_sequence: 1 }).execute());
      await assert.rejects(log.read(position, 10), hasCode('cursor-expired'));
      await assert.rejects(log.readBefore(position, 10), hasCode('cursor-expired'));
      await until('the clock has advanced', () => Date.now() > position.time + 1);
      await log.append([created('other')]);
      await assert.rejects(log.read(position, 10), hasCode('cursor-expired'));
      await assert.rejects(log.readBefore(position, 10), hasCode('cursor-expired'));
    });

    it('deletes changes by age and number, and refuses cursors before them', async (t) => {
      const { log, database } = await open(t);
      await log.append(Array.from({ length: 2500 }, (_, index) => created(`${index + 1}`)));
      const [first] = (await log.read(START, 1)).changes;
      assert.ok(first);
      const position = await log.positionOf(first.id);
      await log.expire({ ageMs: DAY_MS, maxChanges: 10 });
      assert.deepEqual(pathsOf((await log.read(await log.oldest(), 100)).changes).at(0), '2491');
      await assert.rejects(log.read(position, 10), hasCode('cursor-expired'));
      const { end } = await log.newest();
      await database.run((db) => db.updateTable('changes').set({ time: 1 }).where('sequence', '<', 2499).execute());
      await log.expire({ ageMs: DAY_MS, maxChanges: 10 });
      assert.deepEqual(pathsOf((await log.read(await log.oldest(), 100)).changes), ['2499', '2500']);
      await database.run((db) => db.updateTable('changes').set({ time: 1 }).execute());
      await log.expire({ ageMs: DAY_MS, maxChanges: 10 });
      assert.deepEqual((await log.read(end, 10)).changes, []);
      await log.append([created('next')]);
      assert.deepEqual(pathsOf((await log.read(end, 10)).changes), ['next']);
    });

    it('deletes old changes at the start only after its owner has read them', async (t) => {
      const { log, database } = await open(t);
      await log.append(['a', 'b', 'c'].map(created));
      const seen: string[][] = [];
      const onBeat = async () => void seen.push(pathsOf((await log.read(START, 10)).changes));
      const retention = { ageMs: DAY_MS, maxChanges: 1 };
      const recorder = new ChangeRecorder(log, database, { ...RECORDER, beatMs: DAY_MS, retention, onBeat });
      atEnd(t, () => recorder.close());
      await recorder.start();
      assert.deepEqual(seen, [['a', 'b', 'c']]);
      assert.deepEqual(pathsOf((await log.read(await log.oldest(), 10)).changes), ['c']);
    });

    it('writes a resync when the database is available again', async (t) => {
      const { database, log } = await open(t);
      const recorder = await startRecorder(t, { database, log });
      await recorder.record([created('before')]);
      const { isAvailable } = database;
      Object.defineProperty(database, 'isAvailable', { value: false, configurable: true });
      await recorder.record([created('lost')]);
      Object.defineProperty(database, 'isAvailable', { get: () => isAvailable, configurable: true });
      await until('the resync is written', async () => (await readAll(log)).length === 2);
      await recorder.record([created('after')]);
      const changes = (await readAll(log)).map(({ type, path }) => `${type} ${path}`);
      assert.deepEqual(changes, ['file.created before', 'resync ', 'file.created after']);
    });

    if (kills)
      it('writes one resync for a process that was killed, and none for one that was closed', async (t) => {
        const location = await create(t);
        const { database, log } = await open(t, location);
        const closed = new ChangeRecorder(log, database, RECORDER);
        await closed.start();
        await closed.close();
        const child = startProcess(t, location, 'killed', 0);
        assert.ok(child.stdout);
        await once(child.stdout, 'data');
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
        await startRecorder(t, await open(t, location));
        await startRecorder(t, { database, log });
        await until('the resync is written', async () => (await readAll(log)).length > 0);
        const rows = await database.run((db) => db.selectFrom('change_writers').selectAll().execute());
        assert.equal(rows.length, 2);
        assert.deepEqual(
          (await readAll(log)).map(({ type }) => type),
          ['resync'],
        );
      });

    it('records operations that end while it closes, and expects a resync for one that does not', async (t) => {
      const { database, log } = await open(t);
      const writers = () => database.run((db) => db.selectFrom('change_writers').select('id').execute());
      for (const endsInTime of [true, false]) {
        const recorder = new ChangeRecorder(log, database, RECORDER);
        await recorder.start();
        recorder.begin();
        const closing = recorder.close();
        await nextTurn();
        if (endsInTime) await recorder.end([created('late')]);
        await closing;
        assert.deepEqual(pathsOf(await readAll(log)), ['late']);
        assert.equal((await writers()).length, endsInTime ? 0 : 1);
      }
    });

    it('wakes up subscribers of other processes, which share what they read', async (t) => {
      const location = await create(t);
      const [reader, writer] = [await open(t, location), await open(t, location)];
      const options = {
        pollMs: 50,
        heartbeatMs: 1000,
        drainMs: 1000,
        limits: { total: 4, anonymous: 1, perSubscriber: 2 },
      };
      const feed = new ChangeFeed(reader.log, reader.database, { ...options, log: RECORDER.log });
      atEnd(t, () => feed.close());
      feed.start();
      const notified = new Set<string>();
      const named = (key: string) => ({ key, isAnonymous: false });
      const anonymous = (key: string) => ({ key, isAnonymous: true });
      const ending = ['first', 'second'].map((each) =>
        feed.subscribe(named('ann'), { onChanges: () => void notified.add(each) }),
      );
      assert.throws(() => feed.subscribe(named('ann'), ignoring()), hasCode('overloaded'));
      ending.push(feed.subscribe(anonymous('one'), ignoring()));
      assert.throws(() => feed.subscribe(anonymous('two'), ignoring()), hasCode('overloaded'));
      ending.push(feed.subscribe(named('ben'), ignoring()));
      assert.throws(() => feed.subscribe(named('cat'), ignoring()), hasCode('overloaded'));
      await writer.log.append([created('a')]);
      await until('both are notified', () => notified.size === 2);
      const page = await feed.read(START, 10);
      assert.equal(await feed.read(START, 10), page);
      assert.deepEqual(pathsOf(page.changes), ['a']);
      for (const end of ending) end();
    });
  });
}
