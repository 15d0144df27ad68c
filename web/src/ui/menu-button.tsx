import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';
import type { IconName } from './icons.ts';
import { type MenuGroup, type OpenMenu, useMenus } from './menus.ts';

interface MenuButtonProps {
  /** What the menu is called, and the button where it has no words of its own. */
  label: string;
  groups: () => readonly MenuGroup[];
  icon?: IconName;
  /** Words on the button, which are part of `label` or stand for it. */
  children?: ComponentChildren;
  class?: string;
}

/** A button that opens a menu, and closes it when pressed again. */
export function MenuButton({ label, groups, icon, children, class: className }: MenuButtonProps) {
  const menus = useMenus();
  const opened = useRef<OpenMenu | null>(null);
  const isOpen = opened.current !== null && menus.shown.value === opened.current;

  const open = (button: HTMLElement) => {
    // Safari does not focus what is clicked, and the focus has to come back here.
    button.focus();
    const { left, top, right, bottom } = button.getBoundingClientRect();
    opened.current = { label, groups: groups(), at: { left, top, right, bottom } };
    menus.open(opened.current);
  };

  return (
    <button
      class={className ?? (children === undefined ? 'icon-button' : 'button plain')}
      type="button"
      title={children === undefined ? label : undefined}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={isOpen}
      onClick={({ currentTarget }) => open(currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return;
        event.preventDefault();
        event.stopPropagation();
        open(event.currentTarget);
      }}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}
