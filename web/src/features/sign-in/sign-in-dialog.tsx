import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, type Dialogs } from '../../ui/dialog.tsx';
import { useAccount, useFolder } from '../models.ts';
import { useSignInAttempt } from './sign-in-attempt.ts';
import { ProviderLink, SignInFields } from './sign-in-fields.tsx';

/** Asks a person to sign in, over all that is shown. Settles when they have, here or elsewhere, or would rather not. */
export async function askToSignIn(dialogs: Dialogs, { isAnew }: { isAnew: boolean }): Promise<void> {
  await dialogs.open<never>((close) => <SignInDialog isAnew={isAnew} onClose={() => close(null)} />);
}

interface SignInDialogProps {
  /** Whether it may be in the place of somebody who is signed in: the page is loaded anew after it. */
  isAnew: boolean;
  onClose: () => void;
}

function SignInDialog(props: SignInDialogProps) {
  const account = useAccount();
  return account && <Question account={account} {...props} />;
}

function Question({ account, isAnew, onClose }: SignInDialogProps & { account: Account }) {
  const folder = useFolder();
  const { text } = useLanguage();
  const attempt = useSignInAttempt(account, isAnew ? account.leave : onClose);
  const { password, provider } = account.ways;
  // As it was when it was asked: it changes a moment before the dialog goes.
  const [lastName] = useState(isAnew ? null : account.lastName.value);
  useLayoutEffect(() => {
    const field = lastName === null ? attempt.name : attempt.password;
    field.current?.focus();
  }, []);
  const name = account.name.value;
  useEffect(() => {
    if (name !== null && !isAnew) onClose();
  }, [name]);

  return (
    <Dialog
      title={text.account.signIn}
      onClose={onClose}
      onSubmit={attempt.send}
      actions={
        <>
          <Button onClick={onClose}>{text.controls.cancel}</Button>
          {password && (
            <Button kind="primary" type="submit">
              {attempt.isSending ? text.account.signingIn : text.account.signIn}
            </Button>
          )}
        </>
      }
    >
      <div class="sign-in-question">
        {lastName !== null && <p>{text.account.ended}</p>}
        {lastName === null && !isAnew && folder.state.value !== 'ready' && <p>{text.account.needed}</p>}
        {password && <SignInFields attempt={attempt} lastName={lastName} />}
        {provider && <ProviderLink account={account} isBeside={!isAnew} />}
        {provider && !isAnew && <p class="hint">{text.account.inNewTab}</p>}
      </div>
    </Dialog>
  );
}
