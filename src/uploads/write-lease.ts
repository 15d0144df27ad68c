import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../model/error.ts';
import type { Cancellable } from '../model/store.ts';
import type { Uploads } from './uploads.ts';

/** Milliseconds between two attempts to take a lease. */
const RETRY_MS = 100;

/** Milliseconds between two renewals. The writer then also learns whether another request waits. */
const RENEWAL_MS = 500;

export interface WriteLeasesOptions {
  /** Milliseconds for which a lease is valid without a renewal. */
  readonly leaseMs: number;
  /** Milliseconds that a request waits for another one to end. */
  readonly waitMs: number;
}

/**
 * Lets one request at a time write the content of an upload, in all processes. A new request ends the one before: a client
 * that continues an upload has ended its earlier request, which the service might not know yet.
 */
export class WriteLeases {
  readonly #uploads: Pick<Uploads, 'claim' | 'renew' | 'release'>;
  readonly #options: WriteLeasesOptions;
  /** Ends the writers of this process, by the IDs of their uploads. */
  readonly #local = new Map<string, AbortController>();

  constructor(uploads: Pick<Uploads, 'claim' | 'renew' | 'release'>, options: WriteLeasesOptions) {
    this.#uploads = uploads;
    this.#options = options;
  }

  /**
   * Runs a task that writes the content of an upload. The signal of the task aborts when it has to end. Throws
   * `upload-in-use` if another request does not end in time, or if the client leaves while it waits (`signal`).
   */
  async run<Result>(
    id: string,
    task: (signal: AbortSignal) => Promise<Result>,
    { signal }: Cancellable = {},
  ): Promise<Result> {
    const writer = randomUUID();
    await this.#claim(id, writer, signal);
    const ending = new AbortController();
    this.#local.set(id, ending);
    const renewing = new AbortController();
    const renewals = this.#renew(id, { writer, ending, signal: renewing.signal });
    try {
      return await task(ending.signal);
    } finally {
      renewing.abort();
      await renewals;
      if (this.#local.get(id) === ending) this.#local.delete(id);
      // Without the database, the lease expires.
      await this.#uploads.release(id, writer).catch(() => {});
    }
  }

  async #claim(id: string, writer: string, signal: AbortSignal | undefined): Promise<void> {
    const deadline = performance.now() + this.#options.waitMs;
    for (;;) {
      // A request without a client must not end the next one of that client.
      if (signal?.aborted) throw superseded();
      if (await this.#uploads.claim(id, writer)) return;
      this.#local.get(id)?.abort(superseded());
      if (performance.now() >= deadline) throw inUse();
      await delay(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #renew(
    id: string,
    {
      writer,
      ending,
      signal,
    }: { readonly writer: string; readonly ending: AbortController; readonly signal: AbortSignal },
  ): Promise<void> {
    let validUntil = performance.now() + this.#options.leaseMs;
    for (;;) {
      await delay(RENEWAL_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const started = performance.now();
      const state = await this.#uploads.renew(id, writer).catch(() => undefined);
      if (state === 'wanted' || state === 'lost') ending.abort(superseded());
      if (state === 'held') validUntil = started + this.#options.leaseMs;
      // While the database is unavailable, another process can take the lease only after its end.
      else if (started + RENEWAL_MS >= validUntil) ending.abort(superseded());
    }
  }
}

function superseded(): StoreError {
  return new StoreError('upload-in-use', 'Another request continues this upload.', { retryAfter: 1 });
}

function inUse(): StoreError {
  return new StoreError('upload-in-use', 'Another request still writes this upload. Try again.', { retryAfter: 1 });
}
