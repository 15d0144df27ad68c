import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type Account, createAccount } from '../../../web/src/model/account/account.ts';
import { signInProblem } from '../../../web/src/features/sign-in/sign-in-attempt.ts';
import { returnUrl } from '../../../web/src/features/sign-in/sign-in-return.ts';
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
}

const urls = createUrls(new URL('https://files.test/below/'));
const language = await createEnglish();

/** A browser of which each tab shows the service. */
function createBrowser() {
  const listeners = new Set<(name: string | null) => void>();

  /** Opens a tab. Each dialog that it shows waits for `answer`. */
  const open = ({ name = 'ann', canSignIn = true, isBusy = false }: TabOptions = {}) => {
    const messages = createMessages();
    const questions: { readonly isAnew: boolean; readonly close: () => void }[] = [];
    let act = () => {};
    let reloads = 0;
    const account = createAccount(
      {
        access: { name, signIn: { password: canSignIn, provider: false } },
        isShutOut: false,
        urls,
        prompts: {
          signIn({ isAnew }) {
            const { promise, resolve } = Promise.withResolvers<void>();
            questions.push({ isAnew, close: resolve });
            return promise;
          },
          confirmSignOut: () => assert.fail('Unexpected question before signing out.'),
        },
        messages,
        language,
        isBusy: () => isBusy,
      },
      {
        openTabs(_base, hear) {
          listeners.add(hear);
          return {
            tell(told) {
              for (const listener of listeners) if (listener !== hear) listener(told);
            },
          };
        },
        atNextAction: (then) => {
          act = then;
        },
        reload: () => void reloads++,
      },
    );
    return {
      account,
      questions,
      reloads: () => reloads,
      /** The user does something, such as pressing a key. */
      act: () => act(),
      said: () => messages.shown.value.map(({ text }) => text),
      /** Signs in, in the dialog that is shown, or declines. */
      response(signedIn: string | null) {
        if (signedIn !== null) account.arrive(signedIn);
        questions.at(-1)?.close();
      },
    };
  };
  const signOutElsewhere = () => {
    for (const listener of listeners) listener(null);
  };
  return { open, signOutElsewhere };
}

const stateOf = ({ name, lastName, times, isLeaving }: Account) => ({
  name: name.value,
  lastName: lastName.value,
  times: times.value,
  isLeaving: isLeaving.value,
});

afterEach(() => sessionStorage.clear());

describe('A page whose session expired', () => {
  it('shows one sign-in dialog for all requests that were refused', async () => {
    const { account, questions, response } = createBrowser().open();
    const requested = Promise.all([account.askAgain(), account.askAgain(), account.ask()]);
    assert.equal(account.name.value, null);
    assert.equal(questions.length, 1);
    response('ann');
    assert.deepEqual(await requested, [true, true, true]);
    assert.deepEqual(stateOf(account), { name: 'ann', lastName: 'ann', times: 1, isLeaving: false });
  });

  it('shows no further dialog after the user declined, until the user does something', async () => {
    const { account, questions, act, response } = createBrowser().open();
    const requested = account.askAgain();
    response(null);
    assert.equal(await requested, false);
    assert.equal(await account.askAgain(), false);
    assert.equal(questions.length, 1);
    act();
    const requestedAgain = account.askAgain();
    assert.equal(questions.length, 2);
    response('ann');
    assert.equal(await requestedAgain, true);
  });

  it('shows the dialog to a user who declined and then chooses to sign in', async () => {
    const { account, questions, response } = createBrowser().open();
    const requested = account.askAgain();
    response(null);
    await requested;
    const chosen = account.ask();
    assert.equal(questions.length, 2);
    response('ann');
    assert.equal(await chosen, true);
  });

  it('shows no dialog when the page has no sign-in method, or is about to reload', async () => {
    const without = createBrowser().open({ canSignIn: false });
    assert.equal(await without.account.askAgain(), false);
    const leaving = createBrowser().open();
    leaving.account.leave();
    assert.equal(await leaving.account.askAgain(), false);
    assert.deepEqual([without.questions, leaving.questions], [[], []]);
    assert.equal(leaving.reloads(), 1);
  });

  it('shows a dialog for any account when the user asks for another account', () => {
    const { account, questions } = createBrowser().open();
    void account.ask({ isAnew: true });
    assert.deepEqual(
      questions.map(({ isAnew }) => isAnew),
      [true],
    );
  });
});

describe('A user who signs in', () => {
  it('keeps the page when no user or the same user was signed in before', () => {
    const { account, reloads } = createBrowser().open({ name: null });
    account.arrive('ann');
    account.arrive('ann');
    assert.deepEqual(stateOf(account), { name: 'ann', lastName: 'ann', times: 1, isLeaving: false });
    assert.equal(reloads(), 0);
  });

  it('reloads the page of another user', () => {
    const { account, reloads } = createBrowser().open();
    account.arrive('bob');
    assert.deepEqual(stateOf(account), { name: 'ann', lastName: 'ann', times: 0, isLeaving: true });
    assert.equal(reloads(), 1);
  });

  it('is told once that the work of the user before was not finished', () => {
    createBrowser().open({ isBusy: true }).account.arrive('bob');
    const reloaded = createBrowser().open({ name: 'bob' });
    assert.deepEqual(reloaded.said(), [language.value.text.account.lost({ name: 'bob', before: 'ann' })]);
    assert.deepEqual(createBrowser().open({ name: 'bob' }).said(), []);
  });

  it('is told of no work when none was in progress', () => {
    createBrowser().open().account.arrive('bob');
    assert.deepEqual(createBrowser().open({ name: 'bob' }).said(), []);
  });
});

describe('The other tabs of the browser', () => {
  it('sign in the same user, and tell no tab again', () => {
    const browser = createBrowser();
    const [one, other, third] = [null, null, null].map((name) => browser.open({ name }));
    one?.account.arrive('ann');
    for (const tab of [one, other, third]) {
      assert.deepEqual(tab && stateOf(tab.account), { name: 'ann', lastName: 'ann', times: 1, isLeaving: false });
      assert.equal(tab?.reloads(), 0);
    }
  });

  it('sign in the user with whom a page is loaded, as after the identity provider', () => {
    const browser = createBrowser();
    const waiting = browser.open();
    void waiting.account.askAgain();
    browser.open({ name: 'ann' });
    assert.equal(waiting.account.name.value, 'ann');
  });

  it('reload when another user signs in', () => {
    const browser = createBrowser();
    const [one, other] = [browser.open(), browser.open()];
    one.account.arrive('bob');
    assert.deepEqual([one.reloads(), other.reloads()], [1, 1]);
  });

  it('reload when the user signs out, except tabs that are busy or not signed in', () => {
    const browser = createBrowser();
    const [idle, busy] = [browser.open(), browser.open({ isBusy: true })];
    browser.signOutElsewhere();
    assert.deepEqual([idle.reloads(), busy.reloads()], [1, 0]);
    assert.deepEqual(stateOf(busy.account), { name: null, lastName: 'ann', times: 0, isLeaving: false });
    const anonymous = createBrowser();
    const tab = anonymous.open({ name: null });
    anonymous.signOutElsewhere();
    assert.equal(tab.reloads(), 0);
  });
});

describe('A failed sign-in', () => {
  it('is explained in the language of the page', () => {
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
  it('is linked with the shown place, relative to the root of the service', () => {
    const here = new URL('https://files.test/below/photos/?preview=cat.txt');
    const { origin, pathname, searchParams } = new URL(urls.signIn(here));
    assert.equal(origin + pathname, 'https://files.test/below/-/sign-in');
    assert.deepEqual([...searchParams], [['return', 'photos/?preview=cat.txt']]);
  });

  it('returns to the place that the user came from, and never leaves the service', () => {
    const back = (path: string, place?: string) => {
      const here = new URL(`https://files.test/below/${path}`);
      if (place !== undefined) here.searchParams.set('return', place);
      return returnUrl(urls, here);
    };
    const root = 'https://files.test/below/';
    assert.equal(back('-/sign-in', 'photos/?preview=cat.txt'), `${root}photos/?preview=cat.txt`);
    assert.equal(back('-/sign-in/callback', 'photos/'), `${root}photos/`);
    assert.equal(back('-/sign-in/callback'), root);
    for (const place of ['../', '../../x', '-/sign-in', '-/docs/', 'x/../../y', './../-/x']) {
      assert.equal(back('-/sign-in', place), root, place);
    }
    for (const place of ['//evil.test/', 'https://evil.test/', '/\\evil.test/', '\\\\evil.test\\']) {
      assert.ok(back('-/sign-in', place)?.startsWith(root), place);
    }
    assert.equal(back('photos/', 'x'), undefined);
    assert.equal(back('-/sign-in/other', 'x'), undefined);
  });
});
