import type { OtherVersion } from '../../model/editing/edited-file.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';

export type ConflictAnswer = 'merge' | 'overwrite' | 'copy';

/** Asks what to do with another version of the file. Resolves to null if the user cancels. */
export function askAboutVersion(dialogs: Dialogs, name: string, theirs: OtherVersion): Promise<ConflictAnswer | null> {
  return dialogs.open<ConflictAnswer>((close) => <VersionDialog {...{ name, theirs, close }} />);
}

interface VersionDialogProps {
  name: string;
  theirs: OtherVersion;
  close: (answer: ConflictAnswer | null) => void;
}

function VersionDialog({ name, theirs: { kind }, close }: VersionDialogProps) {
  const { text } = useFullLanguage();
  const { editor } = text;
  const shown = shownName(name);
  const cancel = <Button onClick={() => close(null)}>{text.controls.cancel}</Button>;
  if (kind === 'missing') {
    const actions = (
      <>
        {cancel}
        <Button kind="primary" autofocus onClick={() => close('overwrite')}>
          {editor.saveAgain}
        </Button>
      </>
    );
    return (
      <Dialog title={editor.missingTitle({ name: shown })} onClose={() => close(null)} actions={actions}>
        <p>{editor.missingHint}</p>
      </Dialog>
    );
  }
  const actions = (
    <>
      {cancel}
      <Button onClick={() => close('overwrite')}>{editor.overwrite}</Button>
      <Button kind={kind === 'text' ? 'plain' : 'primary'} autofocus={kind !== 'text'} onClick={() => close('copy')}>
        {editor.saveCopy}
      </Button>
      {kind === 'text' && (
        <Button kind="primary" autofocus onClick={() => close('merge')}>
          {editor.merge}
        </Button>
      )}
    </>
  );
  return (
    <Dialog title={editor.conflictTitle({ name: shown })} onClose={() => close(null)} actions={actions}>
      <p>{kind === 'text' ? editor.conflictHint : editor.opaqueHint}</p>
    </Dialog>
  );
}

export type CloseAnswer = 'save' | 'discard';

/** Asks whether to save a text before the editor closes. Resolves to null if the user cancels. */
export function askBeforeClosing(dialogs: Dialogs, name: string): Promise<CloseAnswer | null> {
  return dialogs.open<CloseAnswer>((close) => <CloseDialog name={name} close={close} />);
}

function CloseDialog({ name, close }: { name: string; close: (answer: CloseAnswer | null) => void }) {
  const { text } = useFullLanguage();
  const { editor } = text;
  const actions = (
    <>
      <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
      <Button kind="danger" onClick={() => close('discard')}>
        {editor.discard}
      </Button>
      <Button kind="primary" type="submit" autofocus>
        {editor.save}
      </Button>
    </>
  );
  return (
    <Dialog
      title={editor.closeTitle({ name: shownName(name) })}
      onClose={() => close(null)}
      onSubmit={() => close('save')}
      actions={actions}
    >
      <p>{editor.closeHint}</p>
    </Dialog>
  );
}
