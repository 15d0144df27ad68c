import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { createPolicy, type Policy } from '../../src/access/policy.ts';
import { createSubmitter, type Submitter } from '../../src/access/submitter.ts';
import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { defineKind, type Job, type JobContext, type JobKind } from '../../src/jobs/job.ts';
import { JobQueue } from '../../src/jobs/queue.ts';
import { removeJobsOfRemoved } from '../../src/jobs/removed-submitters.ts';
import { JobRunner, type RunnerOptions } from '../../src/jobs/runner.ts';
import { isStoreError, StoreError } from '../../src/model/error.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

/** Milliseconds of leases: longer than a busy machine suspends a process. */
export const LEASE_MS = 600_000;

/** Milliseconds after which nothing happens during a test. */
const NEVER_MS = 3_600_000;

export const ANN: Submitter = {
  user: { name: 'ann', groups: ['family'] },
  authMethod: 'token',
  clientAddress: '127.0.0.1',
  requestId: 'request-1',
  tokenHash: 'sha256:hash',
  entryHash: 'hash',
};

const ANONYMOUS: Submitter = { ...ANN, user: undefined, entryHash: undefined };

const BEN: Submitter = { ...ANN, user: { name: 'ben', groups: [] } };

export const OPTIONS: RunnerOptions = {
  maxRunning: 2,
  maxRunningPerOwner: 2,
  pollMs: 50,
  heartbeatMs: 100,
  finishedLifetimeMs: 60_000,
  describe: (error) => ({
    code: isStoreError(error) ? error.code : 'internal-error',
    message: error instanceof Error ? error.message : String(error),
  }),
  log: { warn: () => {}, error: () => {} },
};

/** A kind whose runs the test controls: each waits until its `settle` is called. */
class ControlledKind {
  readonly runs: { readonly name: string; readonly context: JobContext; settle(result: object | Error): void }[] = [];
  readonly kind: JobKind = defineKind({
    name: 'controlled',
    input: Type.Object({ name: Type.String() }),
    run: ({ name }, context) =>
      new Promise((resolve, reject) => {
        const abort = () => reject(context.signal.reason);
        context.signal.addEventListener('abort', abort, { once: true });
        const settle = (result: object | Error) => (result instanceof Error ? reject(result) : resolve(result));
        this.runs.push({ name, context, settle });
      }),
  });

  /** Waits for the run with this number, from 1. */
  run(number: number) {
    return until(`run ${number} has started`, () => this.runs[number - 1]);
  }
}

/**
 * The tests that jobs pass on every database engine. `create` returns the location of an empty database for a test.
 * `kills`: whether processes are also killed. With PostgreSQL, only `tests/long` does that.
 */
export function testJobs(
  engineName: string,
  create: (t: TestContext) => Promise<DatabaseLocation>,
  { kills = true }: { readonly kills?: boolean } = {},
): void {
  describe(`Jobs on ${engineName}`, { concurrency: CONCURRENT_TESTS }, () => {
    const open = async (t: TestContext, location: DatabaseLocation) => {
      const database = new Database(await openEngine(location));
      atEnd(t, () => database.close());
      await database.start();
      return { database, queue: new JobQueue(database, { leaseMs: LEASE_MS }) };
    };
    /** Starts a process's runner on a database. */
    const startRunner = async (
      t: TestContext,
      location: DatabaseLocation,
      kinds: readonly JobKind[],
      options: Partial<RunnerOptions> = {},
    ) => {
      const { database, queue } = await open(t, location);
      const runner = new JobRunner(queue, database, kinds, { ...OPTIONS, ...options });
      atEnd(t, () => runner.close());
      runner.start();
      return { database, queue, runner };
    };
    const leaseOf = (database: Database, { id }: Job) =>
      database.run((db) =>
        db.selectFrom('jobs').select(['lease', 'lease_expires_at']).where('id', '=', id).executeTakeFirstOrThrow(),
      );
    /** Expires the present lease of a job until another process has taken it over, which starts the run with this number. */
    const untilTakenOver = async (database: Database, job: Job, other: ControlledKind, run = 1) => {
      const { lease } = await leaseOf(database, job);
      return until('another process runs the job', async () => {
        await database.run((db) =>
          db
            .updateTable('jobs')
            .set({ lease_expires_at: 0 })
            .where('id', '=', job.id)
            .where('lease', '=', lease)
            .execute(),
        );
        return other.runs[run - 1];
      });
    };
    const untilStatus = (queue: JobQueue, { id }: Job, status: Job['status']) =>
      until(`the job is ${status}`, async () => {
        const job = await queue.find(id);
        return job?.status === status ? job : undefined;
      });

    it('run once, and store their result, progress and times', async (t) => {
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, await create(t), [controlled.kind]);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      assert.deepEqual([submitted.status, submitted.attempts, submitted.submitter], ['queued', 0, ANN]);
      const { context, settle } = await controlled.run(1);
      assert.deepEqual([context.submitter, context.isResumed], [ANN, false]);
      context.onProgress({ done: 1, total: 2, bytes: 10 });
      await until('the progress is stored', async () => (await queue.find(submitted.id))?.progress?.done === 1);
      context.onProgress({ done: 2, total: 2, bytes: 20 });
      settle({ message: 'done' });
      const job = await untilStatus(queue, submitted, 'succeeded');
      assert.deepEqual(
        [job.result, job.progress, job.attempts],
        [{ message: 'done' }, { done: 2, total: 2, bytes: 20 }, 1],
      );
      assert.ok(job.startedAt && job.finishedAt && job.finishedAt >= job.startedAt);
      assert.equal(controlled.runs.length, 1);
    });

    it('are each claimed by one of several processes', async (t) => {
      const location = await create(t);
      const { queue } = await open(t, location);
      const controlled = new ControlledKind();
      // With all at once, the last ones could wait for a connection until the timeout.
      for (let index = 0; index < 12; index++) await queue.submit('controlled', { name: `${index}` }, ANN);
      for (let count = 0; count < 4; count++)
        await startRunner(t, location, [controlled.kind], { maxRunning: 3, maxRunningPerOwner: 3 });
      await controlled.run(12);
      assert.equal(new Set(controlled.runs.map(({ name }) => name)).size, 12);
      for (const { settle } of controlled.runs) settle({});
      await until('all jobs ended', async () =>
        (await queue.list({ owner: 'ann', limit: 100, cursor: undefined })).jobs.every(
          ({ status }) => status === 'succeeded',
        ),
      );
      assert.equal(controlled.runs.length, 12);
    });

    it('start in turns of their owners, also in several processes', async (t) => {
      const location = await create(t);
      const [{ queue, database }, { queue: other }] = [await open(t, location), await open(t, location)];
      for (const [run_at, submitter] of [ANONYMOUS, ANONYMOUS, ANONYMOUS, ANN, ANN, BEN].entries()) {
        const { id } = await queue.submit('user', {}, submitter);
        await database.run((db) => db.updateTable('jobs').set({ run_at }).where('id', '=', id).execute());
      }
      const owners: string[] = [];
      const claim = async (each: JobQueue) => {
        const claimed = await each.claim([{ name: 'user' }, { name: 'service' }]);
        assert.ok(claimed);
        const { user, isService } = claimed.job.submitter;
        owners.push(isService ? 'service' : (user?.name ?? 'anonymous'));
        return claimed;
      };
      await claim(queue);
      const ofAnn = await claim(other);
      await claim(queue);
      for (const number of [1, 2]) await queue.schedule('service', { intervalMs: 1000, input: { number } });
      await claim(other);
      await claim(queue);
      await other.finish(ofAnn, { status: 'succeeded', result: {} });
      await claim(other);
      await claim(queue);
      assert.deepEqual(owners, ['anonymous', 'ann', 'ben', 'service', 'service', 'ann', 'anonymous']);
    });

    it('of one owner leave a part of each process to other owners', async (t) => {
      const location = await create(t);
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, location, [controlled.kind], { maxRunning: 4, maxRunningPerOwner: 2 });
      for (let count = 0; count < 4; count++) await queue.submit('controlled', { name: 'anonymous' }, ANONYMOUS);
      const first = await controlled.run(1);
      await controlled.run(2);
      await queue.schedule('controlled', { intervalMs: 1000, input: { name: 'service' } });
      await controlled.run(3);
      await queue.submit('controlled', { name: 'ann' }, ANN);
      const fourth = await controlled.run(4);
      fourth.settle({});
      first.settle({});
      await controlled.run(5);
      const names = controlled.runs.map(({ name }) => name);
      assert.deepEqual(names, ['anonymous', 'anonymous', 'service', 'ann', 'anonymous']);
    });

    // On SQLite, the messages of the cluster do this.
    const hasMessages = engineName !== 'SQLite';
    if (hasMessages)
      it('start at once in another process, without waiting for its poll', async (t) => {
        const location = await create(t);
        const controlled = new ControlledKind();
        await startRunner(t, location, [controlled.kind], { pollMs: NEVER_MS });
        const { queue } = await open(t, location);
        await queue.submit('controlled', { name: 'a' }, ANN);
        const { settle } = await controlled.run(1);
        settle({});
      });

    it('are retried after a temporary error, with a pause, and resumed', async (t) => {
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, await create(t), [controlled.kind]);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      (await controlled.run(1)).settle(new StoreError('store-busy', 'The store is busy.'));
      const waiting = await untilStatus(queue, submitted, 'queued');
      assert.deepEqual(waiting.failure, { code: 'store-busy', message: 'The store is busy.' });
      const { context, settle } = await controlled.run(2);
      assert.equal(context.isResumed, true);
      settle({});
      const { attempts, failure } = await untilStatus(queue, submitted, 'succeeded');
      assert.deepEqual([attempts, failure], [2, undefined]);
    });

    it('fail at once after any other error', async (t) => {
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, await create(t), [controlled.kind]);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      (await controlled.run(1)).settle(new StoreError('not-found', 'It does not exist.'));
      const job = await untilStatus(queue, submitted, 'failed');
      assert.deepEqual(job.failure, { code: 'not-found', message: 'It does not exist.' });
      assert.equal(controlled.runs.length, 1);
    });

    it('fail if their input does not fit their kind', async (t) => {
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, await create(t), [controlled.kind]);
      const submitted = await queue.submit('controlled', { name: 1 }, ANN);
      assert.equal((await untilStatus(queue, submitted, 'failed')).failure?.code, 'internal-error');
    });

    it('remain queued for a process that knows their kind', async (t) => {
      const location = await create(t);
      const { queue } = await startRunner(t, location, [new ControlledKind().kind]);
      const submitted = await queue.submit('of-a-newer-version', {}, ANN);
      const newer = defineKind({ name: 'of-a-newer-version', input: Type.Object({}), run: async () => ({}) });
      await startRunner(t, location, [newer]);
      await untilStatus(queue, submitted, 'succeeded');
    });

    it('end when they are cancelled, queued or running', async (t) => {
      const location = await create(t);
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, location, [controlled.kind], { maxRunning: 1 });
      const running = await queue.submit('controlled', { name: 'running' }, ANN);
      const { context } = await controlled.run(1);
      const queued = await queue.submit('controlled', { name: 'queued' }, ANN);
      assert.equal((await queue.cancel(queued.id))?.status, 'cancelled');
      // In another process.
      const other = await open(t, location);
      await other.queue.cancel(running.id);
      assert.equal((await untilStatus(queue, running, 'cancelled')).result, undefined);
      assert.ok(context.signal.aborted);
      assert.equal((await queue.cancel(running.id))?.status, 'cancelled');
      assert.equal(await queue.cancel('0'.repeat(36)), undefined);
      assert.equal(controlled.runs.length, 1);
    });

    it('end when their submitter loses a permission', async (t) => {
      const controlled = new ControlledKind();
      let isAllowed = true;
      const kind: JobKind = {
        ...controlled.kind,
        async confirm() {
          if (!isAllowed) throw new StoreError('denied', 'Revoked.');
        },
      };
      const { queue } = await startRunner(t, await create(t), [kind]);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      await controlled.run(1);
      isAllowed = false;
      assert.deepEqual((await untilStatus(queue, submitted, 'failed')).failure, {
        code: 'denied',
        message: 'Revoked.',
      });
    });

    if (kills)
      it('are resumed by another process after theirs was killed', async (t) => {
        const location = await create(t);
        const { queue, database } = await open(t, location);
        const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
        const child = spawn(process.execPath, [RUNNING_PROCESS, JSON.stringify(location)], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        atEnd(t, async () => void child.kill('SIGKILL'));
        await once(child.stdout, 'data');
        const controlled = new ControlledKind();
        await startRunner(t, location, [controlled.kind]);
        // The lease is renewed while the process is alive.
        const first = await leaseOf(database, submitted);
        await until('the lease is renewed', async () => {
          const { lease, lease_expires_at: expiresAt } = await leaseOf(database, submitted);
          assert.equal(lease, first.lease);
          return Number(expiresAt) > Number(first.lease_expires_at);
        });
        assert.equal(controlled.runs.length, 0);
        child.kill('SIGKILL');
        const { context, settle } = await untilTakenOver(database, submitted, controlled);
        assert.equal(context.isResumed, true);
        settle({});
        assert.equal((await untilStatus(queue, submitted, 'succeeded')).attempts, 2);
      });

    it('are aborted in a process that has lost their lease', async (t) => {
      const location = await create(t);
      const [slow, other] = [new ControlledKind(), new ControlledKind()];
      const { queue, database } = await startRunner(t, location, [slow.kind], { maxRunning: 1 });
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      const first = await slow.run(1);
      await startRunner(t, location, [other.kind]);
      // As after its process was suspended.
      const second = await untilTakenOver(database, submitted, other);
      await until('the first attempt is aborted', () => first.context.signal.aborted);
      second.settle({ by: 'other' });
      assert.deepEqual((await untilStatus(queue, submitted, 'succeeded')).result, { by: 'other' });
    });

    it('are known to have ended at once, also in another process that gets messages', async (t) => {
      const location = await create(t);
      const controlled = new ControlledKind();
      const { queue } = await startRunner(t, location, [controlled.kind]);
      const { queue: other } = await open(t, location);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      const waiting = [queue, other].map((each) =>
        each.untilEnded(submitted.id, {
          timeoutMs: NEVER_MS,
          signal: new AbortController().signal,
          pollMs: each === queue || hasMessages ? NEVER_MS : 100,
        }),
      );
      (await controlled.run(1)).settle({ by: 'the run' });
      for (const job of await Promise.all(waiting)) assert.deepEqual(job?.result, { by: 'the run' });
    });

    it('are not waited for longer than requested', async (t) => {
      const { queue } = await open(t, await create(t));
      const queued = await queue.submit('none', {}, ANN);
      const { signal } = new AbortController();
      assert.equal((await queue.untilEnded(queued.id, { timeoutMs: 1, signal }))?.status, 'queued');
      const controller = new AbortController();
      const left = queue.untilEnded(queued.id, { timeoutMs: 60_000, signal: controller.signal, pollMs: 60_000 });
      controller.abort();
      assert.equal((await left)?.status, 'queued');
      assert.equal(await queue.untilEnded('0'.repeat(36), { timeoutMs: 60_000, signal }), undefined);
      const cancelled = queue.untilEnded(queued.id, { timeoutMs: 60_000, signal, pollMs: 60_000 });
      await queue.cancel(queued.id);
      assert.equal((await cancelled)?.status, 'cancelled');
    });

    it('pass a checkpoint on to their next attempt', async (t) => {
      const location = await create(t);
      const [slow, other] = [new ControlledKind(), new ControlledKind()];
      const { queue, database } = await startRunner(t, location, [slow.kind], {
        maxRunning: 1,
        heartbeatMs: NEVER_MS,
      });
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      const first = await slow.run(1);
      assert.equal(first.context.checkpoint, undefined);
      await first.context.save({ step: 1 });
      await startRunner(t, location, [other.kind]);
      const second = await untilTakenOver(database, submitted, other);
      assert.deepEqual(second.context.checkpoint, { step: 1 });
      await assert.rejects(first.context.save({ step: 'of an attempt that has lost its lease' }));
      await second.context.save({ step: 2 });
      second.settle({});
      assert.deepEqual((await untilStatus(queue, submitted, 'succeeded')).checkpoint, { step: 2 });
    });

    it('return to the queue when their process stops, without another attempt', async (t) => {
      const location = await create(t);
      const controlled = new ControlledKind();
      const { queue, runner } = await startRunner(t, location, [controlled.kind], { heartbeatMs: 1 });
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      const first = await controlled.run(1);
      await runner.close();
      const released = await queue.find(submitted.id);
      assert.deepEqual([released?.status, released?.attempts], ['queued', 0]);
      const next = new ControlledKind();
      await startRunner(t, location, [next.kind]);
      const second = await next.run(1);
      assert.equal(first.context.signal.aborted, false);
      assert.deepEqual([first.context.isResumed, second.context.isResumed], [false, true]);
      first.settle({ by: 'the process that stops' });
      second.settle({ by: 'the next process' });
      assert.deepEqual((await untilStatus(queue, submitted, 'succeeded')).result, { by: 'the next process' });
    });

    it('are claimed only by services with their store, and have what they act on', async (t) => {
      const location = await create(t);
      const { database } = await open(t, location);
      const targetOf = async (kind: string, input: object) => ({ kind, ...input });
      const queue = new JobQueue(database, { leaseMs: LEASE_MS, store: 'one', targetOf });
      const other = new JobQueue(database, { leaseMs: LEASE_MS, store: 'other' });
      const kind = { name: 'controlled' };
      await queue.submit('controlled', { name: 'a' }, ANN);
      await queue.schedule('controlled', { intervalMs: 1000 });
      assert.equal(await other.claim([kind]), undefined);
      const claimed = [await queue.claim([kind]), await queue.claim([kind])];
      assert.deepEqual(
        new Set(claimed.map((each) => each?.job.target)),
        new Set([{ kind: 'controlled', name: 'a' }, undefined]),
      );
    });

    it('fail instead of starting when no process has run them for too long', async (t) => {
      const location = await create(t);
      const controlled = new ControlledKind();
      const { queue, database } = await open(t, location);
      const [queued, running, recent] = [
        await queue.submit('controlled', { name: 'queued' }, ANN),
        await queue.submit('controlled', { name: 'running' }, ANN),
        await queue.submit('controlled', { name: 'recent' }, ANN),
      ];
      const past = Date.now() - 2 * 3_600_000;
      const set = (id: string, columns: object) =>
        database.run((db) => db.updateTable('jobs').set(columns).where('id', '=', id).execute());
      await set(queued.id, { run_at: past });
      await set(running.id, { status: 'running', lease: 'of a process that was killed', lease_expires_at: past });
      await startRunner(t, location, [{ ...controlled.kind, maxIdleMs: 3_600_000 }]);
      for (const job of [queued, running]) {
        assert.equal((await untilStatus(queue, job, 'failed')).failure?.code, 'job-outdated');
      }
      (await controlled.run(1)).settle({});
      await untilStatus(queue, recent, 'succeeded');
      assert.equal(controlled.runs.length, 1);
    });

    it('are finished before their process has drained', async (t) => {
      const controlled = new ControlledKind();
      const { queue, runner } = await startRunner(t, await create(t), [controlled.kind]);
      const submitted = await queue.submit('controlled', { name: 'a' }, ANN);
      const { settle } = await controlled.run(1);
      const drained = runner.drain();
      settle({});
      await drained;
      assert.equal((await queue.find(submitted.id))?.status, 'succeeded');
    });

    it('are removed when they ended long ago', async (t) => {
      const location = await create(t);
      const { queue } = await open(t, location);
      const [ended, queued] = [await queue.submit('none', {}, ANN), await queue.submit('none', {}, ANN)];
      await queue.cancel(ended.id);
      await startRunner(t, location, [new ControlledKind().kind], { finishedLifetimeMs: -1000 });
      await until('the job is removed', async () => (await queue.find(ended.id)) === undefined);
      assert.equal((await queue.find(queued.id))?.status, 'queued');
    });

    it('are listed by user, in pages, with the newest first', async (t) => {
      const { queue } = await open(t, await create(t));
      const ids: string[] = [];
      for (const submitter of [ANN, BEN, ANN, ANN]) ids.push((await queue.submit('none', {}, submitter)).id);
      const own = ids.filter((_, index) => index !== 1);
      const first = await queue.list({ owner: 'ann', limit: 2, cursor: undefined });
      const second = await queue.list({ owner: 'ann', limit: 2, cursor: first.cursor });
      const listed = [...first.jobs, ...second.jobs];
      assert.deepEqual([first.jobs.length, second.jobs.length, second.cursor], [2, 1, undefined]);
      assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set(own));
      const times = listed.map(({ createdAt }) => createdAt.getTime());
      assert.ok(times.every((time, index) => index === 0 || time <= (times[index - 1] ?? 0)));
      await queue.cancel(own[0] ?? '');
      const unfinished = await queue.list({ owner: 'ann', limit: 100, cursor: undefined, unfinished: true });
      assert.deepEqual(new Set(unfinished.jobs.map(({ id }) => id)), new Set(own.slice(1)));
      const all = await queue.list({ owner: undefined, limit: 100, cursor: undefined });
      assert.deepEqual(new Set(all.jobs.map(({ id }) => id)), new Set(ids));
      await assert.rejects(queue.list({ owner: 'ann', limit: 2, cursor: 'x' }), { code: 'invalid-cursor' });
    });

    it('of the service itself run once for all processes, and again after the interval', async (t) => {
      const location = await create(t);
      const { queue } = await open(t, location);
      const contexts: JobContext[] = [];
      // A run that ends between two of the concurrent calls would be scheduled again.
      const areScheduled = Promise.withResolvers<void>();
      const kind = defineKind({
        name: 'scheduled',
        input: Type.Object({}),
        intervalMs: 3_600_000,
        run: async (_, context) => {
          const run = contexts.push(context);
          if (run === 2) await areScheduled.promise;
          return { run };
        },
      });
      for (let count = 0; count < 4; count++) await startRunner(t, location, [kind]);
      const all = async () => (await queue.list({ owner: undefined, limit: 100, cursor: undefined })).jobs;
      const untilEnded = (run: number) =>
        until(`run ${run} has ended`, async () => {
          const [job, ...others] = await all();
          assert.deepEqual(others, []);
          return job?.status === 'succeeded' && contexts.length === run ? job : undefined;
        });
      const first = await untilEnded(1);
      assert.deepEqual(
        [first.kind, first.input, first.submitter.isService, first.result],
        ['scheduled', {}, true, { run: 1 }],
      );
      await queue.schedule('scheduled', { intervalMs: 3_600_000 });
      assert.deepEqual(await all(), [first]);
      const { queue: other } = await open(t, location);
      await Promise.all([queue, other, queue, other].map((each) => each.schedule('scheduled', { intervalMs: -1000 })));
      areScheduled.resolve();
      const second = await untilEnded(2);
      assert.deepEqual([second.id, second.attempts, contexts[1]?.isResumed], [first.id, 1, false]);
      assert.deepEqual((await queue.list({ owner: 'ann', limit: 100, cursor: undefined })).jobs, []);
    });

    it('of the service itself run again after one that ended while the clock was ahead', async (t) => {
      const { queue, database } = await open(t, await create(t));
      const interval = { intervalMs: 3_600_000 };
      await queue.schedule('scheduled', interval);
      const claimed = await queue.claim([{ name: 'scheduled' }]);
      assert.ok(claimed);
      await queue.finish(claimed, { status: 'succeeded', result: {} });
      await queue.schedule('scheduled', interval);
      assert.equal((await queue.find(claimed.job.id))?.status, 'succeeded');
      const finished_at = Date.UTC(2099, 0);
      await database.run((db) => db.updateTable('jobs').set({ finished_at }).execute());
      await queue.schedule('scheduled', interval);
      assert.equal((await queue.find(claimed.job.id))?.status, 'queued');
    });

    it('of a user who is removed from the access file are removed, also while they run', async (t) => {
      const controlled = new ControlledKind();
      const { queue, database } = await startRunner(t, await create(t), [controlled.kind]);
      const withAnn = createPolicy([{ name: 'ann', password: undefined, groups: [], tokens: [] }], []);
      const without = createPolicy([], []);
      const of = (policy: Policy) => createSubmitter(ANN, {}, policy);
      const running = await queue.submit('controlled', { name: 'a' }, of(withAnn));
      const { context } = await controlled.run(1);
      const others = [await queue.submit('none', {}, of(without)), await queue.submit('none', {}, ANONYMOUS)];
      await removeJobsOfRemoved(database, withAnn);
      assert.ok(await queue.find(running.id));
      await removeJobsOfRemoved(database, without);
      assert.equal(await queue.find(running.id), undefined);
      for (const { id } of others) assert.ok(await queue.find(id));
      await until('the attempt aborts', () => context.signal.aborted);
    });

    it('are refused if their user has a hundred unfinished jobs', async (t) => {
      const { queue } = await open(t, await create(t));
      for (let count = 0; count < 100; count++) await queue.submit('none', {}, ANN);
      await assert.rejects(queue.submit('none', {}, ANN), { code: 'overloaded' });
      assert.equal((await queue.submit('none', {}, BEN)).status, 'queued');
    });
  });
}

const RUNNING_PROCESS = fileURLToPath(new URL('./running-process.ts', import.meta.url));
