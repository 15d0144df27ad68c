import { type Signal, signal } from '@preact/signals';

/** What the page knows of the user's share links. The code that reads and changes them loads lazily. */
export interface Links {
  /** The paths of the shared items among the shown folder and its entries. */
  readonly shared: Signal<ReadonlySet<string>>;
  /** The number of times that this page created, changed or revoked links. */
  readonly changes: Signal<number>;
}

export function createLinks(): Links {
  return { shared: signal<ReadonlySet<string>>(new Set()), changes: signal(0) };
}
