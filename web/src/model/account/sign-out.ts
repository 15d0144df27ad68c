import type { ReadonlySignal } from '@preact/signals';
import { asServiceError } from '../../platform/service/service-error.ts';
import { signOut as endSession } from '../../platform/service/session.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { deleteShares } from '../../platform/shares.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';

interface SignOutOptions {
  readonly urls: Urls;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
  /** Whether uploads or changes are in progress, which signing out cancels. */
  readonly isBusy: () => boolean;
  readonly prompts: {
    /** Asks whether to sign out anyway. Resolves to null if the user cancels. */
    confirmSignOut(): Promise<true | null>;
  };
  readonly onSignedOut: () => void;
}

/** Signs out. Asks first if something is in progress, and shows a message if signing out fails. */
export async function signOut(options: SignOutOptions): Promise<void> {
  const { urls, messages, language, isBusy, prompts, onSignedOut } = options;
  if (isBusy() && !(await prompts.confirmSignOut())) return;
  try {
    await endSession(urls);
  } catch (error) {
    const { text } = language.value;
    messages.show({
      kind: 'error',
      text: text.signOut.failed,
      detail: language.value.reasonOf(asServiceError(error)),
    });
    return;
  }
  // What other apps have shared, because the next user of the browser must not see it.
  await deleteShares(urls.endpoint('')).catch(() => {});
  onSignedOut();
}
