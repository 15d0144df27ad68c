import { subjectOf } from '../../model/changes/change-texts.ts';
import type { TrashedItem } from '../../platform/service/trash.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Confirmation } from '../dialogs/confirmation.tsx';

/** Asks whether to delete items permanently. Resolves to null if the user cancels. */
export function confirmPurge(dialogs: Dialogs, items: readonly TrashedItem[]): Promise<true | null> {
  return dialogs.open<true>((close) => <PurgeDialog items={items} close={close} />);
}

/** Asks whether to empty the trash. Resolves to null if the user cancels. */
export function confirmEmpty(dialogs: Dialogs): Promise<true | null> {
  return dialogs.open<true>((close) => <EmptyDialog close={close} />);
}

type Close = (answer: true | null) => void;

function PurgeDialog({ items, close }: { items: readonly TrashedItem[]; close: Close }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.trash.purgeTitle(subjectOf(items.map(({ path }) => path)))}
      details={[text.changes.cannotUndo]}
      verb={text.actions.deletePermanently}
      close={close}
    />
  );
}

function EmptyDialog({ close }: { close: Close }) {
  const { text } = useFullLanguage();
  return (
    <Confirmation
      title={text.trash.emptyTitle}
      details={[text.trash.emptyQuestion, text.changes.cannotUndo]}
      verb={text.trash.empty}
      close={close}
    />
  );
}
