import cluster, { type Worker } from 'node:cluster';

/** Milliseconds that a worker has to respond. A worker that hangs must not delay the metrics of the others. */
const WORKER_TIMEOUT_MS = 2000;

/** Milliseconds that the primary has to respond. Afterwards, a worker returns only its own metrics. */
const PRIMARY_TIMEOUT_MS = 3000;

/**
 * Messages between the processes. A worker sends `collect` to the primary, which sends `read` to all workers. They
 * respond with `metrics`, and the primary returns all of them in `collected`. Ids are unique per sender.
 */
type Message =
  | { readonly kind: 'collect'; readonly id: number }
  | { readonly kind: 'read'; readonly id: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly metrics: object[] }
  | { readonly kind: 'collected'; readonly id: number; readonly metrics: object[][] };

/**
 * Creates the function that returns the result of `read` in every worker, or in this process if there are no workers.
 * Omits workers that do not respond in time. Called in a serving process.
 */
export function createMetricsCollector(read: () => Promise<object[]>): () => Promise<object[][]> {
  if (!cluster.isWorker) return async () => [await read()];
  const pending = new Map<number, (metrics: object[][] | undefined) => void>();
  let lastId = 0;
  const respond = async (id: number) => sendToPrimary({ kind: 'metrics', id, metrics: await read() });
  process.on('message', (message: Message) => {
    // A worker whose `read` fails is omitted, like one that does not respond.
    if (message.kind === 'read') respond(message.id).catch(() => {});
    if (message.kind === 'collected') pending.get(message.id)?.(message.metrics);
  });
  return async () => {
    const id = ++lastId;
    const { promise, resolve } = Promise.withResolvers<object[][] | undefined>();
    const timer = setTimeout(() => resolve(undefined), PRIMARY_TIMEOUT_MS);
    pending.set(id, resolve);
    sendToPrimary({ kind: 'collect', id });
    const metrics = await promise;
    clearTimeout(timer);
    pending.delete(id);
    return metrics ?? [await read()];
  };
}

function sendToPrimary(message: Message): void {
  // Without a callback, a channel that was just closed would cause an uncaught error.
  process.send?.(message, undefined, undefined, () => {});
}

/**
 * Handles the requests of all workers, in the primary. Omits workers that are still starting. Adds the metrics of the primary
 * itself: `deaths` returns the number of workers that died.
 */
export function serveMetricsToWorkers(deaths: () => number): void {
  const collections = new Map<number, MetricsCollection>();
  const ready = new WeakSet<Worker>();
  let lastId = 0;
  cluster.on('message', (worker: Worker, message: Message | { kind: undefined; ready?: object }) => {
    if (message.kind === undefined) {
      if (message.ready) ready.add(worker);
    } else if (message.kind === 'metrics') {
      collections.get(message.id)?.add(message.metrics);
    } else if (message.kind === 'collect') {
      // The requesting worker responds, even if its `ready` message has not arrived yet.
      ready.add(worker);
      const id = ++lastId;
      const workers = Object.values(cluster.workers ?? {}).filter(
        (each) => each && ready.has(each) && each.isConnected(),
      );
      const finish = (metrics: object[][]) => {
        collections.delete(id);
        sendToWorker(worker, { kind: 'collected', id: message.id, metrics: [...metrics, metricsOfPrimary(deaths())] });
      };
      collections.set(id, new MetricsCollection(workers.length, finish));
      for (const each of workers) if (each) sendToWorker(each, { kind: 'read', id });
    }
  });
}

/** Returns the metrics of the primary, as the registry of a worker returns its own. The primary does not load that code. */
function metricsOfPrimary(deaths: number): object[] {
  return [
    {
      name: 'holdall_worker_deaths_total',
      help: 'Workers that died and were replaced.',
      type: 'counter',
      values: [{ value: deaths, labels: { worker: 'primary' } }],
      aggregator: 'sum',
    },
  ];
}

function sendToWorker(worker: Worker, message: Message): void {
  // The worker can exit before the message is sent.
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}

/** Collects the metrics of `count` workers. Calls `finish` when all have arrived, or after the timeout. */
class MetricsCollection {
  readonly #metrics: object[][] = [];
  readonly #count: number;
  readonly #finish: (metrics: object[][]) => void;
  readonly #timer: NodeJS.Timeout;

  constructor(count: number, finish: (metrics: object[][]) => void) {
    this.#count = count;
    this.#finish = finish;
    this.#timer = setTimeout(() => finish(this.#metrics), WORKER_TIMEOUT_MS);
  }

  add(metrics: object[]): void {
    if (this.#metrics.push(metrics) < this.#count) return;
    clearTimeout(this.#timer);
    this.#finish(this.#metrics);
  }
}
