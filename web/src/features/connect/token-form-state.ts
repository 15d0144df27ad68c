import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  EMPTY_TOKEN,
  invalidFields,
  newTokenOf,
  type TokenField,
  type TokenForm,
} from '../../model/app-tokens/token-form.ts';
import { type CreatedAppToken, createAppToken } from '../../platform/service/app-tokens.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useService } from '../models.ts';
import { useConnectText } from './connect-text.ts';

/** The form of an app token while the user fills it in. */
export interface TokenFormState {
  readonly element: RefObject<HTMLDivElement | null>;
  readonly form: TokenForm;
  /** The invalid fields; empty until the first attempt to send the form. */
  readonly invalid: ReadonlySet<TokenField>;
  readonly isSending: boolean;
  /** Why the service rejected the form. */
  readonly failure: string | undefined;
  set(fields: Partial<TokenForm>): void;
  /** Empties the form. */
  reset(): void;
  /** Creates the token if the form is valid. Otherwise focuses the first invalid field. */
  submit(): void;
}

export function useTokenForm(onCreated: (created: CreatedAppToken) => void): TokenFormState {
  const service = useService();
  const text = useConnectText();
  const language = useFullLanguage();
  const element = useRef<HTMLDivElement>(null);
  const [form, setForm] = useState(EMPTY_TOKEN);
  const [attempts, setAttempts] = useState(0);
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<string>();
  useLayoutEffect(() => {
    if (attempts > 0) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempts]);

  const send = async () => {
    setSending(true);
    setFailure(undefined);
    try {
      onCreated(await createAppToken(service, newTokenOf(form, new Date())));
    } catch (error) {
      setFailure(`${text.token.notCreated} ${language.reasonOf(asServiceError(error))}`);
    }
    setSending(false);
  };
  return {
    element,
    form,
    invalid: attempts > 0 ? invalidFields(form, new Date()) : new Set(),
    isSending,
    failure,
    set: (fields) => setForm((previous) => ({ ...previous, ...fields })),
    reset() {
      setForm(EMPTY_TOKEN);
      setAttempts(0);
      setFailure(undefined);
    },
    submit() {
      if (isSending) return;
      if (invalidFields(form, new Date()).size > 0) setAttempts(attempts + 1);
      else void send();
    },
  };
}
