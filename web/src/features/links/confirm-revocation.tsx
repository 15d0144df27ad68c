import { useFullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Confirmation } from '../dialogs/confirmation.tsx';

/** The number of links, and the name of the item of a single one. */
interface Subject {
  readonly count: number;
  readonly name: string;
}

/** Asks whether to revoke links. Resolves to null if the user cancels. */
export function confirmRevocation(dialogs: Dialogs, subject: Subject): Promise<true | null> {
  return dialogs.open<true>((close) => <RevocationDialog subject={subject} close={close} />);
}

function RevocationDialog({ subject, close }: { subject: Subject; close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.links.revokeTitle(subject)}
      details={[text.links.revokeHint, text.changes.cannotUndo]}
      verb={text.links.revoke}
      close={close}
    />
  );
}
