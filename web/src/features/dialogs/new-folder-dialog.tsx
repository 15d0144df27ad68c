import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { NewFolderParent } from '../../model/prompts.ts';
import { freeName } from '../../platform/free-name.ts';
import { findNameProblem } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';

/** Asks for the name of a new folder. Resolves to null if the user cancels. */
export function askForFolderName(dialogs: Dialogs, parent: NewFolderParent): Promise<string | null> {
  return dialogs.open<string>((close) => <NewFolderDialog parent={parent} close={close} />);
}

function NewFolderDialog({ parent, close }: { parent: NewFolderParent; close: (name: string | null) => void }) {
  const { text } = useFullLanguage();
  const [name, setName] = useState(() => freeName(text.changes.newFolderName, parent.isTaken, true));
  const input = useRef<HTMLInputElement>(null);
  const inputId = useId();
  const problemId = useId();
  const problem = findNameProblem(name, { ...parent, isFolder: true });

  // The dialog has moved the focus to its first field by now.
  useLayoutEffect(() => input.current?.select(), []);

  return (
    <Dialog
      title={text.changes.newFolder}
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
