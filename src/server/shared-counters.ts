import cluster, { type Worker } from 'node:cluster';
import {
  FixedWindows,
  type TakeRequest,
  type TakeResult,
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

type CounterRequest = readonly [id: string, request: TakeRequest];

/** Messages between a worker and the primary. `window` notifies the other workers of a change. */
type Message =
  | {
      readonly kind: 'take';
      readonly limit: SharedLimit;
      readonly batch: number;
      readonly asks: readonly CounterRequest[];
    }
  | {
      readonly kind: 'taken';
      readonly limit: SharedLimit;
      readonly batch: number;
      readonly taken: readonly TakeResult[];
    }
  | { readonly kind: 'give-back'; readonly limit: SharedLimit; readonly id: string }
  | { readonly kind: 'window'; readonly limit: SharedLimit; readonly id: string; readonly window: Window };

/** Counts for all workers, in the primary. A limit therefore applies to the whole service and outlives a worker. */
export function serveCountersToWorkers(): void {
  const windows = { requests: new FixedWindows(), attempts: new FixedWindows() };

  /**
   * Sends a window of attempts to the other workers. Windows of requests change too often, and no worker peeks at them.
   */
  const announce = (from: Worker, limit: SharedLimit, id: string, { count, ends }: Window) => {
    if (limit === 'requests') return;
    for (const worker of Object.values(cluster.workers ?? {})) {
      if (worker && worker !== from) sendToWorker(worker, { kind: 'window', limit, id, window: { count, ends } });
    }
  };

  cluster.on('message', (worker: Worker, message: Message | { readonly kind: undefined }) => {
    if (message.kind === 'take') {
      const { limit, batch, asks } = message;
      const taken = asks.map(([id, request]) => windows[limit].take(id, request));
      sendToWorker(worker, { kind: 'taken', limit, batch, taken });
      for (const [index, [id]] of asks.entries()) {
        const window = taken[index];
        if (window && window.granted > 0) announce(worker, limit, id, window);
      }
    } else if (message.kind === 'give-back') {
      const { limit, id } = message;
      const window = windows[limit].refund(id);
      if (window) announce(worker, limit, id, window);
    }
  });
}

function sendToWorker(worker: Worker, message: Message): void {
  // The worker can exit before the message is sent.
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}

interface PendingRequest {
  readonly ask: CounterRequest;
  readonly settle: (taken: TakeResult) => void;
}

/**
 * Creates the counters of a worker. The primary holds their values. All units that one turn of the event loop takes
 * go into one message. While the primary does not respond, this process counts on its own and calls `warn`.
 */
export function createPrimaryCounters(limit: SharedLimit, warn: () => void): WindowCounters {
  /** `own` holds the counts of this process; `known` holds the primary's windows as last reported. */
  const own = new FixedWindows();
  const known = new FixedWindows();
  const sent = new Map<number, { readonly asks: readonly PendingRequest[]; readonly timer: NodeJS.Timeout }>();
  let next: PendingRequest[] = [];
  let batches = 0;

  const giveUp = (batch: number) => {
    const entry = sent.get(batch);
    if (!entry) return;
    sent.delete(batch);
    clearTimeout(entry.timer);
    warn();
    for (const { ask, settle } of entry.asks) settle(own.take(...ask));
  };

  const flush = () => {
    const asks = next;
    next = [];
    const batch = ++batches;
    sent.set(batch, { asks, timer: setTimeout(() => giveUp(batch), RESPONSE_TIMEOUT_MS).unref() });
    send({ kind: 'take', limit, batch, asks: asks.map(({ ask }) => ask) }, () => giveUp(batch));
  };

  process.on('message', (message: Message) => {
    if (message.kind === 'window' && message.limit === limit) return known.set(message.id, message.window);
    if (message.kind !== 'taken' || message.limit !== limit) return;
    const entry = sent.get(message.batch);
    if (!entry) return;
    sent.delete(message.batch);
    clearTimeout(entry.timer);
    for (const [index, { ask, settle }] of entry.asks.entries()) {
      const taken = message.taken[index];
      if (!taken) continue;
      if (limit === 'attempts') known.set(ask[0], taken);
      settle(taken);
    }
  });

  return {
    take: (id, request) =>
      new Promise((settle) => {
        if (next.push({ ask: [id, request], settle }) === 1) setImmediate(flush);
      }),
    async refund(id) {
      own.refund(id);
      known.refund(id);
      send({ kind: 'give-back', limit, id }, () => {});
    },
    peek: (id) => known.peek(id) ?? own.peek(id),
  };
}

/** Sends a message to the primary. `onFailure` also prevents an uncaught error if the channel was just closed. */
function send(message: Message, onFailure: () => void): void {
  process.send?.(message, undefined, undefined, (error) => {
    if (error) onFailure();
  });
}
