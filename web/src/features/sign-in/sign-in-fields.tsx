import { useId } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { useUrls } from '../models.ts';
import type { SignInAttempt } from './sign-in-attempt.ts';
import './sign-in.css';

interface SignInFieldsProps {
  attempt: SignInAttempt;
  /** The name that stands there already: of who was signed in before. */
  lastName?: string | null;
}

/** A name and a password, as password managers know them, and why they were not taken. */
export function SignInFields({ attempt, lastName = null }: SignInFieldsProps) {
  const { text } = useLanguage();
  const nameId = useId();
  const passwordId = useId();
  const problemId = useId();
  const state = { 'aria-invalid': attempt.isWrong, 'aria-describedby': problemId };
  return (
    <div class="fields sign-in-fields">
      <label for={nameId}>{text.account.name}</label>
      <input
        ref={attempt.name}
        id={nameId}
        class="text-field"
        type="text"
        name="username"
        dir="auto"
        required
        autocomplete="username"
        autocapitalize="none"
        spellcheck={false}
        enterkeyhint="next"
        defaultValue={lastName ?? ''}
        {...state}
      />
      <label for={passwordId}>{text.account.password}</label>
      <input
        ref={attempt.password}
        id={passwordId}
        class="text-field"
        type="password"
        name="password"
        required
        autocomplete="current-password"
        enterkeyhint="go"
        {...state}
      />
      <p id={problemId} class="problem" role="alert">
        {attempt.problem}
      </p>
    </div>
  );
}

interface ProviderLinkProps {
  account: Account;
  /** Whether it leads to another tab, so that what is under way in this one goes on after it. */
  isBeside?: boolean;
}

/** The way to the provider that the service is set up with, which leads back to what is shown now. */
export function ProviderLink({ account, isBeside = false }: ProviderLinkProps) {
  const urls = useUrls();
  const { text } = useLanguage();
  return (
    <a
      class={`button ${account.ways.password ? 'plain' : 'primary'}`}
      href={urls.signIn(new URL(window.location.href))}
      {...(isBeside && { target: '_blank', rel: 'noopener' })}
    >
      <span>{text.account.provider}</span>
    </a>
  );
}
