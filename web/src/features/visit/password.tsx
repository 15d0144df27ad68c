import type { RefObject } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { isLinkUnlocked, unlockLink } from '../../platform/service/link-session.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useUrls } from '../models.ts';
import '../sign-in/sign-in.css';

/** The state of a form for the password of the link. */
export interface PasswordForm {
  /** Only this field has the password, until it was correct. */
  readonly field: RefObject<HTMLInputElement | null>;
  readonly isSending: boolean;
  /** The reason of the last failure. */
  readonly problem: string | undefined;
  /** Whether the reason is a wrong password. */
  readonly isWrong: boolean;
  /** Sends the password, unless a request is in progress. */
  readonly submit: () => void;
}

/** `onUnlocked` is called after the correct password. */
export function usePasswordForm(onUnlocked: () => void): PasswordForm {
  const urls = useUrls();
  const language = useFullLanguage();
  const field = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<Pick<PasswordForm, 'isSending' | 'problem' | 'isWrong'>>(IDLE);

  const send = async (input: HTMLInputElement) => {
    setState({ ...IDLE, isSending: true });
    try {
      await unlockLink(urls, input.value);
      if (!(await isLinkUnlocked(urls))) return setState({ ...IDLE, problem: language.text.visit.noCookies });
      input.value = '';
      onUnlocked();
    } catch (thrown) {
      const error = asServiceError(thrown);
      const isWrong = error.code === 'wrong-link-password';
      setState({ ...IDLE, problem: language.reasonOf(error), isWrong });
      input.focus();
      input.select();
    }
  };
  return {
    ...state,
    field,
    submit() {
      if (!state.isSending && field.current) void send(field.current);
    },
  };
}

const IDLE = { isSending: false, problem: undefined, isWrong: false } as const;

/** The field for the password, and the reason of a failure. */
export function PasswordField({ form }: { form: PasswordForm }) {
  const { text } = useFullLanguage();
  const fieldId = useId();
  const problemId = useId();
  return (
    <div class="fields sign-in-fields">
      <label for={fieldId}>{text.signIn.password}</label>
      <input
        ref={form.field}
        id={fieldId}
        class="text-field"
        type="password"
        name="password"
        required
        autofocus
        autocomplete="current-password"
        enterkeyhint="go"
        aria-invalid={form.isWrong}
        aria-describedby={problemId}
      />
      <p id={problemId} class="problem" role="alert">
        {form.problem}
      </p>
    </div>
  );
}
