import { useState } from 'preact/hooks';
import { findSenderProblem, storeSender } from '../../model/visit/sender.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { SenderField, useSender } from './sender-field.tsx';
import './visit.css';

/** Asks for the name of the sender. Resolves after a valid one; to null if the visitor cancels. */
export function enterSender(dialogs: Dialogs): Promise<true | null> {
  return dialogs.open<true>((close) => <SenderDialog close={close} />);
}

function SenderDialog({ close }: { close: (result: true | null) => void }) {
  const sender = useSender();
  const { text } = useFullLanguage();
  const [isChecked, setChecked] = useState(false);
  return (
    <Dialog
      title={text.visit.senderTitle}
      onClose={() => close(null)}
      onSubmit={() => {
        sender.value = sender.value.trim();
        setChecked(true);
        if (findSenderProblem(sender.value) !== undefined) return;
        storeSender(sender.value);
        close(true);
      }}
      actions={
        <>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit">
            {text.shell.upload}
          </Button>
        </>
      }
    >
      <SenderField isChecked={isChecked} autofocus />
    </Dialog>
  );
}
