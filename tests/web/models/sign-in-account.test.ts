import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { completeSignIn, returnUrl, signInProblem } from '../../../web/src/features/sign-in/sign-in.ts';
import { type Account, createAccount } from '../../../web/src/model/account/account.ts';
import { createMessages } from '../../../web/src/model/messages.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createUrls } from '../../../web/src/platform/service/urls.ts';
import { createEnglish, withoutIsolates } from './languages.ts';
import { refusal } from './service-errors.ts';

interface TabOptions {
  /** The signed-in user of the page. */
  readonly name?: string | null;
  readonly canSignIn?: boolean;
  readonly isBusy?: boolean;
  /** Returns the username of the session. */
  readonly readUser?: () => Promise<string | null | undefined>;
}

const urls = createUrls(new URL('https://files.test/below/'));
const language = await createEnglish();

/** A browser whose tabs all show the service. */
function createBrowser() {
  const listeners = new Set<(username: string | null) => void>();

  /** Opens a tab. Each sign-in dialog that it shows waits for `closeDialog`. */
  const open = ({ name = 'ann', canSignIn = true, isBusy = false, readUser = async () => name }: TabOptions = {}) => {
    const messages = createMessages();
    const dialogs: { readonly isSwitch: boolean; readonly close: () => void }[] = [];
    let act = () => {};
    let reloads = 0;
    const account = createAccount(
      {
        access: { name, signIn: { password: canSignIn, provider: false } },
        isSignInPage: false,
        urls,
        prompts: {
          signIn({ isSwitch }) {
            const { promise, resolve } = Promise.withResolvers<void>();
            dialogs.push({ isSwitch, close: resolve });
            return promise;
          },
          confirmSignOut: () => assert.fail('Unexpected question before signing out.'),
        },
        messages,
        language,
        isBusy: () => isBusy,
        readUser,
      },
      {
        connectTabs(_base, onUser) {
          listeners.add(onUser);
          return {
            post(username) {
              for (const listener of listeners) if (listener !== onUser) listener(username);
            },
          };
        },
        onNextInput: (callback) => {
          act = callback;
        },
        reload: () => void reloads++,
      },
    );
    return {
      account,
      dialogs,
      reloads: () => reloads,
      /** The user does something, such as pressing a key. */
      act: () => act(),
      messages: () => messages.shown.value.map(({ text }) => text),
      /** Closes the dialog after signing in as a user, or without signing in. */
      closeDialog(username: string | null) {
        if (username !== null) account.setUser(username);
        dialogs.at(-1)?.close();
      },
    };
  };
  const signOutElsewhere = () => {
    for (const listener of listeners) listener(null);
  };
  return { open, signOutElsewhere };
}

const stateOf = ({ username, lastUsername, signInCount, isReloading }: Account) => ({
  username: username.value,
  lastUsername: lastUsername.value,
  signInCount: signInCount.value,
  isReloading: isReloading.value,
});

describe('A page whose session expired', () => {
  afterEach(() => sessionStorage.clear());

  it('shows one sign-in dialog for all rejected requests', async () => {
    const { account, dialogs, closeDialog } = createBrowser().open();
    const requests = Promise.all([account.reauthenticate(), account.reauthenticate(), account.requestSignIn()]);
    assert.equal(account.username.value, null);
    assert.equal(dialogs.length, 1);
    closeDialog('ann');
    assert.deepEqual(await requests, [true, true, true]);
    assert.deepEqual(stateOf(account), { username: 'ann', lastUsername: 'ann', signInCount: 1, isReloading: false });
  });

  it('shows no further dialog after the user declined, until the next key or click', async () => {
    const { account, dialogs, act, closeDialog } = createBrowser().open();
    const isSignedIn = account.reauthenticate();
    closeDialog(null);
    assert.equal(await isSignedIn, false);
    assert.equal(await account.reauthenticate(), false);
    assert.equal(dialogs.length, 1);
    act();
    const retried = account.reauthenticate();
    assert.equal(dialogs.length, 2);
    closeDialog('ann');
    assert.equal(await retried, true);
  });

  it('shows the dialog to a user who declined and then chooses to sign in', async () => {
    const { account, dialogs, closeDialog } = createBrowser().open();
    const isSignedIn = account.reauthenticate();
    closeDialog(null);
    await isSignedIn;
    const chosen = account.requestSignIn();
    assert.equal(dialogs.length, 2);
    closeDialog('ann');
    assert.equal(await chosen, true);
  });

  it('shows no dialog when the page has no sign-in method, or is about to reload', async () => {
    const without = createBrowser().open({ canSignIn: false });
    assert.equal(await without.account.reauthenticate(), false);
    const reloading = createBrowser().open();
    reloading.account.reload();
    assert.equal(await reloading.account.reauthenticate(), false);
    assert.deepEqual([without.dialogs, reloading.dialogs], [[], []]);
    assert.equal(reloading.reloads(), 1);
  });

  it('shows a dialog for any account when the user asks for another account', () => {
    const { account, dialogs } = createBrowser().open();
    void account.requestSignIn({ isSwitch: true });
    assert.deepEqual(
      dialogs.map(({ isSwitch }) => isSwitch),
      [true],
    );
  });
});

describe('A user who signs in', () => {
  afterEach(() => sessionStorage.clear());

  it('keeps the page when no user or the same user was signed in before', () => {
    const { account, reloads } = createBrowser().open({ name: null });
    account.setUser('ann');
    account.setUser('ann');
    assert.deepEqual(stateOf(account), { username: 'ann', lastUsername: 'ann', signInCount: 1, isReloading: false });
    assert.equal(reloads(), 0);
  });

  it('reloads the page of another user', () => {
    const { account, reloads } = createBrowser().open();
    account.setUser('bob');
    assert.deepEqual(stateOf(account), { username: 'ann', lastUsername: 'ann', signInCount: 0, isReloading: true });
    assert.equal(reloads(), 1);
  });

  it('sees once that the work of the previous user was cancelled', () => {
    createBrowser().open({ isBusy: true }).account.setUser('bob');
    const reloaded = createBrowser().open({ name: 'bob' });
    assert.deepEqual(reloaded.messages(), [language.value.text.account.accountChanged({ name: 'bob', before: 'ann' })]);
    assert.deepEqual(createBrowser().open({ name: 'bob' }).messages(), []);
  });

  it('sees no message when the previous user had no work in progress', () => {
    createBrowser().open().account.setUser('bob');
    assert.deepEqual(createBrowser().open({ name: 'bob' }).messages(), []);
  });
});

describe('A page that asks who is signed in', () => {
  afterEach(() => sessionStorage.clear());

  const check = async (name: string | null, readUser: () => Promise<string | null | undefined>) => {
    const tab = createBrowser().open({ name, readUser });
    const hasEnded = await tab.account.check();
    return { ...stateOf(tab.account), hasEnded };
  };

  it('shows the user who signed in while it was loading, as after a sign-in', async () => {
    assert.deepEqual(await check(null, async () => 'ann'), {
      username: 'ann',
      lastUsername: 'ann',
      signInCount: 1,
      isReloading: false,
      hasEnded: false,
    });
  });

  it('reloads if another user is signed in, and knows that a session has ended', async () => {
    assert.equal((await check('ann', async () => 'bob')).isReloading, true);
    const { username, lastUsername, hasEnded } = await check('ann', async () => null);
    assert.deepEqual({ username, lastUsername, hasEnded }, { username: null, lastUsername: 'ann', hasEnded: true });
  });

  it('changes nothing for the same user, or if the service does not respond', async () => {
    for (const name of ['ann', undefined]) {
      const { username, signInCount, hasEnded } = await check('ann', async () => name);
      assert.deepEqual({ username, signInCount, hasEnded }, { username: 'ann', signInCount: 0, hasEnded: false });
    }
  });

  it('ignores a response that is older than a sign-in', async () => {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const { account } = createBrowser().open({ name: null, readUser: () => promise });
    const checked = account.check();
    account.setUser('ann');
    resolve(null);
    assert.equal(await checked, false);
    assert.equal(account.username.value, 'ann');
  });
});

describe('A completed sign-in form', () => {
  afterEach(() => sessionStorage.clear());

  it('closes its dialog, also when it signs in the user whose session has expired', () => {
    for (const isExpired of [false, true]) {
      const { account } = createBrowser().open();
      if (isExpired) void account.reauthenticate();
      let closed = 0;
      completeSignIn(account, 'ann', () => closed++);
      assert.equal(account.username.value, 'ann');
      assert.equal(closed, 1);
    }
  });

  it('keeps its dialog open while the page reloads for another user', () => {
    const { account, reloads } = createBrowser().open();
    completeSignIn(account, 'bob', () => assert.fail('The dialog is closed.'));
    assert.equal(reloads(), 1);
  });
});

describe('The other tabs of the browser', () => {
  afterEach(() => sessionStorage.clear());

  it('receive the user who signs in, and do not broadcast the user again', () => {
    const browser = createBrowser();
    const [one, other, third] = [null, null, null].map((name) => browser.open({ name }));
    one?.account.setUser('ann');
    for (const tab of [one, other, third]) {
      assert.deepEqual(tab && stateOf(tab.account), {
        username: 'ann',
        lastUsername: 'ann',
        signInCount: 1,
        isReloading: false,
      });
      assert.equal(tab?.reloads(), 0);
    }
  });

  it('receive the user of a page that is loaded, such as after signing in at the identity provider', () => {
    const browser = createBrowser();
    const waiting = browser.open();
    void waiting.account.reauthenticate();
    browser.open({ name: 'ann' });
    assert.equal(waiting.account.username.value, 'ann');
  });

  it('reload when another user signs in', () => {
    const browser = createBrowser();
    const [one, other] = [browser.open(), browser.open()];
    one.account.setUser('bob');
    assert.deepEqual([one.reloads(), other.reloads()], [1, 1]);
  });

  it('reload when the user signs out, except tabs that are busy or not signed in', () => {
    const browser = createBrowser();
    const [idle, busy] = [browser.open(), browser.open({ isBusy: true })];
    browser.signOutElsewhere();
    assert.deepEqual([idle.reloads(), busy.reloads()], [1, 0]);
    assert.deepEqual(stateOf(busy.account), {
      username: null,
      lastUsername: 'ann',
      signInCount: 0,
      isReloading: false,
    });
    const anonymous = createBrowser();
    const tab = anonymous.open({ name: null });
    anonymous.signOutElsewhere();
    assert.equal(tab.reloads(), 0);
  });
});

describe('A failed sign-in', () => {
  afterEach(() => sessionStorage.clear());

  it('is explained in the language of the page, or with the message of the service', () => {
    const problemOf = (...failure: Parameters<typeof refusal>) =>
      withoutIsolates(signInProblem(refusal(...failure), language.value));
    assert.equal(problemOf('wrong-password', 'Wrong.'), 'Wrong username or password.');
    assert.equal(problemOf('sign-in-throttled', 'Too many.', 42), 'Too many attempts. Try again in 42 sec.');
    assert.equal(problemOf('sign-in-throttled', 'Too many.', 900), 'Too many attempts. Try again in 15 min.');
    assert.equal(problemOf('sign-in-throttled', 'Too many.'), 'Too many attempts. Try again in a moment.');
    assert.match(signInProblem(new ServiceError(0, ''), language.value), /^Can’t reach the server/);
  });
});

describe('The identity provider', () => {
  afterEach(() => sessionStorage.clear());

  it('receives the current URL, relative to the root of the service', () => {
    const here = new URL('https://files.test/below/photos/?preview=cat.txt');
    const { origin, pathname, searchParams } = new URL(urls.signIn(here));
    assert.equal(origin + pathname, 'https://files.test/below/-/sign-in');
    assert.deepEqual([...searchParams], [['return', 'photos/?preview=cat.txt']]);
  });

  it('returns to the page that the user came from, and never to another site', () => {
    const urlAfter = (path: string, from?: string) => {
      const here = new URL(`https://files.test/below/${path}`);
      if (from !== undefined) here.searchParams.set('return', from);
      return returnUrl(urls, here);
    };
    const root = 'https://files.test/below/';
    assert.equal(urlAfter('-/sign-in', 'photos/?preview=cat.txt'), `${root}photos/?preview=cat.txt`);
    assert.equal(urlAfter('-/sign-in/callback', 'photos/'), `${root}photos/`);
    assert.equal(urlAfter('-/sign-in/callback'), root);
    for (const from of ['../', '../../x', '-/sign-in', '-/docs/', 'x/../../y', './../-/x']) {
      assert.equal(urlAfter('-/sign-in', from), root, from);
    }
    for (const from of ['//evil.test/', 'https://evil.test/', '/\\evil.test/', '\\\\evil.test\\']) {
      assert.ok(urlAfter('-/sign-in', from)?.startsWith(root), from);
    }
    assert.equal(urlAfter('photos/', 'x'), undefined);
    assert.equal(urlAfter('-/sign-in/other', 'x'), undefined);
  });
});
