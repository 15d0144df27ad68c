import { useFullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Confirmation } from './confirmation.tsx';

/** Asks whether to delete the earlier versions of a file. Resolves to null if the user cancels. */
export function confirmDeleteVersions(dialogs: Dialogs, name: string): Promise<true | null> {
  return dialogs.open<true>((close) => <DeleteVersionsDialog name={name} close={close} />);
}

function DeleteVersionsDialog({ name, close }: { name: string; close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.versions.deleteTitle({ name })}
      details={[text.versions.deleteHint, text.changes.cannotUndo]}
      verb={text.versions.deleteAll}
      close={close}
    />
  );
}
