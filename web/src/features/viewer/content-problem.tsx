import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { StoreRefusal } from '../../platform/service/content.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { DownloadLink } from './download-link.tsx';
import { MissingFile } from './missing-file.tsx';
import { Notice } from './notice.tsx';

/** Why the contents of a file could not be read, and what can be done about it. */
export function ContentProblem({ entry, error, onRetry }: { entry: FileEntry; error: Error; onRetry: () => void }) {
  const language = useFullLanguage();
  const { text } = language;
  if (error instanceof ServiceError && error.isNotFound) return <MissingFile />;
  const { title, more } = describe(error, language);
  const actions = (
    <>
      <DownloadLink entry={entry} />
      <Button kind="primary" onClick={onRetry}>
        {text.controls.retry}
      </Button>
    </>
  );
  return (
    <Notice icon={<Icon name="warning" />} title={title} actions={actions} isAlert>
      {more}
    </Notice>
  );
}

function describe(error: Error, language: FullLanguage): { title: string; more: string } {
  const { errors, previews, problems } = language.text;
  if (error instanceof StoreRefusal) return { title: previews.storeRefuses, more: previews.storeRefusesHint };
  if (!(error instanceof ServiceError)) return { title: previews.unreadable, more: errors['invalid-request'] };
  if (error.status === 0) return { title: problems.unreachable, more: previews.unreachableHint };
  return { title: previews.unreadable, more: language.reasonOf(error) };
}
