import { asServiceError } from '../../platform/service/service-error.ts';
import { signOut as endSession } from '../../platform/service/session.ts';
import { reasonOf } from '../../platform/text/reason.ts';
import type { AccountOptions } from './account.ts';

interface SignOutOptions extends Pick<AccountOptions, 'urls' | 'prompts' | 'messages' | 'language' | 'isBusy'> {
  readonly onSignedOut: () => void;
}

/** Signs out. Asks first if something is in progress, and shows a message if signing out fails. */
export async function signOut({
  urls,
  prompts,
  messages,
  language,
  isBusy,
  onSignedOut,
}: SignOutOptions): Promise<void> {
  if (isBusy() && !(await prompts.confirmSignOut())) return;
  try {
    await endSession(urls);
  } catch (error) {
    const { text } = language.value;
    messages.say({ kind: 'error', text: text.account.notSignedOut, detail: reasonOf(asServiceError(error), text) });
    return;
  }
  onSignedOut();
}
