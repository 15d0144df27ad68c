import type { ColumnType } from 'kysely';

/** The jobs. Times are milliseconds since 1970, by the clock of the database. */
export interface JobsTable {
  readonly id: string;
  readonly kind: string;
  /** The input of the kind, as JSON. */
  readonly input: string;
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** The username; null for an anonymous user. */
  readonly owner: string | null;
  /** The ID of the app token that submitted the job; null for other credentials. */
  readonly app_token: string | null;
  /** Who submitted the job, as JSON: see `Submitter`. */
  readonly submitter: string;
  /** Identifies the store that the job changes; null for jobs of earlier versions. */
  readonly store: string | null;
  /** What the job acts on, as it was at its creation, as JSON; null if the input says it. */
  readonly target: string | null;
  /** How often the job was started. */
  readonly attempts: number;
  /** The earliest time of the next attempt. */
  readonly run_at: number;
  /** Identifies the attempt that runs; null while none runs. */
  readonly lease: string | null;
  readonly lease_expires_at: number | null;
  /** 1 if a user cancelled the job. */
  readonly cancel_requested: ColumnType<number, number | undefined, number>;
  /** Progress, as JSON. */
  readonly progress: string | null;
  /** The result of a job that succeeded, as JSON. */
  readonly result: string | null;
  /** What an attempt saved for later attempts, as JSON. */
  readonly checkpoint: string | null;
  /** Code and message of the last failure, as JSON. */
  readonly failure: string | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}
