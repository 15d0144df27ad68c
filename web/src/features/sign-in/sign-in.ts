import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { asServiceError, type ServiceError } from '../../platform/service/service-error.ts';
import { readSessionUser, signIn } from '../../platform/service/session.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { useUrls } from '../models.ts';

/** The state of a form for signing in with a password. */
export interface SignInForm {
  readonly username: RefObject<HTMLInputElement | null>;
  /** Only its field has the password, until signing in succeeds. */
  readonly password: RefObject<HTMLInputElement | null>;
  readonly isSending: boolean;
  /** The reason of the last failure. */
  readonly problem: string | undefined;
  /** Whether the reason is a wrong username or password. */
  readonly isWrong: boolean;
  /** Sends the content of the fields, unless a request is in progress. */
  readonly submit: () => void;
}

/** `onSignedIn` is called after signing in, unless the page reloads for another user. */
export function useSignInForm(account: Account, onSignedIn: () => void): SignInForm {
  const urls = useUrls();
  const language = useFullLanguage();
  const username = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<Pick<SignInForm, 'isSending' | 'problem' | 'isWrong'>>(IDLE);

  const submit = async (usernameField: HTMLInputElement, passwordField: HTMLInputElement) => {
    setState({ ...IDLE, isSending: true });
    try {
      const signedIn = await signIn(urls, { name: usernameField.value, password: passwordField.value });
      const hasCookie = (await readSessionUser(urls)) !== null;
      if (!hasCookie) return setState({ ...IDLE, problem: language.text.signIn.noCookies });
      passwordField.value = '';
      completeSignIn(account, signedIn, onSignedIn);
    } catch (thrown) {
      const error = asServiceError(thrown);
      setState({ ...IDLE, problem: signInProblem(error, language), isWrong: isWrongPassword(error) });
      passwordField.focus();
      passwordField.select();
    }
  };
  return {
    ...state,
    username,
    password,
    submit() {
      if (!state.isSending && username.current && password.current) void submit(username.current, password.current);
    },
  };
}

const IDLE = { isSending: false, problem: undefined, isWrong: false } as const;

/** Records that a user has signed in. Calls `onSignedIn`, unless the page reloads for another user. */
export function completeSignIn(account: Account, username: string, onSignedIn: () => void): void {
  account.setUser(username);
  if (!account.isReloading.value) onSignedIn();
}

/** Returns why signing in failed, in the language of the page. */
export function signInProblem(error: ServiceError, language: FullLanguage): string {
  return isWrongPassword(error) ? language.text.errors['wrong-password'] : language.reasonOf(error);
}

const isWrongPassword = (error: ServiceError) => error.is(['wrong-password'], 401);

/**
 * Returns whether signing in at the identity provider has failed. The page then gets the URL that the user came from, so
 * that a reload leads there.
 */
export function hasProviderFailed(urls: Urls): boolean {
  const url = returnUrl(urls, new URL(window.location.href));
  if (url === undefined) return false;
  history.replaceState(history.state, '', url);
  return true;
}

/**
 * Returns the URL that the user came from, if `here` is an endpoint for signing in at the identity provider; undefined
 * for all other pages.
 */
export function returnUrl(urls: Urls, here: URL): string | undefined {
  const endpoints = ['-/sign-in', '-/sign-in/callback'].map((path) => new URL(urls.endpoint(path)).pathname);
  if (!endpoints.includes(here.pathname)) return undefined;
  return pageBelow(urls.endpoint(''), here.searchParams.get('return') ?? '');
}

/** Returns the URL of a page relative to the root, or the root itself for any other URL. */
function pageBelow(root: string, relative: string): string {
  const url = URL.parse(`./${relative}`, root)?.href;
  return url?.startsWith(root) && !url.startsWith(`${root}-/`) ? url : root;
}
