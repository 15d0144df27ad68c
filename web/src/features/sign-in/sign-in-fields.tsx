import { useId } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useUrls } from '../models.ts';
import type { SignInForm } from './sign-in.ts';
import './sign-in.css';

interface SignInFieldsProps {
  form: SignInForm;
  /** The username that the field contains first. */
  lastUsername?: string | null;
}

/** The fields for the username and the password, which password managers recognize, and the reason of a failure. */
export function SignInFields({ form, lastUsername = null }: SignInFieldsProps) {
  const { text } = useFullLanguage();
  const usernameId = useId();
  const passwordId = useId();
  const problemId = useId();
  const state = { 'aria-invalid': form.isWrong, 'aria-describedby': problemId };
  return (
    <div class="fields sign-in-fields">
      <label for={usernameId}>{text.signIn.username}</label>
      <input
        ref={form.username}
        id={usernameId}
        class="text-field"
        type="text"
        name="username"
        dir="auto"
        required
        autocomplete="username"
        autocapitalize="none"
        spellcheck={false}
        enterkeyhint="next"
        defaultValue={lastUsername ?? ''}
        {...state}
      />
      <label for={passwordId}>{text.signIn.password}</label>
      <input
        ref={form.password}
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
        {form.problem}
      </p>
    </div>
  );
}

interface ProviderLinkProps {
  account: Account;
  /** Whether the link opens a new tab, so that work in progress in this tab can continue. */
  isNewTab?: boolean;
}

/** The link for signing in at the identity provider, which then returns to the current page. */
export function ProviderLink({ account, isNewTab = false }: ProviderLinkProps) {
  const urls = useUrls();
  const { text } = useFullLanguage();
  return (
    <a
      class={`button ${account.signInMethods.password ? 'plain' : 'primary'}`}
      href={urls.signIn(new URL(window.location.href))}
      {...(isNewTab && { target: '_blank', rel: 'noopener' })}
    >
      <span>{text.signIn.provider}</span>
    </a>
  );
}
