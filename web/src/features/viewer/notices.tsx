import type { ComponentChildren } from 'preact';
import { isPageReplaced } from '../../platform/embedded.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import './viewer.css';

interface NoticeProps {
  icon: ComponentChildren;
  title: string;
  children?: ComponentChildren;
  /** Links and buttons. */
  actions?: ComponentChildren;
  /** Whether screen readers announce the notice at once. */
  isAlert?: boolean;
}

/** A message instead of a preview. */
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

/** Shows that a preview is loading. It appears after a delay. */
export function Loading() {
  const { text } = useLanguage();
  return (
    <p class="preview-loading" role="status">
      {text.folder.loading}
    </p>
  );
}

/**
 * Reports that the code of a preview failed to load. After an upgrade, that code no longer exists, and only a reload
 * helps.
 */
export function NotLoadedNotice({ retry }: { retry: () => void }) {
  const { text } = useLanguage();
  const replaced = useLoaded(isPageReplaced);
  if (replaced.state === 'loading') return <Loading />;
  const isReplaced = replaced.state === 'ready' && replaced.value;
  return (
    <Notice
      icon={<Icon name="warning" />}
      title={isReplaced ? text.problems.newVersion : text.problems.previewNotLoaded}
      actions={
        <Button kind="primary" onClick={isReplaced ? () => window.location.reload() : retry}>
          {isReplaced ? text.controls.reload : text.controls.retry}
        </Button>
      }
      isAlert
    />
  );
}
