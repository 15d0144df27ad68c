import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { Account } from '../../model/account/account.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { useAccount, useFolder } from '../models.ts';
import { useSignInForm } from './sign-in.ts';
import { ProviderLink, SignInFields } from './sign-in-fields.tsx';

/** Shows the sign-in dialog. Resolves when the user has signed in, here or in another tab, or cancels. */
export async function showSignInDialog(dialogs: Dialogs, { isSwitch }: { isSwitch: boolean }): Promise<void> {
  await dialogs.open<never>((close) => <SignInDialog isSwitch={isSwitch} onClose={() => close(null)} />);
}

interface SignInDialogProps {
  /** Whether the user chooses another account. The page then reloads after signing in. */
  isSwitch: boolean;
  onClose: () => void;
}

function SignInDialog(props: SignInDialogProps) {
  const account = useAccount();
  return account && <DialogForm account={account} {...props} />;
}

function DialogForm({ account, isSwitch, onClose }: SignInDialogProps & { account: Account }) {
  const folder = useFolder();
  const { text } = useFullLanguage();
  const form = useSignInForm(account, isSwitch ? account.reload : onClose);
  const { password, provider } = account.signInMethods;
  // Does not change with the signal, which gets the new user shortly before the dialog closes.
  const [lastUsername] = useState(isSwitch ? null : account.lastUsername.value);
  useLayoutEffect(() => {
    const field = lastUsername === null ? form.username : form.password;
    field.current?.focus();
  }, []);
  const username = account.username.value;
  useEffect(() => {
    if (username !== null && !isSwitch) onClose();
  }, [username]);

  return (
    <Dialog
      title={text.account.signIn}
      onClose={onClose}
      onSubmit={form.submit}
      actions={
        <>
          <Button onClick={onClose}>{text.controls.cancel}</Button>
          {password && (
            <Button kind="primary" type="submit">
              {form.isSending ? text.signIn.signingIn : text.account.signIn}
            </Button>
          )}
        </>
      }
    >
      <div class="sign-in-question">
        {lastUsername !== null && <p>{text.signIn.sessionExpired}</p>}
        {lastUsername === null && !isSwitch && folder.state.value !== 'ready' && <p>{text.signIn.signInRequired}</p>}
        {password && <SignInFields form={form} lastUsername={lastUsername} />}
        {provider && <ProviderLink account={account} isNewTab={!isSwitch} />}
        {provider && !isSwitch && <p class="hint">{text.signIn.inNewTab}</p>}
      </div>
    </Dialog>
  );
}
