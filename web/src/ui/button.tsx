import type { ComponentChildren } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icons.ts';
import './controls.css';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** `plain` beside others, `primary` for what is most likely wanted, `danger` for what destroys. */
  kind?: 'plain' | 'primary' | 'danger';
  type?: 'button' | 'submit';
  disabled?: boolean;
  autofocus?: boolean;
  onClick?: (event: MouseEvent) => void;
}

export function Button({ children, icon, kind = 'plain', type = 'button', ...rest }: ButtonProps) {
  return (
    <button class={`button ${kind}`} type={type} {...rest}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

interface IconButtonProps {
  icon: IconName;
  /** What it does, for those who don't see the icon and on hover for those who do. */
  label: string;
  /** The key that does the same, shown with the label. */
  shortcut?: string | undefined;
  pressed?: boolean;
  disabled?: boolean;
  onClick: (event: MouseEvent) => void;
}

export function IconButton({ icon, label, shortcut, pressed, disabled = false, onClick }: IconButtonProps) {
  return (
    <button
      class="icon-button"
      type="button"
      aria-label={label}
      title={shortcut === undefined ? label : `${label} (${shortcut})`}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
