import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { usePage } from '../page.ts';
import { asServiceError, type ServiceError } from '../../platform/service/service-error.ts';
import { signIn, whoIsSignedIn } from '../../platform/service/session.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import type { Account } from '../../model/account/account.ts';

/** Signing in with a name and a password, and how that went. */
export interface SignInAttempt {
  readonly name: RefObject<HTMLInputElement | null>;
  /** The password is in its field alone, and there until it was right. */
  readonly password: RefObject<HTMLInputElement | null>;
  readonly isSending: boolean;
  /** Why it did not go, in words. */
  readonly problem: string | undefined;
  /** Whether that was the name or the password. */
  readonly isWrong: boolean;
  /** Sends what is in the fields, unless that was done already. */
  readonly send: () => void;
}

/** `whenSame`: called where the one who has signed in was signed in already, which nothing else tells. */
export function useSignInAttempt(account: Account, whenSame: () => void): SignInAttempt {
  const { urls } = usePage();
  const language = useFullLanguage();
  const name = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<Pick<SignInAttempt, 'isSending' | 'problem' | 'isWrong'>>(RESTING);

  const send = async (nameField: HTMLInputElement, passwordField: HTMLInputElement) => {
    setState({ ...RESTING, isSending: true });
    try {
      const signedIn = await signIn(urls, { name: nameField.value, password: passwordField.value });
      const isKept = (await whoIsSignedIn(urls)) !== null;
      if (!isKept) return setState({ ...RESTING, problem: language.text.account.noCookies });
      passwordField.value = '';
      if (account.name.value === signedIn) whenSame();
      account.arrive(signedIn);
    } catch (thrown) {
      const error = asServiceError(thrown);
      setState({ ...RESTING, problem: signInProblem(error, language), isWrong: isWrongPassword(error) });
      passwordField.focus();
      passwordField.select();
    }
  };
  return {
    ...state,
    name,
    password,
    send() {
      if (!state.isSending && name.current && password.current) void send(name.current, password.current);
    },
  };
}

const RESTING = { isSending: false, problem: undefined, isWrong: false } as const;

/** Returns why signing in failed, in the language of the page. */
export function signInProblem(error: ServiceError, language: FullLanguage): string {
  return isWrongPassword(error) ? language.text.errors['wrong-password'] : language.reasonOf(error);
}

const isWrongPassword = (error: ServiceError) => error.is(['wrong-password'], 401);
