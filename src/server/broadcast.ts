import cluster, { type Worker } from 'node:cluster';
import type { Broadcast } from '../database/database.ts';

/** A message that the primary process passes on to all other workers. */
interface Message {
  readonly kind: 'broadcast';
  readonly topic: string;
}

/** Passes the messages of each worker on to all other workers, in the primary. */
export function serveBroadcastsToWorkers(): void {
  cluster.on('message', (sender: Worker, message: Message | { readonly kind: undefined }) => {
    if (message.kind !== 'broadcast') return;
    for (const worker of Object.values(cluster.workers ?? {})) {
      // The worker can exit before the message is sent.
      if (worker && worker !== sender && worker.isConnected()) worker.send(message, undefined, undefined, () => {});
    }
  });
}

/** Milliseconds between two messages of one topic: each takes CPU time of the primary and of all workers. */
const MIN_INTERVAL_MS = 50;

/** Returns the messages between the workers of this machine. Without workers, there is no other process. */
export function connectBroadcast(): Broadcast {
  /** The topics of the last interval, and whether they must be sent again at its end. */
  const recent = new Map<string, boolean>();
  const send = (topic: string) => {
    if (recent.has(topic)) return void recent.set(topic, true);
    const message: Message = { kind: 'broadcast', topic };
    // Without a callback, a channel that was just closed would cause an uncaught error.
    process.send?.(message, undefined, undefined, () => {});
    recent.set(topic, false);
    const endInterval = () => {
      const isAgain = recent.get(topic);
      recent.delete(topic);
      if (isAgain) send(topic);
    };
    setTimeout(endInterval, MIN_INTERVAL_MS).unref();
  };
  return {
    send,
    listen(listener) {
      const receive = (message: Message | { readonly kind: undefined }) => {
        if (message.kind === 'broadcast') listener(message.topic);
      };
      process.on('message', receive);
      return () => void process.off('message', receive);
    },
  };
}
