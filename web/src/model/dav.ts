import { type Signal, signal } from '@preact/signals';
import type { Embedded } from '../platform/embedded.ts';
import type { Lock } from '../platform/service/locks.ts';

/** WebDAV, and the locks of its clients. The code that reads and ends locks loads lazily. */
export interface Dav extends NonNullable<Embedded['dav']> {
  /** The locks that concern the shown folder and its entries, as far as they are known. */
  readonly locks: Signal<readonly Lock[]>;
  /** The number of times that the locks can have changed. */
  readonly changes: Signal<number>;
}

export function createDav({ dav }: Pick<Embedded, 'dav'>): Dav | null {
  return dav && { ...dav, locks: signal([]), changes: signal(0) };
}
