/** What an account uses of the browser. */
export interface AccountBrowser {
  /** Connects to the other tabs that show the service with the root `base`. Several can share an origin. */
  connectTabs(base: string, onUser: (username: string | null) => void): OtherTabs;
  /** Calls `callback` once, when the user next presses a key or a pointer. */
  onNextInput(callback: () => void): void;
  reload(): void;
}

/** The other tabs and windows of the browser that show the same service. */
export interface OtherTabs {
  /** Sends who has signed in; null when the user has signed out. */
  post(username: string | null): void;
}

/** The listeners stay for the lifetime of the page. */
export const BROWSER: AccountBrowser = {
  connectTabs(base, onUser) {
    const channel = new BroadcastChannel(`holdall ${base}`);
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (data === null || typeof data === 'string') onUser(data);
    });
    return {
      post(username) {
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin but its own.
        channel.postMessage(username);
      },
    };
  },
  onNextInput(callback) {
    const listening = new AbortController();
    const onInput = () => {
      listening.abort();
      callback();
    };
    for (const type of ['pointerdown', 'keydown']) {
      window.addEventListener(type, onInput, { capture: true, signal: listening.signal });
    }
  },
  reload: () => window.location.reload(),
};

/** The key of the session storage, which survives a reload. */
const CANCELLED_WORK_KEY = 'holdall cancelled work';

/** Stores that a reload cancels uploads or changes of a user. */
export function storeCancelledWork(username: string): void {
  try {
    sessionStorage.setItem(CANCELLED_WORK_KEY, username);
  } catch {
    // The browser denies access to the storage.
  }
}

/** Returns the user whose work the last reload cancelled, only once; null if there is none. */
export function takeCancelledWork(): string | null {
  try {
    const username = sessionStorage.getItem(CANCELLED_WORK_KEY);
    sessionStorage.removeItem(CANCELLED_WORK_KEY);
    return username;
  } catch {
    // The browser denies access to the storage, so nothing was stored.
    return null;
  }
}
