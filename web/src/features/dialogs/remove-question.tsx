import { useEffect, useState } from 'preact/hooks';
import { subjectOf } from '../../model/changes/words.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Text } from '../../platform/text/language.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.ts';
import { Name } from '../../ui/name.tsx';
import { useService } from '../models.ts';
import './questions.css';

/** The names that are listed of many. */
const NAMED = 5;

/** Asks whether to delete; null where not. */
export function askWhetherToRemove(dialogs: Dialogs, entries: readonly Entry[]): Promise<true | null> {
  return dialogs.ask<true>((close) => <RemoveQuestion entries={entries} close={close} />);
}

function RemoveQuestion({ entries, close }: { entries: readonly Entry[]; close: (answer: true | null) => void }) {
  const { text } = useFullLanguage();
  const paths = entries.map(({ path }) => path);
  const [only] = entries.length === 1 ? entries : [];
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
        {only?.type === 'folder' && <Holding folder={only.path} />}
        {entries.length > 1 && hasFolder && <p>{text.changes.foldersToo}</p>}
        <p>{text.changes.noUndo}</p>
      </div>
    </Dialog>
  );
}

function Names({ entries, text }: { entries: readonly Entry[]; text: Text }) {
  const shown = entries.slice(0, entries.length === NAMED + 1 ? NAMED + 1 : NAMED);
  return (
    <ul>
      {shown.map(({ path, name }) => (
        <li key={path}>
          <Name of={name} />
        </li>
      ))}
      {shown.length < entries.length && (
        <li class="more">{text.changes.more({ count: entries.length - shown.length })}</li>
      )}
    </ul>
  );
}

/** How much a folder holds, as far as its first page tells; nothing until that is known. */
function Holding({ folder }: { folder: string }) {
  const service = useService();
  const { text } = useFullLanguage();
  const [held, setHeld] = useState<{ readonly count: number; readonly hasMore: boolean } | null>(null);

  useEffect(() => {
    const controller = new AbortController();
    service.list(folder, { signal: controller.signal }).then(
      ({ entries, cursor }) => setHeld({ count: entries.length, hasMore: cursor !== undefined }),
      // The question is the same without it.
      () => {},
    );
    return () => controller.abort();
  }, [folder]);

  return <p class="holding">{held && wordsFor(held.count, held.hasMore)}</p>;

  function wordsFor(count: number, hasMore: boolean): string {
    if (hasMore) return text.changes.holdsMore({ count });
    return count === 0 ? text.changes.holdsNothing : text.changes.holds({ count });
  }
}
