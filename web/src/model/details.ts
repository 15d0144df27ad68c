import { type Signal, signal } from '@preact/signals';

/** The panel that tells all that is known of what is selected. */
export interface Details {
  readonly isOpen: Signal<boolean>;
}

export function createDetails(): Details {
  return { isOpen: signal(false) };
}
