import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import type { ChangeRecord } from '../model/change.ts';
import { isStoreError } from '../model/error.ts';
import { throttleLog } from '../observability/log-throttle.ts';
import { type AppendedChanges, type ChangeLog, RESYNC, type Retention } from './log.ts';

/** Changes that one transaction adds. */
const MAX_BATCH = 500;

/** Changes that wait for the database. More are dropped, and readers get a `resync` instead. */
const MAX_WAITING = 10_000;

/**
 * Maximum milliseconds for which the first change waits for those of other operations, and the number of operations in
 * progress from which it waits. As `commit_delay` and `commit_siblings` of PostgreSQL, this makes transactions fewer and larger.
 */
const GATHER_MS = 2;
const MIN_SIBLINGS = 4;

/** Milliseconds for which `close` waits for operations in progress, such as uploads whose clients have disconnected. */
const CLOSE_TIMEOUT_MS = 1000;

export interface RecorderOptions {
  readonly retention: Retention;
  /** Milliseconds between two signs of life of this process. */
  readonly beatMs: number;
  /** Milliseconds without a sign of life after which a process counts as killed. */
  readonly timeoutMs: number;
  /** Milliseconds between two deletions of old changes. */
  readonly expiryMs: number;
  /**
   * Called regularly. Old changes are deleted only after it has resolved. Of all processes, one is the oldest, except for
   * seconds after that one was killed.
   */
  readonly onBeat?: (isOldest: boolean) => Promise<void>;
  readonly log: Record<'info' | 'warn' | 'error', (details: object, message: string) => void>;
}

interface Waiting {
  readonly changes: readonly ChangeRecord[];
  readonly done: (id: string | undefined) => void;
}

/**
 * Writes the changes of this process to the log. Changes of concurrent operations share a transaction.
 *
 * Without the database, changes are dropped, so that file operations continue. The first transaction afterwards adds a
 * `resync`.
 */
export class ChangeRecorder {
  readonly #log: ChangeLog;
  readonly #database: Database;
  readonly #options: RecorderOptions;
  readonly #writer = randomUUID();
  #waiting: Waiting[] = [];
  #waitingChanges = 0;
  #flushing: Promise<void> | undefined;
  /** Operations that have begun and not ended. */
  #inProgress = 0;
  readonly #onIdle = new Set<() => void>();
  /** Whether changes were dropped that no `resync` in the log stands for. */
  #hasGap = false;
  /** Logs that changes are not recorded, for the time until they are again. */
  #logGap: ((error: unknown) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #lastExpiry = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(log: ChangeLog, database: Database, options: RecorderOptions) {
    this.#log = log;
    this.#database = database;
    this.#options = options;
  }

  /** Registers this process, so that its end without `close` leads to a `resync`. */
  async start(): Promise<void> {
    await this.#beat();
  }

  /** Announces an operation, for which `end` will be called. */
  begin(): void {
    this.#inProgress++;
  }

  /** Records the changes of an operation, if any. Resolves as `record` does. Never rejects. */
  async end(changes: readonly ChangeRecord[]): Promise<string | undefined> {
    this.#inProgress--;
    const recorded = changes.length > 0 ? this.record(changes) : undefined;
    if (this.#inProgress === 0) for (const resolve of this.#onIdle) resolve();
    return recorded;
  }

  /**
   * Resolves to the ID of the last change when the changes are in the log, or to undefined when they are dropped because the
   * database is unavailable. Never rejects.
   */
  record(changes: readonly ChangeRecord[]): Promise<string | undefined> {
    if (!this.#database.isAvailable || this.#waitingChanges + changes.length > MAX_WAITING) {
      this.#reportGap(undefined);
      return Promise.resolve(undefined);
    }
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#waiting.push({ changes, done: resolve });
    this.#waitingChanges += changes.length;
    this.#flush();
    return promise;
  }

  /** Writes what waits, also for operations that end in the next second. */
  async close(): Promise<void> {
    if (this.#inProgress > 0) await this.#untilIdle(CLOSE_TIMEOUT_MS);
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#beating;
    await this.#flushing;
    // If changes are missing, the row remains: another process, or the next one, adds the `resync`.
    const isComplete = !this.#hasGap && this.#inProgress === 0;
    if (isComplete && this.#database.isAvailable) await this.#log.leave(this.#writer).catch(() => {});
  }

  /** Resolves when the last operation in progress ends, or after the timeout. */
  async #untilIdle(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#onIdle.add(resolve);
    await promise;
    this.#onIdle.delete(resolve);
    clearTimeout(timer);
  }

  #flush(): void {
    this.#flushing ??= this.#writeWaiting().finally(() => {
      this.#flushing = undefined;
      // Arrived after the last transaction, but before this.
      if (this.#waiting.length > 0) this.#flush();
    });
  }

  async #writeWaiting(): Promise<void> {
    if (this.#inProgress >= MIN_SIBLINGS) await this.#untilIdle(GATHER_MS);
    else await nextTurn();
    while (this.#waiting.length > 0) {
      const batch = this.#takeBatch();
      const last = await this.#append(batch.flatMap(({ changes }) => changes));
      let later = 0;
      for (const { changes, done } of batch.toReversed()) {
        done(last?.idBefore(later));
        later += changes.length;
      }
    }
  }

  #takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let count = 0;
    for (const waiting of this.#waiting) {
      if (batch.length > 0 && count + waiting.changes.length > MAX_BATCH) break;
      batch.push(waiting);
      count += waiting.changes.length;
    }
    this.#waiting = this.#waiting.slice(batch.length);
    this.#waitingChanges -= count;
    return batch;
  }

  /** Adds changes to the log, after a `resync` if earlier ones are missing. Returns undefined if that failed. */
  async #append(changes: readonly ChangeRecord[]): Promise<AppendedChanges | undefined> {
    const hasGap = this.#hasGap;
    this.#hasGap = false;
    try {
      const appended = await this.#log.append(hasGap ? [RESYNC, ...changes] : changes);
      if (!this.#hasGap) this.#endGap();
      return appended;
    } catch (error) {
      this.#reportGap(error);
      return undefined;
    }
  }

  #reportGap(error: unknown): void {
    this.#hasGap = true;
    this.#logGap ??= throttleLog((failures, latest: unknown) => {
      // An unavailable database is logged where its state changes.
      const isBug = latest !== undefined && !isStoreError(latest, 'unavailable');
      if (isBug) this.#options.log.error({ err: latest, failures }, 'Changes could not be recorded');
      else this.#options.log.warn({ failures }, 'Changes are not recorded; clients will read folders again');
    });
    this.#logGap(error);
  }

  #endGap(): void {
    if (this.#logGap) this.#options.log.info({}, 'Changes are recorded again');
    this.#logGap = undefined;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat();
    }, this.#options.beatMs).unref();
  }

  /** Renews the row of this process, replaces a gap by a `resync`, and deletes old changes. Never rejects. */
  async #beat(): Promise<void> {
    try {
      if (!this.#database.isAvailable) return;
      const { timeoutMs, retention, expiryMs, onBeat } = this.#options;
      const { hasLost, isOldest } = await this.#log.beat(this.#writer, timeoutMs);
      this.#hasGap ||= hasLost;
      if (this.#hasGap && !this.#flushing) await this.#append([]);
      if (!this.#isClosed) await onBeat?.(isOldest);
      if (performance.now() - this.#lastExpiry < expiryMs) return;
      this.#lastExpiry = performance.now();
      await this.#log.expire(retention);
    } catch (error) {
      if (!isStoreError(error, 'unavailable')) this.#options.log.error({ err: error }, 'The change log failed');
    } finally {
      this.#schedule();
    }
  }
}
