import type { Static, TSchema } from 'typebox';
import type { Submitter } from '../access/submitter.ts';
import type { Progress } from '../model/store.ts';

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** Why a job failed: an error code of the HTTP API, and a message for users. */
export interface JobFailure {
  readonly code: string;
  readonly message: string;
  /** The lock that forbids the change. Only with the code `locked`. */
  readonly lock?: { readonly path: string; readonly user?: string; readonly expiresAt: string };
}

/** A job as it is stored. */
export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly input: unknown;
  readonly status: JobStatus;
  readonly submitter: Submitter;
  /** What the job acts on, as it was when the job was created. Only its kind interprets it. */
  readonly target: object | undefined;
  readonly attempts: number;
  readonly isCancelRequested: boolean;
  readonly progress: Progress | undefined;
  readonly result: object | undefined;
  /** What an attempt saved for later attempts. */
  readonly checkpoint: object | undefined;
  /** The failure of the job, or of its last attempt if another one follows. */
  readonly failure: JobFailure | undefined;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly finishedAt: Date | undefined;
}

/** What a running job gets. */
export interface JobContext {
  readonly submitter: Submitter;
  readonly target: object | undefined;
  readonly createdAt: Date;
  /** Whether an earlier attempt was interrupted or failed, and might have done a part of the work, or all of it. */
  readonly isResumed: boolean;
  /** Aborts if the job is cancelled, if its submitter loses a permission, or if another process has taken it over. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** What an earlier attempt saved. Undefined if none did. */
  readonly checkpoint: object | undefined;
  /** Saves a checkpoint for later attempts, as JSON. Rejects if another process has taken over the job. */
  readonly save: (checkpoint: object) => Promise<void>;
}

/**
 * A kind of job. `run` must be idempotent: a job whose process is killed is started again from the beginning, and a
 * process that was suspended can still run the job when another one starts it. A repeated run must leave alone what other
 * clients did after the first one.
 */
export interface JobKind<Schema extends TSchema = TSchema> {
  readonly name: string;
  readonly input: Schema;
  /**
   * Milliseconds after the end of a job until the service itself starts the next one. All processes together run one at a
   * time. Absent for kinds that users start. The input of such a job is empty.
   */
  readonly intervalMs?: number;
  /**
   * Milliseconds after which a job that no process runs is not started, but fails: other changes followed it, or its
   * database was restored. Absent for kinds whose jobs can start at any time.
   */
  readonly maxIdleMs?: number;
  /** Returns what a job with this input acts on, when it is created. Absent if the input says that. */
  targetOf?(input: Static<Schema>): Promise<object>;
  /** Returns the result, which is stored as JSON. Is retried after a `StoreError` of the kind `unavailable`. */
  run(input: Static<Schema>, context: JobContext): Promise<object>;
  /** Throws if the submitter lacks a permission. Called at intervals while the job runs. */
  confirm?(input: Static<Schema>, submitter: Submitter): Promise<void>;
}

/** Checks that a kind fits its schema, and returns it for the registry. */
export function defineKind<Schema extends TSchema>(kind: JobKind<Schema>): JobKind {
  return kind;
}
