import type { ReadonlySignal } from '@preact/signals';
import type { Language } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';

/*
 * If another user signs in, the page reloads, which cancels the uploads and changes of the previous user. The session
 * storage keeps the name of that user, so that the reloaded page can show a message.
 */

const KEY = 'holdall lost';

/** Stores that the reload cancels uploads or changes of the user `name`. */
export function keepLostWork(name: string): void {
  try {
    sessionStorage.setItem(KEY, name);
  } catch {
    // The browser denies access to the storage.
  }
}

interface Messaging {
  readonly messages: Messages;
  readonly language: ReadonlySignal<Language>;
}

/** Shows the stored message to the user `name` once. */
export function tellLostWork(name: string, { messages, language }: Messaging): void {
  try {
    const before = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (before !== null) messages.say({ kind: 'error', text: language.value.text.account.lost({ name, before }) });
  } catch {
    // The browser denies access to the storage, so nothing was stored.
  }
}
