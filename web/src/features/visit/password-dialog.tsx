import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { PasswordField, usePasswordForm } from './password.tsx';

/** Asks for the password of the link again. Resolves after the correct one; to null if the visitor cancels. */
export function enterPassword(dialogs: Dialogs): Promise<true | null> {
  return dialogs.open<true>((close) => <PasswordDialog close={close} />);
}

function PasswordDialog({ close }: { close: (result: true | null) => void }) {
  const { text } = useFullLanguage();
  const form = usePasswordForm(() => close(true));
  return (
    <Dialog
      title={text.visit.passwordTitle}
      onClose={() => close(null)}
      onSubmit={form.submit}
      actions={
        <>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit">
            {form.isSending ? text.visit.checking : text.actions.open}
          </Button>
        </>
      }
    >
      <div class="sign-in-question">
        <p>{text.visit.passwordAgain}</p>
        <PasswordField form={form} />
      </div>
    </Dialog>
  );
}
