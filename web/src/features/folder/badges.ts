import { signal } from '@preact/signals';
import type { IconName } from '../../ui/icon.tsx';

/** A sign beside the name of an entry, such as that it is shared. */
export interface Badge {
  readonly icon: IconName;
  readonly label: string;
}

/** The badges of the entries of the shown folder, by path. `app/badges.ts` finds them, and loads lazily. */
export const badges = signal<ReadonlyMap<string, readonly Badge[]>>(new Map());
