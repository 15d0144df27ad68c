import { type ReadonlySignal, signal } from '@preact/signals';

/** Whether this machine is connected to anything, and time that passes. */
export interface Connection {
  readonly isOnline: ReadonlySignal<boolean>;
  /** Settles when there is a connection: at once, most of the time. Rejects with the ending's reason. */
  online(ending: AbortSignal): Promise<void>;
  /** Settles after so many milliseconds. Rejects with the ending's reason. */
  pause(milliseconds: number, ending: AbortSignal): Promise<void>;
}

/** Listens for as long as the page lives. */
export function createConnection(): Connection {
  const isOnline = signal(navigator.onLine);
  for (const type of ['online', 'offline']) {
    window.addEventListener(type, () => {
      isOnline.value = navigator.onLine;
    });
  }

  return {
    isOnline,
    online(ending) {
      if (isOnline.value) return Promise.resolve();
      return settled(ending, (resolve) =>
        isOnline.subscribe((isNow) => {
          if (isNow) resolve();
        }),
      );
    },
    pause: (milliseconds, ending) =>
      settled(ending, (resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        return () => clearTimeout(timer);
      }),
  };
}

/** Settles when `begin` calls what it is given, or the ending says so; what was begun is ended in both cases. */
function settled(ending: AbortSignal, begin: (resolve: () => void) => () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (ending.aborted) return Promise.reject(ending.reason);
  const end = begin(resolve);
  const abort = () => reject(ending.reason);
  ending.addEventListener('abort', abort);
  return promise.finally(() => {
    end();
    ending.removeEventListener('abort', abort);
  });
}
