import type { Account } from '../../model/account/account.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useAccount } from '../models.ts';
import { useConnectText } from './connect-text.ts';
import { CopyField } from './copy-field.tsx';
import { AppTokens } from './token-rows.tsx';

/** The username, and the app tokens of the user. */
export function SignInSection({ onNew }: { onNew: () => void }) {
  const account = useAccount();
  const text = useConnectText();
  if (!account) return <p class="hint">{text.noUsers}</p>;
  const username = account.username.value;
  if (username === null) return <SignInFirst account={account} />;
  return (
    <section class="sign-in-section">
      <CopyField label={text.username} copyLabel={text.copyUsername} value={username} />
      <p>{text.passwordHint}</p>
      <Button icon="key" onClick={onNew}>
        {text.createToken}
      </Button>
      <AppTokens />
    </section>
  );
}

function SignInFirst({ account }: { account: Account }) {
  const { text } = useFullLanguage();
  const { signInFirst } = useConnectText();
  return (
    <section class="sign-in-section">
      <p>{signInFirst}</p>
      {account.canSignIn && <Button onClick={() => void account.requestSignIn()}>{text.account.signIn}</Button>}
    </section>
  );
}
