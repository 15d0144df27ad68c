import type { ReadonlySignal } from '@preact/signals';
import type { Messages } from '../messages.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { signOut as endSession } from '../../platform/service/session.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { FullLanguage } from '../../platform/text/language.ts';

interface SignOutOptions {
  readonly urls: Urls;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
  /** Whether uploads or changes are in progress, which signing out cancels. */
  readonly isBusy: () => boolean;
  /** Asks whether to sign out anyway. Resolves to null if the user cancels. */
  readonly confirm: () => Promise<true | null>;
  readonly onSignedOut: () => void;
}

/** Signs out. Asks first if something is in progress, and shows a message if signing out fails. */
export async function signOut({
  urls,
  messages,
  language,
  isBusy,
  confirm,
  onSignedOut,
}: SignOutOptions): Promise<void> {
  if (isBusy() && !(await confirm())) return;
  try {
    await endSession(urls);
  } catch (error) {
    const { text } = language.value;
    messages.say({
      kind: 'error',
      text: text.account.notSignedOut,
      detail: language.value.reasonOf(asServiceError(error)),
    });
    return;
  }
  onSignedOut();
}
