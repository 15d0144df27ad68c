import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/use-loaded.ts';
import { isPageReplaced } from '../../platform/page-version.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Loading } from './loading.tsx';
import { Notice } from './notice.tsx';

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
      title={isReplaced ? text.problems.replaced : text.problems.previewNotLoaded}
      actions={
        <Button kind="primary" onClick={isReplaced ? () => window.location.reload() : retry}>
          {isReplaced ? text.controls.reload : text.controls.retry}
        </Button>
      }
      isAlert
    />
  );
}
