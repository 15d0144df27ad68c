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

/** Returns the messages between the workers of this machine. Without workers, there is no other process. */
export function connectBroadcast(): Broadcast {
  return {
    send(topic) {
      const message: Message = { kind: 'broadcast', topic };
      // Without a callback, a channel that was just closed would cause an uncaught error.
      process.send?.(message, undefined, undefined, () => {});
    },
    listen(listener) {
      const receive = (message: Message | { readonly kind: undefined }) => {
        if (message.kind === 'broadcast') listener(message.topic);
      };
      process.on('message', receive);
      return () => void process.off('message', receive);
    },
  };
}
