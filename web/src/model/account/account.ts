import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Embedded } from '../../platform/embedded.ts';
import { onNextInput } from '../../platform/next-input.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import { type Messages, reportLoadFailure } from '../messages.ts';

/** The user of the page, if the service has access control. */
export interface Account {
  /** The signed-in user; null if no user is signed in, or the session has expired. */
  readonly username: ReadonlySignal<string | null>;
  /** The last user who was signed in on this page. */
  readonly lastUsername: ReadonlySignal<string | null>;
  readonly signInMethods: { readonly password: boolean; readonly provider: boolean };
  /** Whether there is any sign-in method. */
  readonly canSignIn: boolean;
  /**
   * Whether the page shows only the sign-in page: the first response required signing in, rejected a link to a file, or
   * reported a failed sign-in at the identity provider.
   */
  readonly isSignInPage: boolean;
  /** How often a user has signed in since the page was loaded. After that, rejected requests can succeed. */
  readonly signInCount: ReadonlySignal<number>;
  /** Whether the page is about to reload, so that no question must delay it. */
  readonly isReloading: ReadonlySignal<boolean>;
  /**
   * Shows the sign-in dialog, only once at a time, and returns whether a user is signed in when it closes. Never throws.
   * With `isSwitch`, the user can choose another account, and the page reloads after signing in.
   */
  requestSignIn(options?: { isSwitch?: boolean }): Promise<boolean>;
  /**
   * Records that the session has expired, and shows the sign-in dialog. A user who cancels it sees no further dialog
   * until the next input. Returns whether a user is signed in. Never throws.
   */
  reauthenticate(): Promise<boolean>;
  /** Records that the session has expired. */
  expire(): void;
  /** Records that a user has signed in, here or in another tab. The page reloads if it was another user's. */
  setUser(username: string, options?: { isOtherTab?: boolean }): void;
  /** Signs out. Asks the user first if work is in progress. Never throws. */
  signOut(): Promise<void>;
  /**
   * Asks the service who is signed in, which the page can't know if it was requested before a sign-in and arrived after it, and
   * records the answer like `setUser` and `expire`. Returns whether the session has ended. Never throws.
   */
  check(): Promise<boolean>;
  /** Reloads the page, which discards all state. */
  reload(): void;
}

export interface AccountOptions {
  readonly access: NonNullable<Embedded['access']>;
  readonly isSignInPage: boolean;
  readonly urls: Urls;
  readonly prompts: AccountPrompts;
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
  /** Whether work is in progress that a reload would cancel. */
  readonly isBusy: () => boolean;
  /** Returns the username of the session, null without a session, and undefined if the service does not respond. */
  readonly readUser: () => Promise<string | null | undefined>;
}

/** Questions about signing in and out. Each method rejects if its dialog can't be loaded. */
export interface AccountPrompts {
  /** Shows the sign-in dialog. Resolves when it closes. */
  signIn(options: { readonly isSwitch: boolean }): Promise<void>;
  /** Asks whether to sign out although something is in progress. Resolves to null if the user cancels. */
  confirmSignOut(): Promise<true | null>;
}

export function createAccount(options: AccountOptions, browser: AccountBrowser = BROWSER): Account {
  const { access, isSignInPage, urls, prompts, messages, language, isBusy, readUser } = options;
  const username = signal(access.name);
  const lastUsername = signal(access.name);
  const signInCount = signal(0);
  const isReloading = signal(false);
  const canSignIn = access.signIn.password || access.signIn.provider;
  let openDialog: Promise<boolean> | undefined;
  let hasDeclined = false;

  const reload = () => {
    isReloading.value = true;
    browser.reload();
  };
  const setUser: Account['setUser'] = (next, { isOtherTab = false } = {}) => {
    if (!isOtherTab) tabs.post(next);
    if (username.value === next) return;
    // The state of the page, such as opened files and the selection, belongs to the last user.
    if (lastUsername.value !== null && lastUsername.value !== next) {
      if (isBusy()) storeCancelledWork(lastUsername.value);
      return reload();
    }
    batch(() => {
      lastUsername.value = next;
      username.value = next;
      signInCount.value++;
    });
  };
  const tabs = browser.connectTabs(urls.endpoint(''), (next) => {
    if (next !== null) return setUser(next, { isOtherTab: true });
    // Work in progress continues after signing in again.
    if (isBusy()) username.value = null;
    else if (username.value !== null) reload();
  });
  // After signing in at the identity provider, the user returns to a new page.
  if (access.name !== null) {
    tabs.post(access.name);
    const before = takeCancelledWork();
    if (before !== null) {
      const text = language.value.text.account.accountChanged({ name: access.name, before });
      messages.show({ kind: 'error', text });
    }
  }

  const showDialog = async (isSwitch: boolean): Promise<boolean> => {
    try {
      await prompts.signIn({ isSwitch });
    } catch {
      void reportLoadFailure({ messages, language });
    }
    hasDeclined = username.value === null;
    if (hasDeclined) {
      browser.onNextInput(() => {
        hasDeclined = false;
      });
    }
    return !hasDeclined;
  };
  const expire = () => {
    username.value = null;
  };
  const requestSignIn: Account['requestSignIn'] = ({ isSwitch = false } = {}) => {
    openDialog ??= showDialog(isSwitch).finally(() => {
      openDialog = undefined;
    });
    return openDialog;
  };

  return {
    username,
    lastUsername,
    signInMethods: access.signIn,
    canSignIn,
    isSignInPage,
    signInCount,
    isReloading,
    requestSignIn,
    expire,
    async reauthenticate() {
      expire();
      return canSignIn && !hasDeclined && !isReloading.value && requestSignIn();
    },
    setUser,
    async check() {
      const [before, countBefore] = [username.value, signInCount.value];
      const name = await readUser();
      // The user can have signed in or out since the request was sent.
      const isCurrent = username.value === before && signInCount.value === countBefore;
      if (name === undefined || name === before || !isCurrent || isReloading.value) return false;
      if (name !== null) setUser(name, { isOtherTab: true });
      else expire();
      return name === null;
    },
    reload,
    async signOut() {
      try {
        const [{ signOut }, fullLanguage] = await Promise.all([import('./sign-out.ts'), completeLanguage(language)]);
        const onSignedOut = () => {
          tabs.post(null);
          reload();
        };
        await signOut({ ...options, language: fullLanguage, onSignedOut });
      } catch {
        void reportLoadFailure({ messages, language });
      }
    },
  };
}

/** What an account uses of the browser. */
interface AccountBrowser {
  /** Connects to the other tabs that show the service with the root `base`. Several can share an origin. */
  connectTabs(base: string, onUser: (username: string | null) => void): OtherTabs;
  /** Calls `callback` once, when the user next presses a key or a pointer. */
  onNextInput(callback: () => void): void;
  reload(): void;
}

/** The other tabs and windows of the browser that show the same service. */
interface OtherTabs {
  /** Sends who has signed in; null when the user has signed out. */
  post(username: string | null): void;
}

/** The listeners stay for the lifetime of the page. */
const BROWSER: AccountBrowser = {
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
  onNextInput,
  reload: () => window.location.reload(),
};

/** The key of the session storage, which survives a reload. */
const CANCELLED_WORK_KEY = 'holdall cancelled work';

/** Stores that a reload cancels uploads or changes of a user. */
function storeCancelledWork(username: string): void {
  try {
    sessionStorage.setItem(CANCELLED_WORK_KEY, username);
  } catch {
    // The browser denies access to the storage.
  }
}

/** Returns the user whose work the last reload cancelled, only once; null if there is none. */
function takeCancelledWork(): string | null {
  try {
    const username = sessionStorage.getItem(CANCELLED_WORK_KEY);
    sessionStorage.removeItem(CANCELLED_WORK_KEY);
    return username;
  } catch {
    // The browser denies access to the storage, so nothing was stored.
    return null;
  }
}
