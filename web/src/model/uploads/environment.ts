import { type ReadonlySignal, signal } from '@preact/signals';
import { unlessAborted } from '../../platform/unless-aborted.ts';

/** What the uploads need of the browser. */
export interface UploadEnvironment {
  readonly connection: Connection;
  /** Calls `onActivity` when the user does something other than following the uploads. */
  watchUser(onActivity: () => void): void;
}

/** The network connection of the device, and delays. */
export interface Connection {
  readonly isOnline: ReadonlySignal<boolean>;
  /** Resolves when the device is online. Rejects with the signal's reason. */
  whenOnline(signal: AbortSignal): Promise<void>;
  /** Resolves after a number of milliseconds. Rejects with the signal's reason. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** Creates the environment in the browser. Its listeners stay for the lifetime of the page. */
export function createBrowserEnvironment(): UploadEnvironment {
  // Preloads the upload code, because the network may fail before the first upload.
  void import('../../platform/service/upload.ts').catch(() => {});
  return { connection: createConnection(), watchUser };
}

function createConnection(): Connection {
  const isOnline = signal(navigator.onLine);
  for (const type of ['online', 'offline']) {
    window.addEventListener(type, () => {
      isOnline.value = navigator.onLine;
    });
  }
  return {
    isOnline,
    async whenOnline(abortSignal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const unsubscribe = isOnline.subscribe((isNow) => {
        if (isNow) resolve();
      });
      await unlessAborted(promise, abortSignal).finally(unsubscribe);
    },
    async delay(milliseconds, abortSignal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, milliseconds);
      await unlessAborted(promise, abortSignal).finally(() => clearTimeout(timer));
    },
  };
}

/** Reacts to events outside the tray, messages and dialogs. */
function watchUser(onActivity: () => void): void {
  for (const type of ['pointerdown', 'keydown', 'wheel'] as const) {
    document.addEventListener(
      type,
      ({ target }) => {
        const isAside = target instanceof Element && target.closest('.tray, .messages, dialog') !== null;
        if (!isAside) onActivity();
      },
      { capture: true, passive: true },
    );
  }
}
