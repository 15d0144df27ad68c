import { useState } from 'preact/hooks';
import { useLanguage } from '../page.ts';
import { folderName } from '../text/folder-name.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import type { Dialogs } from './dialogs.ts';
import './conflict-question.css';

type Kind = 'file' | 'folder';

export interface Conflict {
  /** The name that both have. */
  readonly name: string;
  /** The path of the folder that has the name already. */
  readonly folder: string;
  /** Gives how many items come after this one, of which some may conflict as well; fewer while it is asked. */
  readonly remaining: () => number;
  /** What arrives and what is there. A thing of one kind can't take the place of one of the other. */
  readonly kinds: { readonly arriving: Kind; readonly there: Kind };
  /** Whether the one who is asked is allowed to replace what is there. */
  readonly mayReplace: boolean;
}

export interface ConflictAnswer {
  readonly decision: 'replace' | 'keep-both' | 'skip';
  /** Whether it holds for the remaining items too. */
  readonly forAll: boolean;
}

/** Asks what is to become of a thing whose name is taken; null where a person would rather stop. */
export function askAboutConflict({
  dialogs,
  ...conflict
}: Conflict & { readonly dialogs: Dialogs }): Promise<ConflictAnswer | null> {
  return dialogs.ask<ConflictAnswer>((close) => <ConflictQuestion conflict={conflict} close={close} />);
}

interface ConflictQuestionProps {
  conflict: Conflict;
  close: (answer: ConflictAnswer | null) => void;
}

function ConflictQuestion({ conflict, close }: ConflictQuestionProps) {
  const { name, folder, kinds, mayReplace } = conflict;
  const remaining = conflict.remaining();
  const { text } = useLanguage();
  const [forAll, setForAll] = useState(false);
  const answer = (decision: ConflictAnswer['decision']) => close({ decision, forAll });
  const isSameKind = kinds.arriving === kinds.there;
  const canReplace = isSameKind && mayReplace;
  const why = isSameKind ? text.conflicts.mayNotReplace : text.conflicts.otherKind[kinds.there];

  return (
    <Dialog
      title={text.conflicts.title(name, folderName(folder, text))}
      onClose={() => close(null)}
      onSubmit={() => answer('keep-both')}
      actions={
        <>
          <Button onClick={() => answer('skip')}>{text.conflicts.skip}</Button>
          {canReplace && <Button onClick={() => answer('replace')}>{text.conflicts.replace}</Button>}
          <Button kind="primary" type="submit" autofocus>
            {text.conflicts.keepBoth}
          </Button>
        </>
      }
    >
      <div class="conflict-question">
        <p>{canReplace ? text.conflicts.replacing[kinds.there] : why}</p>
        {remaining > 0 && (
          <label>
            <input
              type="checkbox"
              checked={forAll}
              onChange={({ currentTarget }) => setForAll(currentTarget.checked)}
            />
            <span>{text.conflicts.forAll(remaining)}</span>
          </label>
        )}
      </div>
    </Dialog>
  );
}
