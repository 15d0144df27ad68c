import { Button } from '../controls/button.tsx';
import { Dialog } from '../controls/dialog.tsx';
import type { Dialogs } from '../controls/dialogs.ts';
import { useLanguage } from '../page.ts';
import { asServiceError } from '../service/service-error.ts';
import { signOut as endSession } from '../service/session.ts';
import { reasonOf } from '../text/reason.ts';
import type { Account, AccountOptions } from './account.ts';
import type { OtherTabs } from './other-tabs.ts';

type SigningOut = Omit<AccountOptions, 'access'> & Pick<Account, 'leave'> & OtherTabs;

/** Signs out, and loads the page anew, so that nothing of what was shown is left. Asks where something is under way. */
export async function signOut({ urls, dialogs, messages, language, isBusy, leave, tell }: SigningOut): Promise<void> {
  if (isBusy() && !(await askWhetherToSignOut(dialogs))) return;
  try {
    await endSession(urls);
  } catch (error) {
    const { text } = language.value;
    messages.say({ kind: 'error', text: text.account.notSignedOut, detail: reasonOf(asServiceError(error), text) });
    return;
  }
  tell(null);
  leave();
}

function askWhetherToSignOut(dialogs: Dialogs): Promise<true | null> {
  return dialogs.ask<true>((close) => <Question close={close} />);
}

function Question({ close }: { close: (answer: true | null) => void }) {
  const { text } = useLanguage();
  return (
    <Dialog
      title={text.account.signOutTitle}
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
      <p>{text.account.signOutWhileBusy}</p>
    </Dialog>
  );
}
