import { findNameProblem, type NameProblem, ROOT } from '../../platform/paths.ts';

/** The maximum length of the name of a sender in characters. */
export const MAX_SENDER_LENGTH = 100;

/** Returns why the service would reject the name of a sender; undefined if it would accept the name. */
export function findSenderProblem(sender: string): NameProblem | undefined {
  if (sender.length > MAX_SENDER_LENGTH) return 'long';
  return findNameProblem(sender, { folder: ROOT, isFolder: true, isTaken: () => false });
}

/** The key of the session storage, which belongs to one tab. */
const KEY = 'holdall sender';

/** Returns the name that the visitor entered in this tab; empty if they have not entered a name. */
export function readSender(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    // The browser denies access to the storage.
    return '';
  }
}

export function storeSender(sender: string): void {
  try {
    sessionStorage.setItem(KEY, sender);
  } catch {
    // The browser denies access to the storage, so the visitor enters the name again after a reload.
  }
}
