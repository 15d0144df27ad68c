import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';
import './controls.css';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** `primary` for the most likely action, `danger` for actions that destroy data. Default: `plain`. */
  kind?: 'plain' | 'primary' | 'danger';
  type?: 'button' | 'submit';
  disabled?: boolean;
  autofocus?: boolean;
  /** The accessible name, if the content is not unique. It must contain the content. */
  label?: string;
  onClick?: (event: MouseEvent) => void;
}

export function Button({ children, icon, kind = 'plain', type = 'button', label, ...rest }: ButtonProps) {
  return (
    <button class={`button ${kind}`} type={type} aria-label={label} {...rest}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

interface IconButtonProps {
  icon: IconName;
  /** The accessible name, also shown on hover. */
  label: string;
  /** The keyboard shortcut, shown with the label. */
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
