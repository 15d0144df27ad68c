import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, Store } from '../../model/store.ts';
import type { Bucket } from './bucket.ts';
import type { Key } from './keys.ts';
import { deleteObject, getText } from './operations.ts';
import { OWN_FOLDER } from './own-folder.ts';

/** The folder of the objects that are leases. */
export const LEASES = `${OWN_FOLDER}leases/`;

/** The owner of a lease that its holder left. */
const LEFT = '';

/** Default milliseconds after the last renewal from which a lease counts as expired. */
const LEASE_MS = 60_000;

/** A lease is renewed after this part of its duration, and counts as lost by its holder after the other. */
const RENEW_AFTER = 0.25;
const LOST_AFTER = 0.75;

/** Maximum attempts to acquire a lease that other processes acquire and release meanwhile. */
const MAX_ATTEMPTS = 5;

/** A lease object in the bucket. */
interface StoredLease {
  readonly owner: string;
  /** What the holder does, as it recorded it. */
  readonly task: string;
  readonly etag: string;
  readonly isExpired: boolean;
}

export interface LeaseOptions {
  readonly bucket: Bucket;
  /** Writes an object conditionally. */
  readonly write: Store['write'];
  readonly leaseMs?: number | undefined;
}

/**
 * Exclusive leases among all processes of a bucket. A lease is an object that its holder renews. If the holder dies, the
 * lease expires, and the next process that acquires it learns what the holder was doing. Times are those of the store, so
 * clocks of different machines don't matter.
 */
export class Leases {
  readonly #bucket: Bucket;
  readonly #write: Store['write'];
  readonly #leaseMs: number;

  constructor({ bucket, write, leaseMs = LEASE_MS }: LeaseOptions) {
    this.#bucket = bucket;
    this.#write = write;
    this.#leaseMs = leaseMs;
  }

  /**
   * Acquires the lease `name`, and records what the caller does. Throws `store-busy` if another process has the lease.
   */
  async acquire(name: string, task: string, options: Cancellable): Promise<Lease> {
    const key = LEASES + name;
    const owner = randomUUID();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      try {
        return this.#hold({ key, owner, task, etag: await this.#put(key, owner, task, 'absent') });
      } catch (error) {
        if (!isStoreError(error, 'condition-failed')) throw error;
      }
      const stored = await this.#find(key, options);
      if (!stored) continue;
      // The response to a successful request was lost.
      if (stored.owner === owner) return this.#hold({ key, owner, task, etag: stored.etag });
      if (!stored.isExpired) break;
      const lease = await this.#takeOver(key, owner, stored);
      if (lease) return lease;
    }
    throw new StoreError('store-busy', 'Another process is changing the same item. Try again later.', {
      retryAfter: Math.ceil(this.#leaseMs / 1000),
    });
  }

  /** Acquires a lease whose holder died. Returns undefined if it was released or is in use. */
  async acquireExpired(name: string, options: Cancellable): Promise<Lease | undefined> {
    const key = LEASES + name;
    const stored = await this.#find(key, options);
    return stored?.isExpired ? this.#takeOver(key, randomUUID(), stored) : undefined;
  }

  /** Takes an expired lease over. Returns undefined if another process was faster. */
  async #takeOver(key: Key, owner: string, { task, etag }: StoredLease): Promise<Lease | undefined> {
    try {
      const taken = await this.#put(key, owner, task, { etag });
      return this.#hold({ key, owner, task, etag: taken, interrupted: task });
    } catch (error) {
      if (isStoreError(error, 'condition-failed')) return undefined;
      throw error;
    }
  }

  #hold({ key, owner, task, etag, interrupted }: HeldLease): Lease {
    return new Lease({
      etag,
      interrupted,
      leaseMs: this.#leaseMs,
      renew: (before) => this.#put(key, owner, task, { etag: before }),
      leave: (before) => this.#put(key, LEFT, task, { etag: before }),
      remove: () => this.#remove(key),
    });
  }

  /** Removes a lease object. If that fails, the lease expires. */
  async #remove(key: Key): Promise<void> {
    await deleteObject(this.#bucket, key, { condition: {} }).catch((error: unknown) =>
      this.#bucket.warn('A lease could not be released. It expires soon.', { key, err: error }),
    );
  }

  async #put(key: Key, owner: string, task: string, condition: 'absent' | { etag: string }): Promise<string> {
    const bytes = Buffer.from(JSON.stringify({ owner, task }));
    const upload = { body: Readable.from([bytes]), size: bytes.length, type: 'application/json' };
    return (await this.#write(key as FilePath, upload, { condition })).etag;
  }

  async #find(key: Key, { signal }: Cancellable): Promise<StoredLease | undefined> {
    const found = await undefinedIfNotFound(getText(this.#bucket, key, { signal }));
    if (!found) return undefined;
    const { head, text } = found;
    const { owner, task } = parse(text);
    // Both times are of the store's clock. A response of a cache would have an Age header.
    const age = Date.parse(head.headers.date ?? '') - (head.modified?.getTime() ?? Number.NaN);
    return { owner, task, etag: head.etag, isExpired: owner === LEFT || age > this.#leaseMs };
  }
}

interface HeldLease extends Omit<StoredLease, 'isExpired'> {
  readonly key: Key;
  readonly interrupted?: string;
}

interface LeaseHandle {
  /** The ETag of the lease object. */
  readonly etag: string;
  readonly interrupted: string | undefined;
  readonly leaseMs: number;
  /** Replaces the lease object if it has this ETag. Returns the new one. */
  renew(etag: string): Promise<string>;
  /** Replaces the lease object by one that has expired. */
  leave(etag: string): Promise<string>;
  remove(): Promise<void>;
}

/** A lease that this process holds, until it calls `release` or `abandon`. */
export class Lease {
  /** The task of the holder that died before this one. */
  readonly interrupted: string | undefined;
  readonly #handle: LeaseHandle;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  /** Resolves to the last ETag of the lease object. */
  readonly #renewing: Promise<string>;

  constructor(handle: LeaseHandle) {
    this.interrupted = handle.interrupted;
    this.#handle = handle;
    this.#renewing = this.#renew();
  }

  /** Aborts when the lease could not be renewed, so that another process might acquire it. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Ends the lease, so that other processes can acquire it. */
  async release(): Promise<void> {
    await this.abandon();
    // A lost lease might belong to another process.
    if (!this.#lost.signal.aborted) await this.#handle.remove();
  }

  /** Leaves the lease to the next process, which acquires it after its expiry and completes the task. */
  async abandon(): Promise<void> {
    await this.#end();
  }

  /** Leaves the lease like `abandon`, but to be acquired at once. No request of the task may be in progress. */
  async leave(): Promise<void> {
    const etag = await this.#end();
    if (!this.#lost.signal.aborted) await this.#handle.leave(etag).catch(() => {});
  }

  async #end(): Promise<string> {
    this.#ended.abort();
    return this.#renewing;
  }

  async #renew(): Promise<string> {
    const { leaseMs, renew } = this.#handle;
    const ended = this.#ended.signal;
    const lose = (cause?: unknown) => this.#lost.abort(leaseLost(cause));
    let { etag } = this.#handle;
    let deadline = setTimeout(lose, leaseMs * LOST_AFTER).unref();
    while (await passes(leaseMs * RENEW_AFTER, ended)) {
      const started = performance.now();
      try {
        etag = await renew(etag);
        clearTimeout(deadline);
        deadline = setTimeout(lose, Math.max(0, leaseMs * LOST_AFTER - (performance.now() - started))).unref();
      } catch (error) {
        // After any other error, the next attempt might succeed before the deadline.
        if (isStoreError(error, 'condition-failed')) lose(error);
      }
    }
    clearTimeout(deadline);
    return etag;
  }
}

/** Resolves to true after a time, or to false when the signal aborts before. */
async function passes(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return delay(milliseconds, true, { signal, ref: false }).catch(() => false);
}

function leaseLost(cause: unknown): StoreError {
  const message = 'The operation stopped because the object store did not respond in time. Send the request again.';
  return new StoreError('store-busy', message, { cause, retryAfter: LEASE_MS / 1000 });
}

function parse(text: string): { readonly owner: string; readonly task: string } {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'owner' in parsed && 'task' in parsed) {
      return { owner: String(parsed.owner), task: String(parsed.task) };
    }
  } catch {
    // Another program has changed the lease. It expires like any other.
  }
  return { owner: '', task: '' };
}
