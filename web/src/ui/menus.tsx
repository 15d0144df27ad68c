import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { createRequiredContext } from '../platform/required-context.ts';
import { Icon, type IconName } from './icon.tsx';
import type { Box } from './placement.ts';

export interface MenuItem {
  readonly id: string;
  readonly label: string;
  readonly icon?: IconName | undefined;
  /** The keyboard shortcut, in the form of `keysOf`. */
  readonly keys?: string | undefined;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  /** Whether this choice is the current one. Undefined if the item is not a choice. */
  readonly isChecked?: boolean;
  /** Whether the choice is independent of the other ones of its group. Default: one of the group is the current one. */
  readonly isToggle?: boolean;
  readonly run: () => void;
}

/** Items between two lines. A group of choices has a label. */
export type MenuGroup = readonly MenuItem[] | { readonly label: string; readonly items: readonly MenuItem[] };

export interface OpenMenu {
  readonly label: string;
  readonly groups: readonly MenuGroup[];
  /** The element that opened the menu, or the point that was clicked. */
  readonly anchor: Box;
}

/** The open menu of the page: at most one at a time. */
export interface Menus {
  readonly shown: ReadonlySignal<OpenMenu | null>;
  open(menu: OpenMenu): void;
  close(): void;
  /** Called if the code of a menu can't be loaded. */
  readonly onNotLoaded: () => void;
}

export const [useMenus, MenusProvider] = createRequiredContext<Menus>('menus');

export function createMenus(onNotLoaded: () => void): Menus {
  const shown = signal<OpenMenu | null>(null);
  return {
    shown,
    onNotLoaded,
    open(menu) {
      shown.value = menu;
    },
    close() {
      shown.value = null;
    },
  };
}

interface MenuButtonProps {
  /** The name of the menu, and of the button. */
  label: string;
  groups: () => readonly MenuGroup[] | Promise<readonly MenuGroup[]>;
  icon?: IconName;
  /** The text on the button, if it has more than an icon. */
  children?: ComponentChildren;
  class?: string;
}

/** A button that opens a menu, and closes it on the next press. */
export function MenuButton({ label, groups, icon, children, class: className }: MenuButtonProps) {
  const menus = useMenus();
  const opened = useRef<OpenMenu | null>(null);
  const isOpen = opened.current !== null && menus.shown.value === opened.current;

  const open = async (button: HTMLElement) => {
    // Safari does not focus clicked buttons, and a closing menu returns the focus to the element that had it.
    button.focus();
    try {
      opened.current = { label, groups: await groups(), anchor: button.getBoundingClientRect() };
      menus.open(opened.current);
    } catch {
      menus.onNotLoaded();
    }
  };

  return (
    <button
      class={className ?? (children === undefined ? 'icon-button' : 'button plain')}
      type="button"
      title={children === undefined ? label : undefined}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={isOpen}
      onClick={({ currentTarget }) => void open(currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return;
        event.preventDefault();
        event.stopPropagation();
        void open(event.currentTarget);
      }}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}
