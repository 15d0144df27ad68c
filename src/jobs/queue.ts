import { hash, randomUUID } from 'node:crypto';
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { SERVICE, type Submitter } from '../access/submitter.ts';
import type { Database } from '../database/database.ts';
import type { JobsTable } from '../database/tables/jobs.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { Progress } from '../model/store.ts';
import type { Job, JobFailure, JobKind } from './job.ts';

/** Maximum unfinished jobs of one user. */
const MAX_UNFINISHED = 100;

/** The submitter of the jobs that the service itself starts, as it is stored. */
const SERVICE_JSON = JSON.stringify(SERVICE);

/** The topic of the messages that wake up runners. */
export const JOBS_TOPIC = 'jobs';

/** The topic of the message that a job has ended. */
const endTopic = (id: string) => `job-ended ${id}`;

/** The failure of a job that was not started in time. */
const IDLE: JobFailure = {
  code: 'job-outdated',
  message:
    'No process continued the job in time, or its database was restored. Check what it has done, and start it again if necessary.',
};

/** Milliseconds between two checks whether a job has ended. */
const END_POLL_MS = 1000;

/** An attempt that a process has claimed. */
export interface ClaimedJob {
  readonly job: Job;
  /** Identifies the attempt. Its changes have no effect after another process has claimed the job. */
  readonly lease: string;
  /** Whether an earlier attempt began. */
  readonly isResumed: boolean;
}

export interface JobQueueOptions {
  readonly leaseMs: number;
  /** Identifies the store of this service. It claims no jobs that change another one. */
  readonly store?: string;
  /** Returns what a new job acts on. */
  readonly targetOf?: (kind: string, input: object) => Promise<object | undefined>;
}

/** A kind of jobs to claim. */
type ClaimedKind = Pick<JobKind, 'name' | 'maxIdleMs'>;

/** The username of a submitter; null for an anonymous user. All anonymous users are one owner. */
export type Owner = JobsTable['owner'];

export function ownerOf(submitter: Submitter): Owner {
  return submitter.user?.name ?? null;
}

/** What a process already runs. */
export interface RunningWork {
  /** The IDs of its jobs. It renews their leases, and does not claim them again. */
  readonly ids: readonly string[];
  /** The owners of as many jobs as one owner can run in a process. */
  readonly busyOwners: readonly Owner[];
}

/** One page of jobs, with the newest first. */
export interface JobPage {
  readonly jobs: readonly Job[];
  readonly cursor: string | undefined;
}

/** How a job ends. */
export type Outcome =
  | { readonly status: 'succeeded'; readonly result: object }
  | { readonly status: 'failed'; readonly failure: JobFailure }
  | { readonly status: 'cancelled' };

/**
 * The table of jobs. A job that runs has a lease, which its process renews. Without a renewal, the lease expires, and any
 * process can claim the job again. Every member throws `database-unavailable` if the database can't be used.
 */
export class JobQueue {
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #store: string;
  readonly #targetOf: JobQueueOptions['targetOf'];

  constructor(database: Database, { leaseMs, store = '', targetOf }: JobQueueOptions) {
    this.#database = database;
    this.#leaseMs = leaseMs;
    this.#store = store;
    this.#targetOf = targetOf;
  }

  /** Adds a job. Throws `overloaded` if its user has too many unfinished jobs. */
  async submit(kind: string, input: object, submitter: Submitter): Promise<Job> {
    const owner = ownerOf(submitter);
    const { now } = this.#database.dialect;
    const target = await this.#targetOf?.(kind, input);
    const row = await this.#database.transaction(async (db) => {
      const { count } = await db
        .selectFrom('jobs')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('status', 'in', ['queued', 'running'])
        .where((where) => (owner === null ? where('owner', 'is', null) : where('owner', '=', owner)))
        .executeTakeFirstOrThrow();
      if (count >= MAX_UNFINISHED) throw tooManyJobs();
      return db
        .insertInto('jobs')
        .values({
          id: randomUUID(),
          kind,
          input: JSON.stringify(input),
          status: 'queued',
          owner,
          app_token: submitter.appToken ?? null,
          submitter: JSON.stringify(submitter),
          store: this.#store,
          target: target ? JSON.stringify(target) : null,
          attempts: 0,
          run_at: now,
          created_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
    });
    await this.#database.notify(JOBS_TOPIC);
    return toJob(row);
  }

  /**
   * Adds the job of a kind that the service itself starts, unless one with this input is unfinished or ended less than
   * `intervalMs` ago. Any number of processes can call this: the kind has one row for each input, which is queued again.
   */
  async schedule(
    kind: string,
    { intervalMs, input = {} }: { readonly intervalMs: number; readonly input?: object },
  ): Promise<void> {
    const { now } = this.#database.dialect;
    const id = scheduledId(kind, input);
    const latestEnd = sql<number>`${now} - ${sql.lit(intervalMs)}`;
    const queued = {
      status: 'queued',
      submitter: SERVICE_JSON,
      store: this.#store,
      attempts: 0,
      run_at: now,
      created_at: now,
      cancel_requested: 0,
      progress: null,
      checkpoint: null,
      result: null,
      failure: null,
      started_at: null,
      finished_at: null,
    } as const;
    const isAdded = await this.#database.run(async (db) => {
      // On SQLite, an insert waits for the lock of writers, but there is rarely anything to add.
      const pending = await db
        .selectFrom('jobs')
        .select('id')
        .where('id', '=', id)
        .where(({ eb, or, between }) =>
          // A job that ended in the future ended while the clock was ahead.
          or([eb('finished_at', 'is', null), between('finished_at', latestEnd, now)]),
        )
        .executeTakeFirst();
      if (pending) return false;
      await db
        .insertInto('jobs')
        .values({ ...queued, id, kind, input: JSON.stringify(input), owner: null })
        .onConflict((conflict) =>
          conflict
            .column('id')
            .doUpdateSet(queued)
            .where(({ eb, or }) => or([eb('jobs.finished_at', '<=', latestEnd), eb('jobs.finished_at', '>', now)])),
        )
        .execute();
      return true;
    });
    if (isAdded) await this.#database.notify(JOBS_TOPIC);
  }

  async find(id: string): Promise<Job | undefined> {
    const row = await this.#database.run((db) =>
      db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst(),
    );
    return row && toJob(row);
  }

  /**
   * Returns one page of the jobs of a user, of one app token, or of all users; all, or the unfinished ones. Throws
   * `invalid-cursor`.
   */
  async list({
    owner,
    appToken,
    limit,
    cursor,
    unfinished = false,
  }: {
    readonly owner: string | undefined;
    readonly appToken?: string | undefined;
    readonly limit: number;
    readonly cursor: string | undefined;
    readonly unfinished?: boolean;
  }): Promise<JobPage> {
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('jobs')
        .selectAll()
        .$if(owner !== undefined, (query) => query.where('owner', '=', owner ?? ''))
        .$if(appToken !== undefined, (query) => query.where('app_token', '=', appToken ?? ''))
        .$if(unfinished, (query) => query.where('status', 'in', ['queued', 'running']))
        .$if(after !== undefined, (query) =>
          query.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('created_at', 'id'), '<', tuple(after?.createdAt ?? 0, after?.id ?? '')),
          ),
        )
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1)
        .execute(),
    );
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { jobs: rows.slice(0, limit).map(toJob), cursor: last && `${last.created_at}_${last.id}` };
  }

  /**
   * Returns a job when it has ended, or as it is after `timeoutMs` or when `signal` aborts. Undefined if it does not
   * exist. Checks every `pollMs`, and at once after a message.
   */
  async untilEnded(
    id: string,
    {
      timeoutMs,
      signal,
      pollMs = END_POLL_MS,
    }: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly pollMs?: number },
  ): Promise<Job | undefined> {
    const deadline = performance.now() + timeoutMs;
    let wake = () => {};
    const endListening = this.#database.listen((topic) => {
      if (topic === endTopic(id)) wake();
    });
    const abort = () => wake();
    signal.addEventListener('abort', abort);
    try {
      for (;;) {
        // Created before the query, so that no message during the query is missed.
        const { promise: woken, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const job = await this.find(id);
        const remaining = deadline - performance.now();
        if (!job || job.finishedAt || remaining <= 0 || signal.aborted) return job;
        const timer = setTimeout(resolve, Math.min(remaining, pollMs));
        await woken;
        clearTimeout(timer);
      }
    } finally {
      endListening();
      signal.removeEventListener('abort', abort);
    }
  }

  /**
   * Cancels a job. One that is queued ends at once; one that runs ends when its process has noticed. A finished job
   * remains as it is. Returns the job; undefined if it does not exist.
   */
  async cancel(id: string): Promise<Job | undefined> {
    const { now } = this.#database.dialect;
    await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set(({ eb }) => ({
          cancel_requested: 1,
          status: eb
            .case()
            .when('status', '=', 'queued')
            .then<JobsTable['status']>('cancelled')
            .else(eb.ref('status'))
            .end(),
          finished_at: eb.case().when('status', '=', 'queued').then(now).else(eb.ref('finished_at')).end(),
        }))
        .where('id', '=', id)
        .where('status', 'in', ['queued', 'running'])
        .execute(),
    );
    await this.#database.notify(JOBS_TOPIC);
    await this.#database.notify(endTopic(id));
    return this.find(id);
  }

  /**
   * Claims a job of one of these kinds that is due, or whose lease has expired. Owners take turns: the next job is of the
   * owner with the fewest running jobs. Returns undefined if no job can be claimed.
   */
  async claim(
    kinds: readonly ClaimedKind[],
    { ids, busyOwners }: RunningWork = { ids: [], busyOwners: [] },
  ): Promise<ClaimedJob | undefined> {
    const { dialect } = this.#database;
    const lease = randomUUID();
    const isDue = (where: ExpressionBuilder<Tables, 'jobs'>) => {
      const { eb, and, or, not } = where;
      return and([
        eb(
          'kind',
          'in',
          Array.from(kinds, ({ name }) => name),
        ),
        or([eb('store', 'is', null), eb('store', '=', this.#store)]),
        ...kinds.map((kind) => not(this.#isIdle(where, kind))),
        ...(ids.length > 0 ? [eb('id', 'not in', ids)] : []),
        ...busyOwners.map((owner) => or([eb('submitter', '=', SERVICE_JSON), eb('owner', 'is distinct from', owner)])),
        or([
          and([eb('status', '=', 'queued'), eb('run_at', '<=', dialect.now)]),
          and([eb('status', '=', 'running'), eb('lease_expires_at', '<=', dialect.now)]),
        ]),
      ]);
    };
    const row = await this.#database.run(async (db) => {
      // Most polls find nothing. On SQLite, an update would then still wait for the lock of writers.
      const found = await db.selectFrom('jobs').select('id').where(isDue).limit(1).executeTakeFirst();
      if (!found) return undefined;
      const due = db
        .selectFrom('jobs')
        .select('id')
        .where(isDue)
        .orderBy(this.#runningOfOwner())
        .orderBy('run_at')
        .limit(1);
      return db
        .updateTable('jobs')
        .set(({ eb, fn }) => ({
          status: 'running',
          attempts: eb('attempts', '+', 1),
          lease,
          lease_expires_at: this.#leaseEnd(),
          started_at: fn.coalesce('started_at', dialect.now),
        }))
        .where('id', '=', dialect.skipLocked(due))
        .returningAll()
        .executeTakeFirst();
    });
    if (!row) return undefined;
    const claimedAt = (row.lease_expires_at ?? 0) - this.#leaseMs;
    return { job: toJob(row), lease, isResumed: (row.started_at ?? 0) < claimedAt };
  }

  /** Ends the jobs of a kind that no process has run for too long, of any store. */
  async failIdle(kind: ClaimedKind): Promise<void> {
    const failed = {
      status: 'failed',
      failure: JSON.stringify(IDLE),
      finished_at: this.#database.dialect.now,
    } as const;
    const ended = await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set({ ...failed, lease: null, lease_expires_at: null })
        .where((where) => this.#isIdle(where, kind))
        .returning('id')
        .execute(),
    );
    for (const { id } of ended) await this.#database.notify(endTopic(id));
  }

  /**
   * Renews the lease of an attempt, and stores its progress. Returns whether a user has cancelled the job; undefined if
   * another process has claimed it.
   */
  async renew({ job, lease }: ClaimedJob, progress?: Progress): Promise<{ readonly isCancelled: boolean } | undefined> {
    const row = await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set({ lease_expires_at: this.#leaseEnd(), ...(progress && { progress: JSON.stringify(progress) }) })
        .where('id', '=', job.id)
        .where('lease', '=', lease)
        .returning('cancel_requested')
        .executeTakeFirst(),
    );
    return row && { isCancelled: row.cancel_requested === 1 };
  }

  /** Saves a checkpoint of an attempt. Returns false if another process has claimed the job. */
  async save({ job, lease }: ClaimedJob, checkpoint: object): Promise<boolean> {
    const row = await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set({ checkpoint: JSON.stringify(checkpoint) })
        .where('id', '=', job.id)
        .where('lease', '=', lease)
        .returning('id')
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  /** Ends a job. Has no effect if another process has claimed it. */
  async finish({ job, lease }: ClaimedJob, outcome: Outcome, progress?: Progress): Promise<void> {
    await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set({
          status: outcome.status,
          result: outcome.status === 'succeeded' ? JSON.stringify(outcome.result) : null,
          failure: outcome.status === 'failed' ? JSON.stringify(outcome.failure) : null,
          ...(progress && { progress: JSON.stringify(progress) }),
          finished_at: this.#database.dialect.now,
          lease: null,
          lease_expires_at: null,
        })
        .where('id', '=', job.id)
        .where('lease', '=', lease)
        .execute(),
    );
    await this.#database.notify(endTopic(job.id));
  }

  /** Returns a job to the queue, for another attempt after `delayMs`. */
  async retry({ job, lease }: ClaimedJob, failure: JobFailure, delayMs: number): Promise<void> {
    await this.#requeue(job.id, lease, { delayMs, attempts: job.attempts, failure });
  }

  /** Returns a job to the queue at once, because its process stops. This does not count as an attempt. */
  async release({ job, lease }: ClaimedJob): Promise<void> {
    await this.#requeue(job.id, lease, { delayMs: 0, attempts: job.attempts - 1, failure: undefined });
    await this.#database.notify(JOBS_TOPIC);
  }

  /** Deletes jobs that ended more than `ageMs` ago. */
  async removeFinished(ageMs: number): Promise<void> {
    const before = sql<number>`${this.#database.dialect.now} - ${sql.lit(ageMs)}`;
    await this.#database.run((db) => db.deleteFrom('jobs').where('finished_at', '<', before).execute());
  }

  async #requeue(
    id: string,
    lease: string,
    { delayMs, attempts, failure }: { delayMs: number; attempts: number; failure: JobFailure | undefined },
  ): Promise<void> {
    await this.#database.run((db) =>
      db
        .updateTable('jobs')
        .set({
          status: 'queued',
          attempts,
          failure: failure ? JSON.stringify(failure) : null,
          run_at: sql<number>`${this.#database.dialect.now} + ${sql.lit(Math.round(delayMs))}`,
          lease: null,
          lease_expires_at: null,
        })
        .where('id', '=', id)
        .where('lease', '=', lease)
        .execute(),
    );
  }

  /** Whether a job of the kind waits since more than its maximum. */
  #isIdle({ eb, and, or, lit }: ExpressionBuilder<Tables, 'jobs'>, { name, maxIdleMs }: ClaimedKind) {
    if (maxIdleMs === undefined) return lit(false);
    const latest = sql<number>`${this.#database.dialect.now} - ${sql.lit(maxIdleMs)}`;
    return and([
      eb('kind', '=', name),
      or([
        and([eb('status', '=', 'queued'), eb('run_at', '<', latest)]),
        and([eb('status', '=', 'running'), eb('lease_expires_at', '<', latest)]),
      ]),
    ]);
  }

  /**
   * The number of running jobs of the owner of a job; 0 for a job of the service itself, which waits for no turn. All owners are
   * counted once, because there can be many jobs that are due.
   */
  #runningOfOwner() {
    return sql<number>`case when submitter = ${SERVICE_JSON} then 0 else coalesce((
      with busy as materialized (
        select owner, count(*) as count
        from jobs
        where status = 'running' and lease_expires_at > ${this.#database.dialect.now} and submitter <> ${SERVICE_JSON}
        group by owner
      )
      select count from busy where busy.owner is not distinct from jobs.owner
    ), 0) end`;
  }

  #leaseEnd() {
    return sql<number>`${this.#database.dialect.now} + ${sql.lit(this.#leaseMs)}`;
  }
}

/** Returns the id of the only job with this kind and input that the service itself starts. It has the form of the other ids. */
function scheduledId(kind: string, input: object): string {
  const digits = hash('sha256', Object.keys(input).length === 0 ? kind : `${kind} ${JSON.stringify(input)}`);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join('-');
}

function toJob(row: Selectable<JobsTable>): Job {
  const parse = (text: string | null) => (text === null ? undefined : JSON.parse(text));
  const toDate = (time: number | null) => (time === null ? undefined : new Date(time));
  return {
    id: row.id,
    kind: row.kind,
    input: JSON.parse(row.input),
    status: row.status,
    submitter: JSON.parse(row.submitter),
    target: parse(row.target),
    attempts: row.attempts,
    isCancelRequested: row.cancel_requested === 1,
    progress: parse(row.progress),
    result: parse(row.result),
    checkpoint: parse(row.checkpoint),
    failure: parse(row.failure),
    createdAt: new Date(row.created_at),
    startedAt: toDate(row.started_at),
    finishedAt: toDate(row.finished_at),
  };
}

function parseCursor(cursor: string): { readonly createdAt: number; readonly id: string } {
  const [, createdAt, id] = /^(\d{1,15})_([\da-f-]{36})$/.exec(cursor) ?? [];
  if (createdAt === undefined || id === undefined) {
    throw new StoreError(
      'invalid-cursor',
      `The cursor ${quoted(cursor)} was not issued by a list of jobs. List the jobs from the beginning.`,
    );
  }
  return { createdAt: Number(createdAt), id };
}

function tooManyJobs(): StoreError {
  const message = `${MAX_UNFINISHED} jobs of this user have not ended yet. Wait until some have ended, or cancel them.`;
  return new StoreError('overloaded', message, { retryAfter: 10 });
}
