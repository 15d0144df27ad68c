import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Position } from '../changes/cursor.ts';
import type { ChangeFeed, Subscriber } from '../changes/feed.ts';
import type { LogPage } from '../changes/log.ts';
import type { LoggedChange } from '../model/change.ts';
import { isStoreError } from '../model/error.ts';
import type { FilePath, FolderPath } from '../model/path.ts';
import type { RequestAccess } from './access/request-access.ts';
import { failureOf, HttpError, problemOf } from './errors.ts';

export const EVENT_STREAM = 'text/event-stream';

/** Changes that are written at a time. With the buffers of the connection, this limits the memory of a slow client. */
const BATCH_SIZE = 100;

/**
 * Maximum changes that a stream reads to catch up. A client that has missed more gets one `resync`: reading its folders again
 * costs less than all these changes.
 */
const MAX_BACKLOG = 10_000;

/** Files and folders with changed locks that wait for a slow client. With more, only the scope is announced. */
const MAX_LOCKED_PATHS = 100;

/** Milliseconds after which changed locks are announced, so that many changes in a short time cost little. */
const LOCKS_DELAY_MS = 100;

/** Milliseconds after which clients reconnect. */
const RECONNECT_MS = 2000;

export interface ChangeStreamOptions {
  readonly feed: ChangeFeed;
  /** The file or folder whose changes are sent. */
  readonly scope: FilePath | FolderPath;
  /** Where the stream starts. */
  readonly start: LogPage;
  readonly access: Pick<RequestAccess, 'files' | 'confirm'>;
  readonly subscriber: Subscriber;
  readonly requestId: string;
  /** Aborts if the client disconnects or the service stops. */
  readonly signal: AbortSignal;
  readonly describe: (change: LoggedChange) => object;
  /** Whether changes of locks are announced too, by an event `locks` with a path. */
  readonly hasLocks: boolean;
}

/**
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) for one client. Each batch of changes
 * is filtered by the permissions of that moment. The stream ends with an event `closed` when the session or the permissions
 * end, which is checked before each batch and with each heartbeat.
 */
export class ChangeStream {
  readonly output = new PassThrough();
  readonly #options: ChangeStreamOptions;
  readonly #unsubscribe: () => void;
  #hasNews = true;
  /** Whether the log had more changes than the last page. */
  #isBehind = true;
  /** The files and folders whose locks have changed since the last event. */
  readonly #lockedPaths = new Set<FilePath | FolderPath>();
  #locksTimer: NodeJS.Timeout | undefined;
  #areLocksDue = false;
  /** When the next heartbeat is due, in the time of `performance.now()`. */
  #heartbeatAt: number;
  #wake: (() => void) | undefined;
  #policy: object;

  /** Throws `overloaded` if there are too many streams. */
  constructor(options: ChangeStreamOptions) {
    this.#options = options;
    this.#policy = options.access.files.policy;
    const { feed, subscriber, hasLocks } = options;
    this.#heartbeatAt = performance.now() + feed.heartbeatMs;
    this.#unsubscribe = feed.subscribe(subscriber, {
      onChanges: () => {
        this.#hasNews = true;
        this.#wake?.();
      },
      ...(hasLocks && { onLocks: (path) => this.#addLocked(path) }),
    });
    // A client that disconnects fails the stream.
    this.output.on('error', () => {});
  }

  /** Writes events until the stream ends. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake, { once: true });
    try {
      let page = await this.#start();
      this.output.write(`retry: ${RECONNECT_MS}\n${idOf(page)}\n\n`);
      while (!signal.aborted) {
        const next = await this.#readNext(page);
        // A page that was read for another client can be older than the last change.
        if (next && next.changes.length > 0) page = next;
        else if (await this.#waitForNews()) this.output.write(`: heartbeat\n${idOf(page)}\n\n`);
        if (!(await this.#isDrained())) return;
      }
    } catch (error) {
      this.#writeEnd(error);
    } finally {
      signal.removeEventListener('abort', wake);
      this.#unsubscribe();
      clearTimeout(this.#locksTimer);
      this.output.end();
    }
  }

  /** Writes the visible changes after a page. Returns undefined while the log is unavailable, and if there is no news. */
  async #readNext({ end }: LogPage): Promise<LogPage | undefined> {
    const { access, scope } = this.#options;
    await access.confirm();
    if (!access.files.canSeeChanges(scope)) {
      throw new HttpError('permission-denied', 'You no longer have permission to follow these changes.');
    }
    if (this.#policy !== access.files.policy) {
      this.#policy = access.files.policy;
      // The client may now see other files than those that it has read.
      this.output.write(RESYNC_EVENT);
    }
    this.#writeLocked();
    if (!this.#hasNews) return undefined;
    this.#hasNews = false;
    const page = await this.#readPage(end).catch((error: unknown) => {
      if (isStoreError(error, 'unavailable')) return undefined;
      throw error;
    });
    if (!page) return undefined;
    this.#isBehind = page.hasMore;
    this.#hasNews ||= page.changes.length > 0;
    this.output.write(page.changes.map((change) => this.#format(change)).join(''));
    return page;
  }

  /** Reads the changes after a position. A stream that is behind takes turns with other clients. */
  async #readPage(end: Position): Promise<LogPage> {
    const { feed, subscriber } = this.#options;
    if (!this.#isBehind) return feed.read(end, BATCH_SIZE);
    return feed.scan(subscriber, () => feed.read(end, BATCH_SIZE));
  }

  /** Returns the position from which a client catches up. One that has missed too much gets a `resync`, and only new changes. */
  async #start(): Promise<LogPage> {
    const { feed, start } = this.#options;
    const newest = await feed.log.newest();
    if (newest.end.sequence - start.end.sequence <= MAX_BACKLOG) return start;
    this.output.write(RESYNC_EVENT);
    return newest;
  }

  #addLocked(path: FilePath | FolderPath): void {
    const { access, scope } = this.#options;
    if (!access.files.canSeeLocks(path, scope)) return;
    if (this.#lockedPaths.size >= MAX_LOCKED_PATHS) {
      this.#lockedPaths.clear();
      this.#lockedPaths.add(scope);
    } else if (!this.#lockedPaths.has(scope)) this.#lockedPaths.add(path);
    this.#locksTimer ??= setTimeout(() => {
      this.#locksTimer = undefined;
      this.#areLocksDue = true;
      this.#wake?.();
    }, LOCKS_DELAY_MS).unref();
  }

  /** Without an ID: the event is not in the log, so that no client can continue from it. */
  #writeLocked(): void {
    const { access, scope } = this.#options;
    if (!this.#areLocksDue) return;
    this.#areLocksDue = false;
    const events = [...this.#lockedPaths]
      .filter((path) => path === scope || access.files.canSeeLocks(path, scope))
      .map((path) => `event: locks\ndata: ${JSON.stringify({ path })}\n\n`);
    this.#lockedPaths.clear();
    this.output.write(events.join(''));
  }

  /** A change that is several events for the user has its ID only on the last one, so that a client never skips a part. */
  #format(change: LoggedChange): string {
    const { access, scope, describe } = this.#options;
    const visible = access.files.visibleChanges(change, scope);
    return visible
      .map((each, index) => {
        const id = index === visible.length - 1 ? `id: ${change.id}\n` : '';
        return `${id}data: ${JSON.stringify(describe(each))}\n\n`;
      })
      .join('');
  }

  /** Waits for new changes. Returns true at the time of the next heartbeat, also if there are none. */
  async #waitForNews(): Promise<boolean> {
    if (this.#hasNews || this.#areLocksDue || this.#options.signal.aborted) return false;
    const { heartbeatMs } = this.#options.feed;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(true), Math.max(0, this.#heartbeatAt - performance.now())).unref();
    this.#wake = () => resolve(false);
    const isHeartbeat = await promise;
    clearTimeout(timer);
    this.#wake = undefined;
    if (isHeartbeat) this.#heartbeatAt = performance.now() + heartbeatMs;
    // Without a message from other processes, or after an outage, the log can still have changes.
    this.#hasNews ||= isHeartbeat;
    return isHeartbeat;
  }

  /** Waits until the client has read what was written. Disconnects a client that is too slow, and returns false. */
  async #isDrained(): Promise<boolean> {
    if (!this.output.writableNeedDrain || this.output.destroyed) return !this.output.destroyed;
    const { signal, feed } = this.#options;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(feed.drainMs)]);
    try {
      await once(this.output, 'drain', { signal: timeout });
      return true;
    } catch {
      this.output.destroy();
      return false;
    }
  }

  /** Tells the client why the stream ends, so that it does not reconnect without effect. */
  #writeEnd(error: unknown): void {
    if (this.output.destroyed) return;
    const failure = failureOf(problemOf(error, this.#options.requestId));
    this.output.write(`event: closed\ndata: ${JSON.stringify(failure)}\n\n`);
  }
}

const RESYNC_EVENT = `data: ${JSON.stringify({ type: 'resync', path: '' })}\n\n`;

/** The cursor, from which a client continues after it has reconnected. `oldest` is no cursor. */
const idOf = ({ cursor }: LogPage) => (cursor === 'oldest' ? ':' : `id: ${cursor}`);
