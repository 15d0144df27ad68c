import { useFullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Confirmation } from '../dialogs/confirmation.tsx';

/** Asks whether to sign out although uploads or changes are in progress. Resolves to null if the user cancels. */
export function confirmSignOut(dialogs: Dialogs): Promise<true | null> {
  return dialogs.open<true>((close) => <SignOutQuestion close={close} />);
}

function SignOutQuestion({ close }: { close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.signOut.title}
      details={[text.signOut.whileBusy]}
      verb={text.account.signOut}
      close={close}
    />
  );
}
