import { useEffect, useLayoutEffect } from 'preact/hooks';
import { Button } from '../controls/button.tsx';
import mark from '../mark.svg';
import { useLanguage } from '../page.ts';
import type { Account } from './account.ts';
import { useSignInAttempt } from './sign-in-attempt.ts';
import { ProviderLink, SignInFields } from './sign-in-fields.tsx';
import './sign-in.css';

/** In the place of a page that nobody sees before they have signed in; it is loaded anew when they have. */
export function SignInPage({ account }: { account: Account }) {
  const { text } = useLanguage();
  const { password, provider } = account.ways;
  useEffect(() => {
    if (account.name.value !== null) account.leave();
  }, [account.name.value]);

  return (
    <main class="sign-in-page">
      <div class="card">
        <header>
          <img src={mark} alt="Holdall" draggable={false} />
          <h1>{text.account.signIn}</h1>
          <p>{account.canSignIn ? text.account.needed : text.account.noWay}</p>
        </header>
        {password && <PasswordForm account={account} />}
        {password && provider && <p class="or">{text.account.or}</p>}
        {provider && <ProviderLink account={account} />}
      </div>
    </main>
  );
}

function PasswordForm({ account }: { account: Account }) {
  const { text } = useLanguage();
  const attempt = useSignInAttempt(account);
  useLayoutEffect(() => attempt.name.current?.focus(), []);
  return (
    <form
      // Never by the address, whatever happens.
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        attempt.send();
      }}
    >
      <SignInFields attempt={attempt} />
      <Button kind="primary" type="submit">
        {attempt.isSending ? text.account.signingIn : text.account.signIn}
      </Button>
    </form>
  );
}
