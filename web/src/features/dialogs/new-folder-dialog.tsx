import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { NewFolderParent } from '../../model/prompts.ts';
import { freeName } from '../../platform/free-name.ts';
import { findNameProblem, splitName } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';

/** Asks for the name of a new folder. Resolves to null if the user cancels. */
export function askForFolderName(dialogs: Dialogs, parent: NewFolderParent): Promise<string | null> {
  return dialogs.open<string>((close) => <NameDialog kind="folder" parent={parent} close={close} />);
}

/** Asks for the name of a new text file. Resolves to null if the user cancels. */
export function askForFileName(dialogs: Dialogs, parent: NewFolderParent): Promise<string | null> {
  return dialogs.open<string>((close) => <NameDialog kind="file" parent={parent} close={close} />);
}

interface NameDialogProps {
  kind: 'file' | 'folder';
  parent: NewFolderParent;
  close: (name: string | null) => void;
}

function NameDialog({ kind, parent, close }: NameDialogProps) {
  const { text } = useFullLanguage();
  const isFolder = kind === 'folder';
  const first = isFolder ? text.changes.newFolderName : text.editor.newName;
  const [name, setName] = useState(() => freeName(first, parent.isTaken, isFolder));
  const input = useRef<HTMLInputElement>(null);
  const inputId = useId();
  const problemId = useId();
  const problem = findNameProblem(name, { ...parent, isFolder });

  // The dialog has moved the focus to its first field by now.
  useLayoutEffect(() => input.current?.setSelectionRange(0, isFolder ? name.length : splitName(name).stem.length), []);

  return (
    <Dialog
      title={isFolder ? text.changes.newFolder : text.actions.newFile}
      onClose={() => close(null)}
      onSubmit={() => {
        if (problem === undefined) close(name);
        else input.current?.focus();
      }}
      actions={
        <>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit">
            {text.changes.create}
          </Button>
        </>
      }
    >
      <div class="fields">
        <label for={inputId}>{text.changes.name}</label>
        <input
          ref={input}
          id={inputId}
          class="text-field"
          type="text"
          dir="auto"
          autofocus
          autocomplete="off"
          spellcheck={false}
          enterkeyhint="done"
          value={name}
          aria-invalid={problem !== undefined}
          aria-describedby={problemId}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <p id={problemId} class="problem" role="status">
          {problem && text.names.problems[problem]}
        </p>
      </div>
    </Dialog>
  );
}
