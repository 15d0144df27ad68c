import { setTimeout as delay } from 'node:timers/promises';
import { Check } from 'typebox/value';
import { PollLoop } from '../concurrency/poll-loop.ts';
import type { Database } from '../database/database.ts';
import { isStoreError } from '../model/error.ts';
import type { Progress } from '../model/store.ts';
import type { Job, JobFailure, JobKind } from './job.ts';
import { type ClaimedJob, JOBS_TOPIC, type JobQueue, type Outcome, ownerOf, type RunningWork } from './queue.ts';

/** Maximum attempts of a job, including those that a crash has ended. */
export const MAX_ATTEMPTS = 10;

/** Milliseconds before the second attempt, doubled for each further one. */
const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 5 * 60_000;

/** Milliseconds between two attempts to store how a job ended, while the database is unavailable. */
const STORE_RETRY_MS = 1000;

/** How often expired jobs are removed, and the jobs of the service itself are added. */
const CLEANUP_INTERVAL_MS = 60_000;

export interface RunnerOptions {
  /** Maximum jobs that this process runs at a time. */
  readonly maxRunning: number;
  /** Maximum jobs of one owner that this process runs at a time. Less than `maxRunning`, so that others need not wait. */
  readonly maxRunningPerOwner: number;
  /** Milliseconds between two searches for jobs. Messages make a search start earlier. */
  readonly pollMs: number;
  /** Milliseconds between two renewals of a lease: a fraction of its duration. */
  readonly heartbeatMs: number;
  /** Milliseconds for which finished jobs are kept. */
  readonly finishedLifetimeMs: number;
  /** Returns what users see of an error. */
  readonly describe: (error: unknown, job: Job) => JobFailure;
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void };
}

/** Ends an attempt because a user cancelled the job. */
class JobCancelled extends Error {
  override readonly name = 'JobCancelled';
}

/** Ends an attempt because its lease has expired, so that another process can run the job. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** Runs the jobs of the queue in this process. */
export class JobRunner {
  readonly #queue: JobQueue;
  readonly #database: Database;
  readonly #kinds: ReadonlyMap<string, JobKind>;
  readonly #options: RunnerOptions;
  readonly #running = new Map<ClaimedJob, { readonly ended: Promise<void>; readonly attempt: Attempt }>();
  readonly #closing = new AbortController();
  readonly #searches: PollLoop;
  #endListening: (() => void) | undefined;
  #lastCleanup = Number.NEGATIVE_INFINITY;

  constructor(queue: JobQueue, database: Database, kinds: readonly JobKind[], options: RunnerOptions) {
    this.#queue = queue;
    this.#database = database;
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
    this.#options = options;
    const { pollMs, log } = options;
    this.#searches = new PollLoop(() => this.#startDueJobs(), {
      pollMs,
      failureMessage: 'Jobs could not be started',
      log,
    });
  }

  start(): void {
    this.#endListening = this.#database.listen((topic) => {
      if (topic !== JOBS_TOPIC) return;
      // A running job might have been cancelled.
      for (const { attempt } of this.#running.values()) attempt.beat();
      this.#searches.wake();
    });
    this.#searches.start();
  }

  /** Starts no more jobs, and resolves when those that run have ended. */
  async drain(): Promise<void> {
    this.#closing.abort();
    this.#endListening?.();
    await this.#searches.stop();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /**
   * Starts no more jobs, and returns those that run to the queue. They are not aborted, because some undo their work
   * then: the process ends now, and the next attempt continues from what they have done.
   */
  async close(): Promise<void> {
    void this.drain();
    await this.#searches.stop();
    const released = [...this.#running].map(([claimed, { attempt }]) => {
      // Without the lease, the next heartbeat would abort the attempt.
      attempt.end();
      return this.#queue.release(claimed);
    });
    await Promise.allSettled(released);
  }

  async #startDueJobs(): Promise<void> {
    if (!this.#database.isAvailable) return;
    if (performance.now() - this.#lastCleanup > CLEANUP_INTERVAL_MS) {
      this.#lastCleanup = performance.now();
      await this.#queue.removeFinished(this.#options.finishedLifetimeMs);
      for (const kind of this.#kinds.values()) {
        const { name, intervalMs, maxIdleMs } = kind;
        if (maxIdleMs !== undefined) await this.#queue.failIdle(kind);
        if (intervalMs !== undefined) await this.#queue.schedule(name, { intervalMs });
      }
    }
    while (this.#running.size < this.#options.maxRunning && !this.#closing.signal.aborted) {
      const claimed = await this.#queue.claim([...this.#kinds.values()], this.#runningWork());
      if (!claimed) return;
      this.#run(claimed);
    }
  }

  #runningWork(): RunningWork {
    const jobs = Array.from(this.#running.keys(), ({ job }) => job);
    const ofUsers = jobs.filter(({ submitter }) => !submitter.isService);
    const perOwner = Map.groupBy(ofUsers, ({ submitter }) => ownerOf(submitter));
    return {
      ids: jobs.map(({ id }) => id),
      busyOwners: [...perOwner.keys()].filter(
        (owner) => (perOwner.get(owner)?.length ?? 0) >= this.#options.maxRunningPerOwner,
      ),
    };
  }

  #run(claimed: ClaimedJob): void {
    const attempt = new Attempt(claimed, this.#queue, this.#kinds, this.#options);
    const ended = this.#complete(claimed, attempt).finally(() => {
      this.#running.delete(claimed);
      this.#searches.wake();
    });
    this.#running.set(claimed, { ended, attempt });
  }

  /** Runs an attempt, and stores how it ended. Never rejects. */
  async #complete(claimed: ClaimedJob, attempt: Attempt): Promise<void> {
    try {
      const ending = await attempt.run();
      if (ending !== undefined) await this.#store(ending);
    } catch (error) {
      this.#options.log.error({ err: error, job: claimed.job.id }, 'The end of a job could not be stored');
    } finally {
      attempt.end();
    }
  }

  /** Calls `store` until the database is available, so that the outcome of a long operation is not lost. */
  async #store(store: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await store();
      } catch (error) {
        if (!isStoreError(error, 'unavailable')) throw error;
      }
      // The next process runs the job again when its lease has expired.
      if (this.#closing.signal.aborted) return;
      await delay(STORE_RETRY_MS, undefined, { ref: false });
    }
  }
}

/** One attempt of a job: runs it, renews its lease, and watches for a cancellation. */
class Attempt {
  readonly #claimed: ClaimedJob;
  readonly #queue: JobQueue;
  readonly #kind: JobKind | undefined;
  readonly #options: RunnerOptions;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isBeating = false;
  #hasEnded = false;
  #progress: Progress | undefined;

  constructor(claimed: ClaimedJob, queue: JobQueue, kinds: ReadonlyMap<string, JobKind>, options: RunnerOptions) {
    this.#claimed = claimed;
    this.#queue = queue;
    this.#kind = kinds.get(claimed.job.kind);
    this.#options = options;
    this.#timer = setInterval(() => this.beat(), options.heartbeatMs).unref();
  }

  /** Returns the function that stores how the attempt ended; undefined if another process runs the job now. */
  async run(): Promise<(() => Promise<void>) | undefined> {
    const { job } = this.#claimed;
    try {
      if (job.isCancelRequested) throw new JobCancelled();
      if (job.attempts > MAX_ATTEMPTS) return this.#finish({ status: 'failed', failure: INTERRUPTED });
      const result = await this.#runKind();
      return this.#finish({ status: 'succeeded', result });
    } catch (error) {
      return this.#afterError(error);
    }
  }

  /** Renews the lease. Aborts the attempt if it is no longer wanted. */
  beat(): void {
    if (this.#isBeating || this.#hasEnded) return;
    this.#isBeating = true;
    void this.#beat().finally(() => {
      this.#isBeating = false;
    });
  }

  /** Ends the heartbeats, also one in progress. */
  end(): void {
    this.#hasEnded = true;
    clearInterval(this.#timer);
  }

  async #runKind(): Promise<object> {
    const { job, isResumed } = this.#claimed;
    const { input, target, createdAt } = job;
    if (!this.#kind || !Check(this.#kind.input, input)) {
      throw new Error(`The input of the job ${job.id} does not fit its kind ${job.kind}.`);
    }
    const { signal } = this.#abort;
    return this.#kind.run(input, {
      submitter: job.submitter,
      target,
      createdAt,
      isResumed,
      signal,
      onProgress: (progress) => {
        this.#progress = progress;
      },
      checkpoint: job.checkpoint,
      save: async (checkpoint) => {
        if (!(await this.#queue.save(this.#claimed, checkpoint))) throw new LeaseLost();
      },
    });
  }

  async #beat(): Promise<void> {
    const { job } = this.#claimed;
    try {
      const state = await this.#queue.renew(this.#claimed, this.#progress);
      if (this.#hasEnded) return;
      if (state === undefined) return this.#abort.abort(new LeaseLost());
      if (state.isCancelled) return this.#abort.abort(new JobCancelled());
      await this.#kind?.confirm?.(job.input, job.submitter);
    } catch (error) {
      // While the database is unavailable, no other process can claim the job.
      if (!this.#hasEnded && !isStoreError(error, 'unavailable')) this.#abort.abort(error);
    }
  }

  #afterError(error: unknown): (() => Promise<void>) | undefined {
    const { job } = this.#claimed;
    const { aborted, reason } = this.#abort.signal;
    const cause: unknown = aborted ? reason : error;
    if (cause instanceof LeaseLost) return undefined;
    if (cause instanceof JobCancelled) return this.#finish({ status: 'cancelled' });
    const failure = this.#options.describe(cause, job);
    if (isStoreError(cause, 'unavailable') && job.attempts < MAX_ATTEMPTS) {
      const pause = retryDelay(job.attempts, (cause.retryAfter ?? 0) * 1000);
      this.#options.log.warn(
        { job: job.id, kind: job.kind, attempt: job.attempts, err: cause },
        'Job failed; retrying',
      );
      return () => this.#queue.retry(this.#claimed, failure, pause);
    }
    if (failure.code === 'internal-error') {
      this.#options.log.error({ job: job.id, kind: job.kind, err: cause }, 'A job failed.');
    }
    return this.#finish({ status: 'failed', failure });
  }

  #finish(outcome: Outcome): () => Promise<void> {
    return () => this.#queue.finish(this.#claimed, outcome, this.#progress);
  }
}

/** The failure of a job whose process ended in every attempt. */
const INTERRUPTED: JobFailure = {
  code: 'internal-error',
  message: `The job was interrupted ${MAX_ATTEMPTS} times. It is not started again.`,
};

/** Returns the milliseconds before the next attempt: at least `minMs`, with jitter. */
function retryDelay(attempts: number, minMs: number): number {
  const backoff = Math.min(MIN_RETRY_MS * 2 ** (attempts - 1), MAX_RETRY_MS);
  return Math.max(minMs, backoff * (0.5 + Math.random() / 2));
}
