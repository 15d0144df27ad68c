import { type Signal, signal } from '@preact/signals';

/** What the page knows of the user's share links. The code that reads and changes them loads lazily. */
export interface Links {
  /** The number of times that this page created, changed or revoked links. */
  readonly changes: Signal<number>;
}

export function createLinks(): Links {
  return { changes: signal(0) };
}
