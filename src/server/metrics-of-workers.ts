import cluster, { type Worker } from 'node:cluster';

/** Milliseconds that a worker has to respond. A worker that hangs must not delay the metrics of the others. */
const TIME_LIMIT = 2000;

/**
 * Messages between the processes. A worker sends `gather` to the primary, which sends `tell` to all workers. They
 * respond with `told`, and the primary returns all responses in `gathered`.
 */
type Message =
  | { readonly kind: 'gather'; readonly question: number }
  | { readonly kind: 'tell'; readonly question: number }
  | { readonly kind: 'told'; readonly question: number; readonly answer: object[] }
  | { readonly kind: 'gathered'; readonly question: number; readonly answers: object[][] };

/**
 * Creates the function that returns the result of `read` in every worker, or in this process if there are no workers.
 * Omits workers that do not respond in time. Called in a serving process.
 */
export function createMetricsCollector(read: () => Promise<object[]>): () => Promise<object[][]> {
  if (!cluster.isWorker) return async () => [await read()];
  const waiting = new Map<number, (answers: object[][]) => void>();
  let asked = 0;
  const tell = async (question: number) => send({ kind: 'told', question, answer: await read() });
  process.on('message', (message: Message) => {
    // A worker whose `read` fails is omitted, like one that does not respond.
    if (message.kind === 'tell') tell(message.question).catch(() => {});
    if (message.kind !== 'gathered') return;
    waiting.get(message.question)?.(message.answers);
    waiting.delete(message.question);
  });
  return () =>
    new Promise((resolve) => {
      const question = ++asked;
      waiting.set(question, resolve);
      send({ kind: 'gather', question });
    });
}

function send(message: Message): void {
  process.send?.(message);
}

/**
 * Handles the requests of all workers, in the primary. Does not ask workers that are still starting, because they
 * would not respond.
 */
export function serveMetricsToWorkers(): void {
  const gathers = new Map<number, Gather>();
  const serving = new WeakSet<Worker>();
  let asked = 0;
  cluster.on('message', (worker: Worker, message: Message | { kind: undefined; ready?: object }) => {
    if (message.kind === undefined) {
      if (message.ready) serving.add(worker);
      return;
    }
    if (message.kind === 'told') gathers.get(message.question)?.take(message.answer);
    if (message.kind !== 'gather') return;
    const question = ++asked;
    const workers = Object.values(cluster.workers ?? {}).filter(
      (each) => each && serving.has(each) && each.isConnected(),
    );
    gathers.set(
      question,
      gather(workers.length, (answers) => {
        gathers.delete(question);
        if (worker.isConnected()) worker.send({ kind: 'gathered', question: message.question, answers });
      }),
    );
    for (const each of workers) each?.send({ kind: 'tell', question });
  });
}

interface Gather {
  take(answer: object[]): void;
}

/** Collects responses until `wanted` of them have arrived, or until the timeout. */
function gather(wanted: number, end: (answers: object[][]) => void): Gather {
  const answers: object[][] = [];
  const timer = setTimeout(() => end(answers), TIME_LIMIT);
  return {
    take(answer) {
      if (answers.push(answer) < wanted) return;
      clearTimeout(timer);
      end(answers);
    },
  };
}
