import type { ComponentChildren, Ref } from 'preact';
import { Icon } from './icon.tsx';
import type { IconName } from './icons.ts';
import './button.css';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** `plain` beside others, `primary` for what is most likely wanted, `danger` for what destroys. */
  kind?: 'plain' | 'primary' | 'danger';
  type?: 'button' | 'submit';
  disabled?: boolean;
  autofocus?: boolean;
  onClick?: (event: MouseEvent) => void;
  buttonRef?: Ref<HTMLButtonElement>;
}

export function Button({ children, icon, kind = 'plain', type = 'button', buttonRef, ...rest }: ButtonProps) {
  return (
    <button ref={buttonRef} class={`button ${kind}`} type={type} {...rest}>
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
  expanded?: boolean;
  disabled?: boolean;
  onClick: (event: MouseEvent) => void;
}

export function IconButton({ icon, label, shortcut, pressed, expanded, disabled = false, onClick }: IconButtonProps) {
  return (
    <button
      class="icon-button"
      type="button"
      aria-label={label}
      title={shortcut === undefined ? label : `${label} (${shortcut})`}
      aria-pressed={pressed}
      aria-haspopup={expanded === undefined ? undefined : 'menu'}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
