import type { ComponentChild } from 'preact';
import type { FileEntry } from '../../../platform/service/service.ts';
import { useLanguageSignal } from '../../../platform/text/language-context.ts';
import { useLoaded } from '../../../ui/use-loaded.ts';
import { useService } from '../../models.ts';
import { ContentProblem } from '../content-problem.tsx';
import { Loading } from '../loading.tsx';
import { NoPreview } from '../no-preview.tsx';
import { readWholeText } from './read-text.ts';

/** What `children` makes of the whole text of a file, once that is there. */
export function FileText({ entry, children }: { entry: FileEntry; children: (text: string) => ComponentChild }) {
  const service = useService();
  const language = useLanguageSignal();
  const { tag } = language.value;
  const loaded = useLoaded((signal) => readWholeText({ service, language: tag }, entry, signal));

  if (loaded.state === 'loading') return <Loading />;
  if (loaded.state === 'failed') return <ContentProblem entry={entry} error={loaded.error} onRetry={loaded.retry} />;
  if (loaded.value === undefined) return <NoPreview entry={entry} />;
  if (loaded.value.trim() === '') return <NoPreview entry={{ ...entry, size: 0 }} />;
  return <>{children(loaded.value)}</>;
}
