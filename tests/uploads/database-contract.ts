import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import type { DatabaseLocation } from '../../src/database/open.ts';
import { StoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { ContentLimits } from '../../src/uploads/database-contents.ts';
import { type Upload, Uploads } from '../../src/uploads/uploads.ts';
import type { Owner } from '../../testing/at-end.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { file, plant, textOf } from '../contract/bytes.ts';
import { pendingUploadsContract } from '../contract/pending-uploads.ts';
import { type DatabaseUploadsStore, databaseUploads, startDatabase, withDatabaseUploads } from './database-uploads.ts';

const MIB = 2 ** 20;
const HOUR_MS = 60 * 60_000;
const TARGET = { file: file('a'), type: 'text/x-a' };
const valid = async () => {};

/** Tests uploads whose content is in a database. `locate` returns the location of an empty one for an owner. */
export function testDatabaseUploads(engine: string, locate: (owner: Owner) => Promise<DatabaseLocation>): void {
  pendingUploadsContract(databaseUploads({ ...memory, name: `memory with ${engine}` }, locate));

  describe(`The table of uploads on ${engine}`, () => {
    const openTable = async (t: TestContext) => {
      const database = await startDatabase(await locate(t));
      atEnd(t, () => database.close());
      const table = new Uploads(database, { lifetimeMs: 7 * 24 * HOUR_MS, leaseMs: 1_000 });
      const unknown = { appToken: undefined, type: undefined, size: undefined, modified: undefined };
      const upload = { ...unknown, path: TARGET.file, condition: undefined, metadata: undefined, ownerHasEntry: false };
      const begin = (network: string | undefined, { site = network, owner }: { site?: string; owner?: string } = {}) =>
        table.create({ ...upload, network, site, owner });
      const expire = (...ids: string[]) =>
        database.run((db) => db.updateTable('uploads').set({ expires_at: 0 }).where('id', 'in', ids).execute());
      /** Adds copies of an upload, as if it had begun so many times more. */
      const repeat = (id: string, count: number) =>
        database.run(async (db) => {
          const row = await db.selectFrom('uploads').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
          const copies = Array.from({ length: count }, (_, index) => ({ ...row, id: `${id}-${index}` }));
          await db.insertInto('uploads').values(copies).execute();
        });
      return { table, begin, expire, repeat };
    };

    it('limits the unfinished uploads of the anonymous users of each network', async (t) => {
      const { table, begin, expire, repeat } = await openTable(t);
      const [first, second] = [await begin('192.0.2.1'), await begin('192.0.2.1')];
      await repeat(second.id, 97);
      await begin('192.0.2.1');
      const message = /^Anonymous users of your network already have 100 unfinished uploads, the maximum\./;
      await assert.rejects(begin('192.0.2.1'), { message });
      await begin('192.0.2.2');
      await begin(undefined, { owner: 'ann' });
      await table.finish(first.id, { path: 'a', etag: 'e' });
      await begin('192.0.2.1');
      await assert.rejects(begin('192.0.2.1'), { message });
      await expire(second.id);
      await begin('192.0.2.1');
    });

    it('limits those of all networks that one site can have', async (t) => {
      const { begin, repeat } = await openTable(t);
      for (let network = 0; network < 10; network++) {
        const { id } = await begin(`2001:db8:1:${network}::`, { site: '2001:db8:1::' });
        await repeat(id, network === 9 ? 98 : 99);
      }
      await begin('2001:db8:1:99::', { site: '2001:db8:1::' });
      const message = /^Anonymous users of your network already have 1000 unfinished uploads, the maximum\./;
      await assert.rejects(begin('2001:db8:1:99::', { site: '2001:db8:1::' }), { message });
      await begin('2001:db8:2:99::', { site: '2001:db8:2::' });
    });

    it('expires uploads of anonymous users after an hour, unless some of their content arrives', async (t) => {
      const { table, begin, expire } = await openTable(t);
      const lifetime = ({ createdAt, expiresAt }: Upload) => expiresAt.getTime() - createdAt.getTime();
      const [anonymous, own] = [await begin('192.0.2.1'), await begin(undefined, { owner: 'ann' })];
      assert.deepEqual([anonymous, own].map(lifetime), [HOUR_MS, 7 * 24 * HOUR_MS]);
      for (const { id, createdAt } of [anonymous, own]) {
        const expiresAt = new Date(createdAt.getTime() + 7 * 24 * HOUR_MS);
        assert.deepEqual(await table.extend(id), expiresAt);
        assert.deepEqual((await table.find(id))?.expiresAt, expiresAt);
      }
      const ended = await begin('192.0.2.1');
      await expire(ended.id);
      assert.equal(await table.extend(ended.id), undefined);
      assert.equal(await table.find(ended.id), undefined);
    });
  });

  describe(`An upload in the database on ${engine}`, { concurrency: CONCURRENT_TESTS }, () => {
    const open = async (t: TestContext, { limits, ...members }: Partial<Store> & { limits?: ContentLimits } = {}) => {
      const database = await startDatabase(await locate(t));
      atEnd(t, () => database.close());
      const store = withDatabaseUploads({ ...createMemoryStore(), ...members }, database, limits);
      return { database, store };
    };
    const append = async ({ openUpload }: DatabaseUploadsStore, bytes: string | Buffer, id = 'id') =>
      (await openUpload(id)).append(Readable.from([Buffer.from(bytes)]));
    const commit = async ({ openUpload }: DatabaseUploadsStore, options = {}) =>
      (await openUpload('id')).commit(TARGET.file, { type: TARGET.type }, options);
    const offsetOf = async ({ openUpload }: DatabaseUploadsStore, id = 'id') => (await openUpload(id)).offset;

    for (const verify of [undefined, valid]) {
      it(`ignores ${verify ? 'a verified' : 'an'} append that continues after a newer one began`, async (t) => {
        const { database, store } = await open(t);
        await store.createUpload('id', TARGET);
        await append(store, 'ab');
        const old = openBody();
        const outdated = (await store.openUpload('id')).append(old, { verify });
        old.push(Buffer.alloc(MIB + 1, 'x'));
        await until('a row was added', async () => (await countRows(database)) === 3);
        const offset = verify ? 2 : 2 + MIB;
        assert.equal(await append(store, 'cd'), offset + 2);
        old.push(Buffer.alloc(2 * MIB, 'y'));
        old.push(null);
        await assert.rejects(outdated, { code: 'upload-in-use' });
        assert.equal(await offsetOf(store), offset + 2);
        await commit(store);
        assert.equal(await textOf(store, 'a'), `ab${'x'.repeat(offset - 2)}cd`);
        assert.equal(await countRows(database), 0);
      });
    }

    it('counts nothing of a verified append whose process ended', async (t) => {
      const { database, store } = await open(t);
      await store.createUpload('id', TARGET);
      await append(store, 'ab');
      const body = openBody();
      const lost = (await store.openUpload('id')).append(body, { verify: valid });
      body.push(Buffer.alloc(3 * MIB));
      await until('all rows were added', async () => (await countRows(database)) === 5);
      assert.equal(await offsetOf(store), 2);
      assert.equal(await append(store, 'cd'), 4);
      await commit(store);
      assert.equal(await textOf(store, 'a'), 'abcd');
      body.push(null);
      await assert.rejects(lost, { code: 'not-found' });
    });

    for (const condition of ['absent', undefined] as const) {
      it(`recognizes its file after an interrupted commit with the condition ${condition}`, async (t) => {
        let writes = 0;
        const inner = createMemoryStore();
        const write: Store['write'] = async (...args) => {
          const entry = await inner.write(...args);
          writes++;
          if (writes === 1) throw new StoreError('outcome-unknown', 'The connection was lost.');
          return entry;
        };
        const { database, store } = await open(t, { ...inner, write });
        await store.createUpload('id', TARGET);
        await append(store, 'text');
        await assert.rejects(commit(store, { condition }), { code: 'outcome-unknown' });
        assert.equal((await commit(store, { condition })).etag, (await store.stat(TARGET.file)).etag);
        assert.equal(writes, 1);
        assert.equal(await countRows(database), 0);
      });
    }

    it('does not take the file of another client for its own after an interrupted commit', async (t) => {
      const inner = createMemoryStore();
      let isInterrupted = true;
      const write: Store['write'] = async (path, upload, options) => {
        if (!isInterrupted) return inner.write(path, upload, options);
        upload.body.destroy();
        throw new StoreError('store-unreachable', 'The connection was lost.');
      };
      const { store } = await open(t, { ...inner, write });
      await store.createUpload('id', TARGET);
      await append(store, 'text');
      await assert.rejects(commit(store, { condition: 'absent' }), { code: 'store-unreachable' });
      isInterrupted = false;
      await plant(store, { a: 'txet' });
      await assert.rejects(commit(store, { condition: 'absent' }), { code: 'name-taken' });
      assert.equal(await textOf(store, 'a'), 'txet');
      await commit(store);
      assert.equal(await textOf(store, 'a'), 'text');
    });

    it('is limited in its size, when it begins and while it grows', async (t) => {
      const { store } = await open(t, { limits: { uploadBytes: 2 * MIB, totalBytes: 100 * MIB } });
      await assert.rejects(store.createUpload('large', { ...TARGET, size: 2 * MIB + 1 }), { code: 'upload-too-large' });
      await store.createUpload('id', TARGET);
      await assert.rejects(append(store, randomBytes(2 * MIB + 1)), { code: 'upload-too-large' });
      assert.equal(await offsetOf(store), 2 * MIB);
    });

    it('shares a limit with all others', async (t) => {
      const { store } = await open(t, { limits: { uploadBytes: 3 * MIB, totalBytes: 3 * MIB } });
      await store.createUpload('other', TARGET);
      await append(store, randomBytes(2 * MIB), 'other');
      await assert.rejects(store.createUpload('large', { ...TARGET, size: MIB + 1 }), { code: 'store-full' });
      await store.createUpload('id', TARGET);
      await assert.rejects(append(store, randomBytes(MIB + 1)), { code: 'store-full' });
      assert.equal(await offsetOf(store), MIB);
      await (await store.openUpload('other')).remove();
      assert.equal(await append(store, 'b'), MIB + 1);
    });

    it('disappears with its row in the table of uploads', async (t) => {
      const { database, store } = await open(t);
      await store.createUpload('id', TARGET);
      await append(store, randomBytes(MIB + 1));
      assert.equal(await countRows(database), 3);
      await database.run((db) => db.deleteFrom('uploads').where('id', '=', 'id').execute());
      assert.equal(await countRows(database), 0);
      await assert.rejects(store.openUpload('id'), { code: 'not-found' });
    });

    it('requires a path that a file can have', async (t) => {
      const { store } = await open(t);
      await plant(store, { 'folder/': null, 'folder/file': 'text' });
      for (const path of ['folder', 'folder/file/a', 'folder/file/b/c/d']) {
        await assert.rejects(store.createUpload(path, { ...TARGET, file: file(path) }), { code: 'wrong-kind' }, path);
      }
      await store.createUpload('id', { ...TARGET, file: file('folder/new/a') });
    });

    it('fails while the database is unavailable', async (t) => {
      const { database, store } = await open(t);
      await store.createUpload('id', TARGET);
      const upload = await store.openUpload('id');
      await database.close();
      await assert.rejects(upload.append(Readable.from([Buffer.from('a')])), { code: 'database-unavailable' });
      await assert.rejects(upload.commit(TARGET.file, TARGET), { code: 'database-unavailable' });
      await assert.rejects(store.openUpload('id'), { code: 'database-unavailable' });
    });
  });
}

/** Returns a body that stays open. */
const openBody = () => new Readable({ read() {} });

/** Returns the number of rows with content. */
async function countRows(database: Database): Promise<number> {
  const { rows } = await database.run((db) =>
    sql<{ count: number }>`select
      (select count(*) from upload_contents) + (select count(*) from upload_chunks) as count`.execute(db),
  );
  return rows[0]?.count ?? 0;
}
