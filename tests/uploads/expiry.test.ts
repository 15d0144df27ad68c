import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { SERVICE } from '../../src/access/submitter.ts';
import { ExpiryClock } from '../../src/jobs/expiry-clock.ts';
import type { JobContext } from '../../src/jobs/job.ts';
import { isPlausibleTime } from '../../src/model/clock.ts';
import { StoreError } from '../../src/model/error.ts';
import { createUploadExpiry, createUploads } from '../../src/server/uploads.ts';
import type { NewUpload } from '../../src/uploads/uploads.ts';
import { atEnd } from '../../testing/holdall.ts';
import { disk } from '../contract/backend.ts';
import { file, ofKind, textOf } from '../contract/bytes.ts';
import { startDatabase } from './database-uploads.ts';

const DAY_MS = 24 * 60 * 60_000;
const DAYS = 7;

describe('The expiry of uploads', () => {
  it('removes content that no upload of the database has, when every service has expired it', async (t) => {
    const { store, begin, expireIn } = await open(t);
    const [orphan, other] = ['11111111-aaaa', await begin()];
    await store.createUpload(orphan, { file: file('a'), type: 'text/x-a' });
    assert.deepEqual(await expireIn(DAYS - 1), { count: 0, orphaned: 0 });
    assert.deepEqual(await expireIn(DAYS + 1), { count: 1, orphaned: 0 }, 'another service could have the other one');
    await assert.rejects(store.openUpload(other), ofKind('not-found'));
    assert.equal((await store.openUpload(orphan)).offset, 0);
    const begun = await begin();
    assert.deepEqual(await expireIn(DAYS + 31), { count: 1, orphaned: 1 });
    for (const id of [orphan, begun]) await assert.rejects(store.openUpload(id), ofKind('not-found'));
  });

  it('removes no content of an upload that the database has', async (t) => {
    const { store, begin, expireIn, database } = await open(t);
    const id = await begin();
    const expires_at = Date.now() + 1000 * DAY_MS;
    await database.run((db) => db.updateTable('uploads').set({ expires_at }).execute());
    assert.deepEqual(await expireIn(DAYS + 31), { count: 0, orphaned: 0 });
    assert.equal(await (await store.openUpload(id)).append(Readable.from([Buffer.from('a')])), 1);
  });
});

describe('The expiry of uploads, if the store or the database fails at a step', () => {
  const fail = async () => {
    throw new StoreError('store-unreachable', 'The store is unreachable.');
  };
  const STEPS: Readonly<Record<string, (t: TestContext, opened: Awaited<ReturnType<typeof open>>) => void>> = {
    'before the content': (t, { contents }) => void t.mock.method(contents, 'openUpload', fail, { times: 1 }),
    'at the content'(t, { contents }) {
      const { openUpload } = contents;
      const openFailing = async (id: string) => {
        const content = await openUpload(id);
        t.mock.method(content, 'remove', fail, { times: 1 });
        return content;
      };
      // The first upload has no content.
      t.mock.method(contents, 'openUpload', openFailing, { times: 2 });
    },
    'after the content': (t, { table }) => void t.mock.method(table, 'remove', fail, { times: 1 }),
  };
  for (const [step, failAt] of Object.entries(STEPS)) {
    it(`completes later what failed ${step}, and removes no file that an upload became`, async (t) => {
      const opened = await open(t);
      const { store, contents, table, begin, expireIn } = opened;
      const [finished, ...unfinished] = [await begin(), await begin(), await begin()];
      await (await store.openUpload(finished)).append(Readable.from([Buffer.from('text')]));
      // A restored database still has the upload.
      await (await store.openUpload(finished)).commit(file('a'), { type: 'text/x-a' });
      failAt(t, opened);
      await assert.rejects(expireIn(DAYS + 1), ofKind('unavailable'));
      await expireIn(DAYS + 1);
      for (const id of [finished, ...unfinished]) {
        await assert.rejects(contents.openUpload(id), ofKind('not-found'));
        assert.equal(await table.has(id), false);
      }
      assert.equal(await textOf(opened.files, 'a'), 'text');
    });
  }
});

describe('The uploads of a removed user', () => {
  it('end for a later user of the same name, except those of an identity provider', async (t) => {
    const { store, table, begin, expireIn } = await open(t);
    const ofAnn = await begin({ owner: 'ann', ownerHasEntry: true });
    const others = [await begin({ owner: 'ann' }), await begin()];
    await table.endOfRemoved((name) => name === 'ann');
    assert.ok(await table.find(ofAnn));
    await table.endOfRemoved(() => false);
    assert.equal(await table.find(ofAnn), undefined);
    assert.deepEqual(
      (await table.list('ann')).map(({ id }) => id),
      others.slice(0, 1),
    );
    assert.deepEqual(await expireIn(0), { count: 1, orphaned: 0 });
    await assert.rejects(store.openUpload(ofAnn), ofKind('not-found'));
    for (const id of others) assert.ok(await table.find(id));
  });
});

describe('The clock of an expiry', () => {
  it('follows a clock that jumps ahead only slowly, and does not fall behind forever', async (t) => {
    const { database } = await open(t);
    const clock = new ExpiryClock(database);
    const advanced = async (kind = 'a') => (await clock.advance(kind))?.getTime() ?? Number.NaN;
    const start = await advanced();
    assert.ok(Math.abs(start - Date.now()) < DAY_MS);
    const setTime = (time: number) => database.run((db) => db.updateTable('expiry_clocks').set({ time }).execute());
    await setTime(start - 10 * DAY_MS);
    assert.equal(await advanced(), start - 9.75 * DAY_MS);
    assert.equal(await advanced(), start - 9.5 * DAY_MS);
    assert.ok((await advanced('b')) >= start, 'each kind has its own clock');
    await setTime(start + 10 * DAY_MS);
    assert.ok((await advanced()) < start + DAY_MS);
  });

  it('knows no time while the clock is decades behind, and otherwise keeps the last one', async (t) => {
    const { database } = await open(t);
    const clock = new ExpiryClock(database);
    const showing1986 = async () => {
      t.mock.timers.enable({ apis: ['Date'], now: new Date('1986-01-01') });
      const found = await clock.advance('a');
      t.mock.timers.reset();
      return found;
    };
    assert.equal(await showing1986(), undefined);
    const last = await clock.advance('a');
    assert.deepEqual(await showing1986(), last);
  });

  it('takes no time after 2075 for the present one', () => {
    assert.equal(isPlausibleTime(Date.UTC(2099, 0)), false);
    assert.equal(isPlausibleTime(Date.now()), true);
  });
});

/** Opens a disk and a database. `expireIn` runs the job as if so many days had passed. */
async function open(t: TestContext) {
  const stateFolder = await mkdtemp(join(tmpdir(), 'holdall-uploads-'));
  atEnd(t, () => rm(stateFolder, { recursive: true, force: true }));
  const database = await startDatabase({ url: undefined, stateFolder });
  atEnd(t, () => database.close());
  const opened = await disk.open();
  atEnd(t, () => opened.close());
  const { createUpload, openUpload, removeUploads } = opened.store;
  assert.ok(createUpload && openUpload && removeUploads);
  const store = { createUpload, openUpload, removeUploads };
  const uploads = createUploads(database, opened.store, {
    days: DAYS,
    partBytes: 2 ** 20,
    isDirect: false,
    presignExpires: 60,
  });
  const begin = async (owner: Partial<Pick<NewUpload, 'owner' | 'ownerHasEntry'>> = {}) => {
    const target = { file: file('a'), type: 'text/x-a' };
    const unknown = {
      owner: undefined,
      ownerHasEntry: false,
      network: undefined,
      site: undefined,
      appToken: undefined,
      size: undefined,
      modified: undefined,
    };
    const { id } = await uploads.table.create({
      ...unknown,
      ...owner,
      path: target.file,
      type: target.type,
      condition: undefined,
      metadata: undefined,
    });
    await createUpload(id, target);
    return id;
  };
  const expireIn = async (days: number) => {
    const clock = { advance: async () => new Date(Date.now() + days * DAY_MS) };
    const logger = { info: () => {} };
    const { run } = createUploadExpiry({ uploads, store, days: DAYS, clock, logger });
    return run({}, CONTEXT);
  };
  const { table, contents } = uploads;
  return { store, files: opened.store, database, table, contents, begin, expireIn };
}

const CONTEXT: JobContext = {
  submitter: SERVICE,
  isResumed: false,
  target: undefined,
  createdAt: new Date(),
  signal: new AbortController().signal,
  onProgress: () => {},
  checkpoint: undefined,
  save: async () => {},
};
