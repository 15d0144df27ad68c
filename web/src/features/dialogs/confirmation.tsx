import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';

interface ConfirmationProps {
  title: string;
  details: readonly string[];
  /** The label of the button that confirms. */
  verb: string;
  close: (answer: true | null) => void;
}

/** Asks whether to perform a destructive action. */
export function Confirmation({ title, details, verb, close }: ConfirmationProps) {
  const { text } = useFullLanguage();
  return (
    <Dialog
      title={title}
      onClose={() => close(null)}
      actions={
        <>
          <Button autofocus onClick={() => close(null)}>
            {text.controls.cancel}
          </Button>
          <Button kind="danger" onClick={() => close(true)}>
            {verb}
          </Button>
        </>
      }
    >
      {details.map((detail) => (
        <p key={detail}>{detail}</p>
      ))}
    </Dialog>
  );
}
