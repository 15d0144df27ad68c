import type { Signal } from '@preact/signals';
import { useId, useState } from 'preact/hooks';
import { findSenderProblem, MAX_SENDER_LENGTH, storeSender } from '../../model/visit/sender.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useVisit } from '../models.ts';

interface SenderFieldProps {
  /** Whether the visitor has tried to continue, so that a missing name is a problem. */
  isChecked?: boolean;
  autofocus?: boolean;
}

/** The field for the name of the sender. The tab remembers a valid name. */
export function SenderField({ isChecked = false, autofocus = false }: SenderFieldProps) {
  const sender = useSender();
  const { text } = useFullLanguage();
  const fieldId = useId();
  const hintId = useId();
  const [isLeft, setLeft] = useState(false);
  const found = findSenderProblem(sender.value);
  // A name that the visitor has not typed yet is no problem before the visitor continues.
  const problem = isChecked || (isLeft && found !== 'empty') ? found : undefined;
  return (
    <div class="fields sender-field">
      <label for={fieldId}>{text.visit.sender}</label>
      <input
        id={fieldId}
        class="text-field"
        type="text"
        name="name"
        dir="auto"
        aria-required
        autofocus={autofocus}
        maxLength={MAX_SENDER_LENGTH}
        autocomplete="name"
        enterkeyhint="done"
        value={sender.value}
        aria-invalid={problem !== undefined}
        aria-describedby={hintId}
        onInput={({ currentTarget }) => {
          sender.value = currentTarget.value;
        }}
        onBlur={() => {
          setLeft(true);
          sender.value = sender.value.trim();
          if (findSenderProblem(sender.value) === undefined) storeSender(sender.value);
        }}
      />
      <p id={hintId} class={problem ? 'problem' : 'hint'} role={problem && 'alert'}>
        {problem ? text.names.problems[problem] : text.visit.senderHint}
      </p>
    </div>
  );
}

/** The name of the sender of a visit. */
export function useSender(): Signal<string> {
  const visit = useVisit();
  if (!visit) throw new Error('Only visitors have a sender.');
  return visit.sender;
}
