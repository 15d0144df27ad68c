import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { problemOfName } from '../../model/changes/names.ts';
import { freeName } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.ts';

interface Place {
  /** The folder that the new one will be in. */
  readonly folder: string;
  readonly isTaken: (name: string) => boolean;
}

/** Asks for the name of a new folder; null where a person would rather have none. */
export function askForNewFolder({ dialogs, ...place }: Place & { readonly dialogs: Dialogs }): Promise<string | null> {
  return dialogs.ask<string>((close) => <NewFolderQuestion place={place} close={close} />);
}

function NewFolderQuestion({ place, close }: { place: Place; close: (name: string | null) => void }) {
  const { text } = useFullLanguage();
  const [name, setName] = useState(() => freeName(text.changes.newFolderName, place.isTaken, true));
  const input = useRef<HTMLInputElement>(null);
  const inputId = useId();
  const problemId = useId();
  const problem = problemOfName(name, { ...place, isFolder: true });

  // The dialog has given the focus to its first field by now.
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
