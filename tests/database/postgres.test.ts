import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { Database } from '../../src/database/database.ts';
import type { DatabaseFault } from '../../src/database/engine.ts';
import { openEngine } from '../../src/database/open.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { POSTGRES_PASSWORD, startPostgres, type TestPostgres } from '../../testing/servers/postgres.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertUnavailable, HISTORY, readNotes, testDatabase, untilAvailable } from './contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const create = async () => ({ url: await server.createDatabase(), stateFolder: '/nowhere' });

testDatabase('PostgreSQL', create);

describe('A PostgreSQL database', { concurrency: CONCURRENT_TESTS }, () => {
  it('fails a transaction whose connection is lost between two queries', async (t) => {
    const { url } = await create();
    const { database } = await start(t, url);
    const work = database.transaction(async (db) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
      await server.query(url, `select pg_terminate_backend(${rows[0]?.pid})`);
      await until('the loss is found', () => !database.isAvailable);
      await sql`select 1`.execute(db);
    });
    await assert.rejects(work, { code: 'database-unavailable' });
    await untilAvailable(database);
  });

  it('fails a query that finds no free connection, and stays available', async (t) => {
    const { database, kinds } = await start(t, (await create()).url);
    const { promise: end, resolve: release } = Promise.withResolvers<void>();
    const begun = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const running = begun.map(({ resolve }) =>
      database.transaction(async (db) => {
        await sql`select 1`.execute(db);
        resolve();
        await end;
      }),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    await assertUnavailable(database);
    assert.ok(database.isAvailable);
    release();
    await Promise.all(running);
    await database.run((db) => sql`select 1`.execute(db));
    assert.deepEqual(kinds(), [undefined]);
  });

  it('is unavailable with a wrong password, which no message contains', async (t) => {
    const { url } = await create();
    const wrong = url.replace(POSTGRES_PASSWORD, 'another-secret');
    const { states } = await start(t, wrong);
    assert.equal(states[0]?.kind, 'misconfigured');
    assert.match(
      states[0]?.message ?? '',
      /^The PostgreSQL server 127\.0\.0\.1:\d+\/test_\w+ refuses the user or the password in DATABASE_URL\.$/,
    );
    for (let error: unknown = states[0]; error instanceof Error; error = error.cause) {
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /another-secret/);
    }
  });

  it('is unavailable while the database of the URL does not exist', async (t) => {
    const { states } = await start(t, (await create()).url.replace(/\/test_\w+$/, '/absent'));
    assert.match(states[0]?.message ?? '', /\/absent has no database of the name in DATABASE_URL\. Create it\.$/);
  });

  it('is unreachable while the server does not respond', async (t) => {
    const silent = createServer().listen(await findFreePort(), '127.0.0.1');
    t.after(() => silent.close());
    const sockets: { destroy(): void }[] = [];
    silent.on('connection', (socket) => sockets.push(socket));
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    await once(silent, 'listening');
    const address = silent.address();
    assert.ok(address && typeof address === 'object');
    const { kinds } = await start(t, `postgres://holdall@127.0.0.1:${address.port}/files`);
    assert.deepEqual(kinds(), ['unreachable']);
  });

  it('notifies the listeners of all processes', async (t) => {
    const { url } = await create();
    const [one, other] = [(await start(t, url)).database, (await start(t, url)).database];
    const received: string[] = [];
    other.listen((topic) => received.push(topic));
    await one.notify('jobs');
    await until('the other process is notified', () => received.includes('jobs'));
  });
});

describe('A PostgreSQL database whose server is killed', () => {
  it('is unavailable while its server is down, and available after the server was restarted', async (t) => {
    const { database, kinds } = await start(t, (await create()).url);
    await server.kill();
    // The processes find the loss without a query.
    await until('the loss is found', () => !database.isAvailable);
    await assertUnavailable(database);
    await server.restart();
    await untilAvailable(database);
    assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
    assert.deepEqual([kinds()[0], kinds()[1], kinds().at(-1)], [undefined, 'unreachable', undefined]);
  });

  it('runs its migrations when the server starts later than Holdall', async (t) => {
    const { url } = await create();
    await server.kill();
    const { database, kinds } = await start(t, url);
    assert.deepEqual(kinds(), ['unreachable']);
    await server.restart();
    await untilAvailable(database);
    assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
  });
});

/** Starts a database that is closed after the test. Returns the faults that it reports. */
async function start(t: TestContext, url: string) {
  const states: (DatabaseFault | undefined)[] = [];
  const engine = await openEngine({ url, stateFolder: '/nowhere' });
  const database = new Database(engine, { migrations: HISTORY, onChange: (fault) => states.push(fault) });
  t.after(() => database.close());
  await database.start();
  return { database, states, kinds: () => states.map((fault) => fault?.kind) };
}
