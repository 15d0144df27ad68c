import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';

/** Asks whether to sign out although uploads or changes are in progress. Resolves to null if the user cancels. */
export function confirmSignOut(dialogs: Dialogs): Promise<true | null> {
  return dialogs.open<true>((close) => <SignOutQuestion close={close} />);
}

function SignOutQuestion({ close }: { close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  return (
    <Dialog
      title={text.signOut.title}
      onClose={() => close(null)}
      actions={
        <>
          <Button autofocus onClick={() => close(null)}>
            {text.controls.cancel}
          </Button>
          <Button kind="danger" onClick={() => close(true)}>
            {text.account.signOut}
          </Button>
        </>
      }
    >
      <p>{text.signOut.whileBusy}</p>
    </Dialog>
  );
}
