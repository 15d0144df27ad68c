import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { tellNotLoaded } from '../not-loaded.ts';
import type { Embedded } from '../../platform/embedded.ts';
import type { Messages } from '../messages.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import { keepLostWork, tellLostWork } from './lost-work.ts';
import { createOtherTabs } from './other-tabs.ts';

/** Who uses the page, where the service knows people. */
export interface Account {
  /** Null while nobody is signed in. */
  readonly name: ReadonlySignal<string | null>;
  /** Who was signed in last on this page. */
  readonly lastName: ReadonlySignal<string | null>;
  readonly ways: { readonly password: boolean; readonly provider: boolean };
  /**
   * Whether the page came without anything to see: its first answer was that one has to sign in, or why there is no
   * file, or no way by the provider.
   */
  readonly isShutOut: boolean;
  /** Whether there is a way to sign in on this page. */
  readonly canSignIn: boolean;
  /** How many times somebody signed in since the page was loaded: what was refused before may be had by now. */
  readonly times: ReadonlySignal<number>;
  /** Whether the page is about to be loaded anew, without a question. */
  readonly isLeaving: ReadonlySignal<boolean>;
  /**
   * Asks a person to sign in, once for all who want that; gives whether they did. Never throws. With `isAnew`, it may be
   * in the place of who is signed in, and the page is loaded anew when they have.
   */
  ask(options?: { isAnew?: boolean }): Promise<boolean>;
  /**
   * The same, when the service said that nobody is signed in. Whoever declined is not asked again before they do
   * something more.
   */
  askAgain(): Promise<boolean>;
  /** Takes in that somebody has signed in, here or in another tab. Where that is another person, the page begins anew. */
  arrive(name: string, options?: { isElsewhere?: boolean }): void;
  /** Asks where something is under way, and signs out. Never throws. */
  signOut(): Promise<void>;
  /** Loads the page anew: nothing is kept of what was shown. */
  leave(): void;
}

export interface AccountOptions {
  readonly access: NonNullable<Embedded['access']>;
  readonly isShutOut: boolean;
  readonly urls: Urls;
  readonly prompts: AccountPrompts;
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
  /** Whether something is under way that would be lost. */
  readonly isBusy: () => boolean;
}

/** Questions about signing in and out. Each method rejects if its dialog can't be loaded. */
export interface AccountPrompts {
  /** Shows the sign-in dialog. Resolves when it closes. */
  signIn(options: { readonly isAnew: boolean }): Promise<void>;
  /** Asks whether to sign out although something is in progress. Resolves to null if the user cancels. */
  confirmSignOut(): Promise<true | null>;
}

/** What an account uses of the browser. */
export interface AccountBrowser {
  readonly openTabs: typeof createOtherTabs;
  /** Calls `then` once, when the user next presses a key or a pointer. */
  atNextAction(then: () => void): void;
  reload(): void;
}

export function createAccount(options: AccountOptions, browser: AccountBrowser = BROWSER): Account {
  const { access, urls, prompts, messages, language, isBusy } = options;
  const name = signal(access.name);
  const lastName = signal(access.name);
  const times = signal(0);
  const isLeaving = signal(false);
  let asking: Promise<boolean> | undefined;
  let isDeclined = false;

  const leave = () => {
    isLeaving.value = true;
    browser.reload();
  };
  const arrive: Account['arrive'] = (next, { isElsewhere = false } = {}) => {
    if (!isElsewhere) tabs.tell(next);
    if (name.value === next) return;
    // What one person has opened, selected and queued is nothing for another.
    if (lastName.value !== null && lastName.value !== next) {
      if (isBusy()) keepLostWork(lastName.value);
      return leave();
    }
    batch(() => {
      lastName.value = next;
      name.value = next;
      times.value++;
    });
  };
  const tabs = browser.openTabs(urls.endpoint(''), (next) => {
    if (next !== null) return arrive(next, { isElsewhere: true });
    // What is under way goes on after signing in again.
    if (isBusy()) name.value = null;
    else if (name.value !== null) leave();
  });
  // One who signed in by a provider comes back as a new page.
  if (access.name !== null) {
    tabs.tell(access.name);
    tellLostWork(access.name, options);
  }

  const askOnce = async (isAnew: boolean): Promise<boolean> => {
    try {
      await prompts.signIn({ isAnew });
    } catch {
      void tellNotLoaded({ messages, language });
    }
    isDeclined = name.value === null;
    if (isDeclined) {
      browser.atNextAction(() => {
        isDeclined = false;
      });
    }
    return !isDeclined;
  };
  const ask: Account['ask'] = ({ isAnew = false } = {}) => {
    asking ??= askOnce(isAnew).finally(() => {
      asking = undefined;
    });
    return asking;
  };

  const canSignIn = access.signIn.password || access.signIn.provider;
  return {
    name,
    lastName,
    ways: access.signIn,
    isShutOut: options.isShutOut,
    canSignIn,
    times,
    isLeaving,
    ask,
    async askAgain() {
      name.value = null;
      return canSignIn && !isDeclined && !isLeaving.value && ask();
    },
    arrive,
    leave,
    async signOut() {
      try {
        const [{ signOut }, fullLanguage] = await Promise.all([import('./sign-out.ts'), completeLanguage(language)]);
        const onSignedOut = () => {
          tabs.tell(null);
          leave();
        };
        await signOut({ ...options, language: fullLanguage, confirm: prompts.confirmSignOut, onSignedOut });
      } catch {
        void tellNotLoaded({ messages, language });
      }
    },
  };
}

const BROWSER: AccountBrowser = {
  openTabs: createOtherTabs,
  atNextAction(then) {
    const listening = new AbortController();
    const hear = () => {
      listening.abort();
      then();
    };
    for (const type of ['pointerdown', 'keydown']) {
      window.addEventListener(type, hear, { capture: true, signal: listening.signal });
    }
  },
  reload: () => window.location.reload(),
};
