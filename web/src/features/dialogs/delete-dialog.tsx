import { subjectOf } from '../../model/changes/change-texts.ts';
import type { Entry, Listing } from '../../platform/service/service.ts';
import { type Text, useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useRetention, useService } from '../models.ts';
import './questions.css';

/** Asks whether to delete. Resolves to null if the user cancels. */
export function confirmDelete(dialogs: Dialogs, entries: readonly Entry[]): Promise<true | null> {
  return dialogs.open<true>((close) => <DeleteDialog entries={entries} close={close} />);
}

function DeleteDialog({ entries, close }: { entries: readonly Entry[]; close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  const paths = entries.map(({ path }) => path);
  const [only] = entries.length === 1 ? entries : [];
  const { keepsVersions, trash } = useRetention();
  // A store whose trash has no expiry, such as a branch, keeps all versions.
  const deletesVersions = keepsVersions && trash?.days !== null;
  const hasFolder = entries.some(({ type }) => type === 'folder');

  return (
    <Dialog
      title={
        only?.type === 'folder'
          ? text.changes.deleteFolderTitle({ name: only.name })
          : text.changes.deleteTitle(subjectOf(paths))
      }
      onClose={() => close(null)}
      actions={
        <>
          <Button autofocus onClick={() => close(null)}>
            {text.controls.cancel}
          </Button>
          <Button kind="danger" onClick={() => close(true)}>
            {only ? text.changes.deleteOne[only.type] : text.changes.delete({ count: paths.length })}
          </Button>
        </>
      }
    >
      <div class="remove-question">
        {entries.length > 1 && <Names entries={entries} text={text} />}
        {only?.type === 'folder' && <FolderSize folder={only.path} />}
        {entries.length > 1 && hasFolder && <p>{text.changes.includesFolders}</p>}
        {deletesVersions && <p>{text.changes.deletesVersions}</p>}
        <p>{text.changes.cannotUndo}</p>
      </div>
    </Dialog>
  );
}

/** The maximum number of names in the list. */
const MAX_NAMES = 5;

function Names({ entries, text }: { entries: readonly Entry[]; text: Text }) {
  // One more name takes no more space than the line "1 more".
  const shown = entries.slice(0, entries.length === MAX_NAMES + 1 ? MAX_NAMES + 1 : MAX_NAMES);
  return (
    <ul>
      {shown.map(({ path, name }) => (
        <li key={path} class="truncated-name">
          <Name of={name} />
        </li>
      ))}
      {shown.length < entries.length && (
        <li class="more">{text.changes.more({ count: entries.length - shown.length })}</li>
      )}
    </ul>
  );
}

/** Shows the number of entries of a folder. Its first page is enough; nothing is shown until it has arrived. */
function FolderSize({ folder }: { folder: string }) {
  const service = useService();
  const { text } = useFullLanguage();
  const listing = useLoaded((signal) => service.list(folder, { signal }));
  return <p class="holding">{listing.state === 'ready' && describeSize(listing.value, text)}</p>;
}

function describeSize({ entries, cursor }: Listing, { changes }: Text): string {
  const count = entries.length;
  if (cursor !== undefined) return changes.folderContainsMore({ count });
  return count === 0 ? changes.folderIsEmpty : changes.folderContains({ count });
}
