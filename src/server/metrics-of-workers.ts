import cluster, { type Worker } from 'node:cluster';

/** Milliseconds that a process has for its answer: one that is stuck must not keep the others' from who asked. */
const TIME_LIMIT = 2000;

/** What goes between the processes: a worker asks the primary, which asks all workers, and gives it their answers. */
type Message =
  | { readonly kind: 'gather'; readonly question: number }
  | { readonly kind: 'tell'; readonly question: number }
  | { readonly kind: 'told'; readonly question: number; readonly answer: object[] }
  | { readonly kind: 'gathered'; readonly question: number; readonly answers: object[][] };

/**
 * In a process that serves: gives what \`read\` gives in each of those that serve together. One that does not answer in
 * time is left out.
 */
export function createMetricsCollector(read: () => Promise<object[]>): () => Promise<object[][]> {
  if (!cluster.isWorker) return async () => [await read()];
  const waiting = new Map<number, (answers: object[][]) => void>();
  let asked = 0;
  const tell = async (question: number) => send({ kind: 'told', question, answer: await read() });
  process.on('message', (message: Message) => {
    // Who can't tell is left out, as who does not answer.
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

/** In the primary: asks all workers for each that wants to know. One that is still starting would not answer. */
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

/** Waits for so many answers, or for those that came in time. */
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
