import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type LinkForm, type LinkProblems, problemsOf } from '../../model/links/link-form.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';

/** The form of a link while the user fills it in. */
export interface LinkFormState {
  readonly element: RefObject<HTMLDivElement | null>;
  readonly form: LinkForm;
  /** Whether the link has a password, which an empty field keeps. */
  readonly keepsPassword: boolean;
  /** The invalid fields; empty until the first attempt to send the form. */
  readonly problems: LinkProblems;
  readonly isSending: boolean;
  /** Why the service rejected the form. */
  readonly failure: string | undefined;
  set(fields: Partial<LinkForm>): void;
  /** Sends the form if it is valid. Otherwise focuses the first invalid field. */
  submit(): void;
}

interface LinkFormOptions {
  readonly first: LinkForm;
  /** Whether `first` is the form of an existing link. */
  readonly isExisting: boolean;
  /** The beginning of the message after a failure. */
  readonly failed: string;
  /** Throws `ServiceError`. */
  readonly send: (form: LinkForm, now: Date) => Promise<void>;
}

export function useLinkForm({ first, isExisting, failed, send }: LinkFormOptions): LinkFormState {
  const language = useFullLanguage();
  const element = useRef<HTMLDivElement>(null);
  const [form, setForm] = useState(first);
  const [attempts, setAttempts] = useState(0);
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<string>();
  const find = () => problemsOf(form, new Date(), isExisting ? first : undefined);
  useLayoutEffect(() => {
    if (attempts > 0) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempts]);

  const sendForm = async () => {
    setSending(true);
    setFailure(undefined);
    try {
      await send(form, new Date());
    } catch (error) {
      setFailure(`${failed} ${language.reasonOf(asServiceError(error))}`);
      setSending(false);
    }
  };
  return {
    element,
    form,
    keepsPassword: isExisting && first.hasPassword,
    problems: attempts > 0 ? find() : {},
    isSending,
    failure,
    set: (fields) => setForm((previous) => ({ ...previous, ...fields })),
    submit() {
      if (isSending) return;
      if (Object.keys(find()).length > 0) setAttempts(attempts + 1);
      else void sendForm();
    },
  };
}
