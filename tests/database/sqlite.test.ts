import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Database } from '../../src/database/database.ts';
import type { DatabaseFault } from '../../src/database/engine.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { SqliteEngine } from '../../src/database/sqlite/engine.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { until } from '../../testing/until.ts';
import { mountTmpfs, remount } from '../faults/mounts.ts';
import { addNote, assertUnavailable, HISTORY, readNotes, testDatabase, untilAvailable } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-database-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
const create = async (): Promise<DatabaseLocation> => ({ url: undefined, stateFolder: join(folder, String(++count)) });
const fileIn = ({ stateFolder }: DatabaseLocation) => join(stateFolder, 'holdall.sqlite');

testDatabase('SQLite', create);

describe('A SQLite database', { concurrency: CONCURRENT_TESTS }, () => {
  /** Starts a database that is closed after the test. Returns the faults that it reports. */
  const start = async (t: TestContext, location: DatabaseLocation, busyTimeoutMs = 100) => {
    const states: (DatabaseFault | undefined)[] = [];
    const engine = new SqliteEngine(fileIn(location), { busyTimeoutMs });
    const database = new Database(engine, { migrations: HISTORY, onChange: (fault) => states.push(fault) });
    t.after(() => database.close());
    await database.start();
    return { database, kinds: () => states.map((fault) => fault?.kind) };
  };

  it('is created for its owner only', async (t) => {
    const location = await create();
    const { database } = await start(t, location);
    for (const suffix of ['', '-wal', '-shm']) {
      assert.equal((await stat(fileIn(location) + suffix)).mode & 0o777, 0o600, suffix);
    }
    assert.equal((await stat(location.stateFolder)).mode & 0o777, 0o700);
    assert.equal(database.engine.place, fileIn(location));
  });

  it('gets limits as literals, because it compiles a query again for each limit that is a parameter', async (t) => {
    const { database } = await start(t, await create());
    const { sql, parameters } = await database.run(async (db) =>
      db.selectFrom('jobs').select('id').where('kind', '=', 'copy').limit(3).offset(1).compile(),
    );
    assert.equal(sql, 'select "id" from "jobs" where "kind" = ? limit 3 offset ?');
    assert.deepEqual(parameters, ['copy', 1]);
  });

  it('is unavailable while its file is damaged, and available after it was replaced', async (t) => {
    const location = await create();
    await mkdir(location.stateFolder);
    await writeFile(fileIn(location), 'no database'.repeat(1000));
    const { database, kinds } = await start(t, location);
    assert.deepEqual(kinds(), ['corrupt']);
    await assertUnavailable(database);
    assert.equal(await readFile(fileIn(location), 'utf8'), 'no database'.repeat(1000));
    await rename(fileIn(location), `${fileIn(location)}.damaged`);
    await untilAvailable(database);
    assert.deepEqual(kinds(), ['corrupt', undefined]);
  });

  it('is created in no other folder while its own is away, as on a disk that is unmounted', async () => {
    const location = await create();
    const { stateFolder } = location;
    const engine = new SqliteEngine(fileIn(location));
    const connect = async () => (await engine.connect())[Symbol.asyncDispose]();
    await connect();
    const away = `${stateFolder} away`;
    await rename(stateFolder, away);
    await assert.rejects(connect(), { kind: 'unreachable' });
    assert.ok(!existsSync(stateFolder));
    // Like the folder below the mount point.
    await mkdir(stateFolder);
    await assert.rejects(connect(), { kind: 'unreachable' });
    assert.deepEqual(await readdir(stateFolder), []);
    await rm(stateFolder, { recursive: true });
    await rename(away, stateFolder);
    await connect();
    // A folder with a database, as from a backup, is another place, but not an empty one.
    await cp(stateFolder, away, { recursive: true });
    await rm(stateFolder, { recursive: true });
    await rename(away, stateFolder);
    await connect();
  });

  it('is unavailable while another program locks it', async (t) => {
    const location = await create();
    const { database, kinds } = await start(t, location);
    using other = new DatabaseSync(fileIn(location));
    other.exec('begin immediate');
    await assert.rejects(database.transaction(readNotes), { code: 'database-unavailable' });
    await assertUnavailable(database);
    other.exec('commit');
    await untilAvailable(database);
    assert.deepEqual(kinds(), [undefined, 'busy', undefined]);
  });

  it('is unavailable in a folder that is read-only, and available when it is writable', async (t) => {
    const location = await create();
    const reason = await mountTmpfs(t, location.stateFolder, 'size=16m');
    if (reason) return t.skip(reason);
    await remount(location.stateFolder, 'ro');
    const { database, kinds } = await start(t, location);
    assert.deepEqual(kinds(), ['read-only']);
    await assertUnavailable(database);
    await remount(location.stateFolder, 'rw');
    await untilAvailable(database);
    assert.deepEqual(kinds(), ['read-only', undefined]);
  });

  it('fails single queries while the disk is full, and remains available', async (t) => {
    const location = await create();
    const reason = await mountTmpfs(t, location.stateFolder, 'size=1m');
    if (reason) return t.skip(reason);
    const { database, kinds } = await start(t, location);
    await assert.rejects(
      database.run((db) => addNote(db, 'z'.repeat(2 ** 20))),
      { code: 'state-full' },
    );
    assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
    assert.deepEqual(kinds(), [undefined]);
  });

  it('is opened again after its file was removed', async (t) => {
    const location = await create();
    const { database, kinds } = await start(t, location);
    for (const suffix of ['', '-wal', '-shm']) await rm(fileIn(location) + suffix);
    await until('the loss is found', () => kinds().includes('unreachable'));
    await untilAvailable(database);
    assert.deepEqual(kinds(), [undefined, 'unreachable', undefined]);
    assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
    assert.ok(await stat(fileIn(location)));
  });

  it('is backed up while it is in use', async (t) => {
    const location = await create();
    const { database } = await start(t, location);
    await database.run((db) => addNote(db, 'written before'));
    const backup = { url: undefined, stateFolder: join(folder, 'backup') };
    const engine = await openEngine(location);
    await database.transaction(async (transaction) => {
      await addNote(transaction, 'not committed');
      await engine.backUp?.(fileIn(backup));
    });
    assert.equal((await stat(fileIn(backup))).mode & 0o777, 0o600);
    const restored = await start(t, backup);
    const texts = (await restored.database.run(readNotes)).map((row) => (row as { text: string }).text);
    assert.deepEqual(texts, ['kept', 'written before']);
  });

  it('does not block the process while it waits for a lock', async (t) => {
    const location = await create();
    // Longer than a busy machine can delay the timer that releases the lock.
    const { database } = await start(t, location, 20_000);
    using other = new DatabaseSync(fileIn(location));
    other.exec('begin immediate');
    const waiting = database.transaction(readNotes);
    // Only this process can release the lock.
    setTimeout(() => other.exec('commit'), 20);
    assert.deepEqual(await waiting, [{ id: 1, text: 'kept' }]);
  });
});
