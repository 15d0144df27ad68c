import type { ComponentChildren } from 'preact';
import './notice.css';

interface NoticeProps {
  icon: ComponentChildren;
  title: string;
  children?: ComponentChildren;
  /** Links and buttons: what can be done. */
  actions?: ComponentChildren;
  /** Whether it tells of something that went wrong, and is read out. */
  isAlert?: boolean;
}

/** Words in the place of a preview. */
export function Notice({ icon, title, children, actions, isAlert = false }: NoticeProps) {
  return (
    <div class="preview-notice" role={isAlert ? 'alert' : undefined}>
      {icon}
      <p class="title">{title}</p>
      {children !== undefined && <div class="more">{children}</div>}
      {actions !== undefined && <div class="actions">{actions}</div>}
    </div>
  );
}
