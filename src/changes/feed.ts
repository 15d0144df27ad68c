import { setImmediate as nextTurn } from 'node:timers/promises';
import { createFairSemaphore } from '../concurrency/fair-semaphore.ts';
import { PollLoop } from '../concurrency/poll-loop.ts';
import type { Database } from '../database/database.ts';
import { CHANGES_TOPIC } from '../database/tables/changes.ts';
import { pathOfLockTopic } from '../database/tables/locks.ts';
import { StoreError } from '../model/error.ts';
import type { FilePath, FolderPath } from '../model/path.ts';
import { type Position, START } from './cursor.ts';
import type { ChangeLog, LogPage } from './log.ts';

/** Milliseconds between two searches, so that many changes in a short time cost little. */
const MIN_SEARCH_PAUSE_MS = 50;

/** Changes that are kept in memory for all subscribers of the process. */
const MAX_RECENT = 2000;

/** Who subscribes. */
export interface Subscriber {
  /** The username; for an anonymous user, the network of the client. */
  readonly key: string;
  readonly isAnonymous: boolean;
}

/** What a subscriber is told. */
export interface Listener {
  /** The log might have new changes. */
  onChanges(): void;
  /** The locks of a file, or of a folder and everything in it, have changed. The log has no such changes. */
  onLocks?(path: FilePath | FolderPath): void;
}

/** Limits of the subscribers of one process, because each has a connection. */
export interface SubscriberLimits {
  readonly total: number;
  /** The limit of all anonymous subscribers together, so that they leave some to users who have signed in. */
  readonly anonymous: number;
  /** The limit of one `Subscriber.key`. */
  readonly perSubscriber: number;
}

const DEFAULT_LIMITS: SubscriberLimits = { total: 1000, anonymous: 500, perSubscriber: 50 };

export interface FeedOptions {
  /** Milliseconds between two searches for changes while there are subscribers. Messages make a search start earlier. */
  readonly pollMs: number;
  /** Milliseconds between two signs of life to a subscriber, with a check of its permissions. */
  readonly heartbeatMs: number;
  /** Milliseconds that a subscriber has to read what was sent. */
  readonly drainMs: number;
  readonly limits?: SubscriberLimits;
  readonly onSubscribersChanged?: (count: number) => void;
  readonly log: { error(details: object, message: string): void };
}

/** Maximum clients of a process that read what is not new, and those that wait for a turn. */
const MAX_SCANS = 4;
const MAX_WAITING_SCANS = 256;

/** A page that was read for all subscribers. */
interface RecentPage extends LogPage {
  readonly start: Position;
}

/** Reads the log for the subscribers of this process. Subscribers that are up to date share one query. */
export class ChangeFeed {
  readonly log: ChangeLog;
  readonly #database: Database;
  readonly #options: FeedOptions;
  readonly #subscribers = new Map<Listener, Subscriber>();
  /** The last pages, each of which starts where the one before ends. */
  #recent: RecentPage[] = [];
  /** The position at the last search. */
  #lastSeen: Position = START;
  readonly #reading = new Map<string, Promise<LogPage>>();
  readonly #searches: PollLoop;
  readonly #scans = createFairSemaphore({
    limit: MAX_SCANS,
    limitPerClient: 1,
    maxWaiting: MAX_WAITING_SCANS,
    maxWaitingPerClient: MAX_WAITING_SCANS / 4,
    busyMessage: 'Too many searches for changes',
  });
  #endListening: (() => void) | undefined;

  constructor(log: ChangeLog, database: Database, options: FeedOptions) {
    this.log = log;
    this.#database = database;
    this.#options = options;
    this.#searches = new PollLoop(() => this.#notifySubscribers(), {
      pollMs: options.pollMs,
      minPauseMs: MIN_SEARCH_PAUSE_MS,
      failureMessage: 'The change log could not be read',
      log: options.log,
    });
  }

  get heartbeatMs(): number {
    return this.#options.heartbeatMs;
  }

  get drainMs(): number {
    return this.#options.drainMs;
  }

  start(): void {
    this.#endListening = this.#database.listen((topic) => {
      if (topic === CHANGES_TOPIC && this.#subscribers.size > 0) this.#searches.wake();
      const locked = pathOfLockTopic(topic);
      if (locked === undefined) return;
      for (const listener of this.#subscribers.keys()) listener.onLocks?.(locked);
    });
    this.#searches.start();
  }

  async close(): Promise<void> {
    this.#endListening?.();
    await this.#searches.stop();
  }

  /** Calls a listener until the returned function is called. Throws `overloaded` at the limits. */
  subscribe(subscriber: Subscriber, listener: Listener): () => void {
    const { total, anonymous, perSubscriber } = this.#options.limits ?? DEFAULT_LIMITS;
    const others = [...this.#subscribers.values()];
    const { key, isAnonymous } = subscriber;
    const own = others.filter((other) => other.key === key && other.isAnonymous === isAnonymous).length;
    if (own >= perSubscriber) throw tooManyOwnStreams(perSubscriber);
    const isShareUsed = isAnonymous && others.filter((other) => other.isAnonymous).length >= anonymous;
    if (isShareUsed || others.length >= total) throw tooManyStreams();
    this.#subscribers.set(listener, subscriber);
    this.#reportCount();
    return () => {
      if (!this.#subscribers.delete(listener)) return;
      this.#reportCount();
      if (this.#subscribers.size === 0) this.#recent = [];
    };
  }

  /**
   * Runs a search in the log: one at a time for each client, and few in the process. Other requests get a turn of the event loop
   * before it. Throws `overloaded` if too many clients wait.
   */
  async scan<Result>({ key, isAnonymous }: Subscriber, search: () => Promise<Result>): Promise<Result> {
    const release = await this.#scans.acquire(`${isAnonymous} ${key}`);
    try {
      await nextTurn();
      return await search();
    } finally {
      release();
    }
  }

  /**
   * Returns changes after a position, for a subscriber: from memory if another one has read them, otherwise from the log.
   */
  async read(after: Position, limit: number): Promise<LogPage> {
    const known = this.#recent.find(({ start }) => isSame(start, after));
    if (known && known.changes.length <= limit) {
      // Others can have followed since the page was read.
      return known.hasMore || isSame(known.end, this.#lastSeen) ? known : { ...known, hasMore: true };
    }
    // All subscribers wake up at the same time, and most of them at the same position.
    const key = `${after.sequence} ${after.time} ${limit}`;
    const reading = this.#reading.get(key) ?? this.#readLog(after, limit).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #readLog(after: Position, limit: number): Promise<LogPage> {
    const page = { ...(await this.log.read(after, limit)), start: after };
    if (page.changes.length > 0) this.#remember(page);
    return page;
  }

  #remember(page: RecentPage): void {
    const last = this.#recent.at(-1);
    if (last && !isSame(last.end, page.start)) {
      // Only the newest pages are useful to other subscribers.
      if (page.end.sequence <= last.end.sequence) return;
      this.#recent = [];
    }
    this.#recent.push(page);
    let count = this.#recent.reduce((sum, { changes }) => sum + changes.length, 0);
    while (count > MAX_RECENT) count -= this.#recent.shift()?.changes.length ?? count;
  }

  #reportCount(): void {
    this.#options.onSubscribersChanged?.(this.#subscribers.size);
  }

  async #notifySubscribers(): Promise<void> {
    if (this.#subscribers.size === 0 || !this.#database.isAvailable) return;
    const { end } = await this.log.newest();
    if (isSame(end, this.#lastSeen)) return;
    this.#lastSeen = end;
    // A database that was replaced has other changes with the same numbers.
    if (end.sequence < (this.#recent.at(-1)?.end.sequence ?? 0)) this.#recent = [];
    for (const listener of this.#subscribers.keys()) listener.onChanges();
  }
}

const isSame = (left: Position, right: Position) => left.sequence === right.sequence && left.time === right.time;

function tooManyOwnStreams(limit: number): StoreError {
  const message = `You follow the changes with ${limit} connections already, the maximum. Close one of them.`;
  return new StoreError('overloaded', message, { retryAfter: 30 });
}

function tooManyStreams(): StoreError {
  const message = 'Too many clients follow the changes at the moment. Try again in 30 seconds.';
  return new StoreError('overloaded', message, { retryAfter: 30 });
}
