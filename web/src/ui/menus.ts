import { type ReadonlySignal, signal } from '@preact/signals';
import { createRequiredContext } from '../platform/required-context.ts';
import type { IconName } from './icons.ts';

export interface MenuItem {
  readonly id: string;
  readonly label: string;
  readonly icon?: IconName | undefined;
  /** The keys that do the same, as an action has them. */
  readonly keys?: string | undefined;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  /** Where it is one of several choices, whether it is the one. */
  readonly isChecked?: boolean;
  readonly run: () => void;
}

/** Items that stand together, with a line between groups; choices of one kind say under a label what they are of. */
export type MenuGroup = readonly MenuItem[] | { readonly label: string; readonly items: readonly MenuItem[] };

/** A menu that is open. */
export interface OpenMenu {
  readonly label: string;
  readonly groups: readonly MenuGroup[];
  /** Beside what it opens: a box, or the point that was clicked, in pixels of the window. */
  readonly at: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number };
}

export interface Menus {
  readonly shown: ReadonlySignal<OpenMenu | null>;
  open(menu: OpenMenu): void;
  close(): void;
}

export const [useMenus, MenusProvider] = createRequiredContext<Menus>('menus');

export function createMenus(): Menus {
  const shown = signal<OpenMenu | null>(null);
  return {
    shown,
    open(menu) {
      shown.value = menu;
    },
    close() {
      shown.value = null;
    },
  };
}
