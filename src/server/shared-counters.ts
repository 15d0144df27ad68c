import cluster, { type Worker } from 'node:cluster';
import {
  type ConsumeRequest,
  type ConsumeResult,
  FixedWindows,
  type Window,
  type WindowCounters,
} from '../http/limits/counters.ts';

/**
 * The limits that the workers of one machine share. Each limit has its own windows, so that a client that fills one
 * limit cannot evict windows of the other.
 */
export type SharedLimit = 'requests' | 'attempts';

/** Milliseconds that the primary has to respond. Afterwards, a worker counts on its own. */
const RESPONSE_TIMEOUT_MS = 1000;

type CounterRequest = readonly [id: string, request: ConsumeRequest];

/** Messages between a worker and the primary. `window` notifies the other workers of a change. */
type Message =
  | {
      readonly kind: 'consume';
      readonly limit: SharedLimit;
      readonly batch: number;
      readonly requests: readonly CounterRequest[];
    }
  | {
      readonly kind: 'consumed';
      readonly limit: SharedLimit;
      readonly batch: number;
      readonly results: readonly ConsumeResult[];
    }
  | { readonly kind: 'refund'; readonly limit: SharedLimit; readonly id: string }
  | { readonly kind: 'window'; readonly limit: SharedLimit; readonly id: string; readonly window: Window };

/** Counts for all workers, in the primary. A limit therefore applies to the whole service and outlives a worker. */
export function serveCountersToWorkers(): void {
  const counters = { requests: new FixedWindows(), attempts: new FixedWindows() };
  cluster.on('message', (worker: Worker, message: Message | { readonly kind: undefined }) => {
    if (message.kind === 'consume') {
      const { limit, batch, requests } = message;
      const results = requests.map(([id, request]) => counters[limit].consume(id, request));
      sendToWorker(worker, { kind: 'consumed', limit, batch, results });
      for (const [index, [id]] of requests.entries()) {
        const window = results[index];
        if (window && window.granted > 0) announceWindow(worker, limit, id, window);
      }
    } else if (message.kind === 'refund') {
      const { limit, id } = message;
      const window = counters[limit].refund(id);
      if (window) announceWindow(worker, limit, id, window);
    }
  });
}

/**
 * Sends a window of sign-in attempts to the workers other than `sender`. Windows of requests change too often, and no
 * worker peeks at them.
 */
function announceWindow(sender: Worker, limit: SharedLimit, id: string, { count, ends }: Window): void {
  if (limit === 'requests') return;
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker && worker !== sender) sendToWorker(worker, { kind: 'window', limit, id, window: { count, ends } });
  }
}

function sendToWorker(worker: Worker, message: Message): void {
  // The worker can exit before the message is sent.
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}

interface PendingRequest {
  readonly request: CounterRequest;
  readonly resolve: (result: ConsumeResult) => void;
}

/**
 * Creates the counters of a worker. The primary holds their values. All units that one turn of the event loop consumes
 * go into one message. While the primary does not respond, this process counts on its own and calls `warn`.
 */
export function createPrimaryCounters(limit: SharedLimit, warn: () => void): WindowCounters {
  return new PrimaryCounters(limit, warn);
}

class PrimaryCounters implements WindowCounters {
  readonly #limit: SharedLimit;
  readonly #warn: () => void;
  /** The counts of this process, while the primary does not respond. */
  readonly #own = new FixedWindows();
  /** The primary's windows as last reported. */
  readonly #reported = new FixedWindows();
  readonly #batches = new Map<
    number,
    { readonly pending: readonly PendingRequest[]; readonly timer: NodeJS.Timeout }
  >();
  #pending: PendingRequest[] = [];
  #lastBatch = 0;

  constructor(limit: SharedLimit, warn: () => void) {
    this.#limit = limit;
    this.#warn = warn;
    process.on('message', (message: Message) => this.#receive(message));
  }

  consume(id: string, request: ConsumeRequest): Promise<ConsumeResult> {
    return new Promise((resolve) => {
      if (this.#pending.push({ request: [id, request], resolve }) === 1) setImmediate(() => this.#sendBatch());
    });
  }

  async refund(id: string): Promise<void> {
    this.#own.refund(id);
    this.#reported.refund(id);
    sendToPrimary({ kind: 'refund', limit: this.#limit, id }, () => {});
  }

  peek(id: string): Window | undefined {
    return this.#reported.peek(id) ?? this.#own.peek(id);
  }

  #sendBatch(): void {
    const pending = this.#pending;
    this.#pending = [];
    const batch = ++this.#lastBatch;
    const fallBack = () => this.#countLocally(batch);
    this.#batches.set(batch, { pending, timer: setTimeout(fallBack, RESPONSE_TIMEOUT_MS).unref() });
    const requests = pending.map(({ request }) => request);
    sendToPrimary({ kind: 'consume', limit: this.#limit, batch, requests }, fallBack);
  }

  #countLocally(batch: number): void {
    const pending = this.#removeBatch(batch);
    if (!pending) return;
    this.#warn();
    for (const { request, resolve } of pending) resolve(this.#own.consume(...request));
  }

  #receive(message: Message): void {
    if (message.kind === 'window' && message.limit === this.#limit) {
      this.#reported.set(message.id, message.window);
    } else if (message.kind === 'consumed' && message.limit === this.#limit) {
      const pending = this.#removeBatch(message.batch) ?? [];
      for (const [index, { request, resolve }] of pending.entries()) {
        const result = message.results[index];
        if (!result) continue;
        if (this.#limit === 'attempts') this.#reported.set(request[0], result);
        resolve(result);
      }
    }
  }

  /** Removes a batch without a response. Returns undefined if it had its response or timed out before. */
  #removeBatch(batch: number): readonly PendingRequest[] | undefined {
    const entry = this.#batches.get(batch);
    this.#batches.delete(batch);
    clearTimeout(entry?.timer);
    return entry?.pending;
  }
}

/** Sends a message to the primary. `onFailure` also prevents an uncaught error if the channel was just closed. */
function sendToPrimary(message: Message, onFailure: () => void): void {
  process.send?.(message, undefined, undefined, (error) => {
    if (error) onFailure();
  });
}
