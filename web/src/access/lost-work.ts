import type { AccountOptions } from './account.ts';

/*
 * What one person had begun ends when another signs in, as the page is loaded anew then. That is told on the new page,
 * for which it is kept until then.
 */

const KEY = 'holdall lost';

/** Keeps for the page to come that `name` had begun something. */
export function keepLostWork(name: string): void {
  try {
    sessionStorage.setItem(KEY, name);
  } catch {
    // Storage may be forbidden.
  }
}

/** Tells who is signed in now of what was kept, once. */
export function tellLostWork(name: string, { messages, language }: AccountOptions): void {
  try {
    const before = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (before !== null) messages.say({ kind: 'error', text: language.value.text.account.lost(name, before) });
  } catch {
    // Then nothing was kept.
  }
}
