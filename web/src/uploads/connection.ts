/** Whether this machine is connected to anything, and time that passes. */
export interface Connection {
  /** Settles when there is a connection: at once, most of the time. Rejects with the signal's reason. */
  online(signal: AbortSignal): Promise<void>;
  /** Settles after so many milliseconds. Rejects with the signal's reason. */
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export function createConnection(): Connection {
  return {
    online(signal) {
      if (navigator.onLine) return Promise.resolve();
      return settled(signal, (resolve) => {
        window.addEventListener('online', resolve, { once: true });
        return () => window.removeEventListener('online', resolve);
      });
    },
    pause: (milliseconds, signal) =>
      settled(signal, (resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        return () => clearTimeout(timer);
      }),
  };
}

/** Settles when `begin` calls what it is given, or the signal says so; what was begun is ended in both cases. */
function settled(signal: AbortSignal, begin: (resolve: () => void) => () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.reject(signal.reason);
  const end = begin(resolve);
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  return promise.finally(() => {
    end();
    signal.removeEventListener('abort', abort);
  });
}
