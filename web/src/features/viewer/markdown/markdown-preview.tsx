import { useLoaded } from '../../../ui/use-loaded.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { Loading } from '../loading.tsx';
import { NotLoadedNotice } from '../not-loaded-notice.tsx';
import { ElseText } from '../text/else-text.tsx';
import { FileText } from '../text/file-text.tsx';
import { TextInstead } from '../text/text-instead.tsx';
import { WithSource } from '../text/with-source.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import { Markdown } from './markdown.tsx';

/** Renders Markdown. */
export function MarkdownPreview({ entry, viewer }: PreviewProps) {
  return <FileText entry={entry}>{(source) => <Parsed {...{ entry, viewer, source }} />}</FileText>;
}

function Parsed({ entry, viewer, source }: PreviewProps & { source: string }) {
  const { text } = useFullLanguage();
  const { footnotes, backToText, markdownFailed, markdownEmpty } = text.previews;
  const parsed = useLoaded(
    (signal) => runJob({ kind: 'markdown', text: source, labels: { footnotes, backToText } }, signal),
    [source, text],
  );
  if (parsed.state === 'loading') return <Loading />;
  if (parsed.state === 'failed' && parsed.error instanceof WorkerNotLoaded) {
    return <NotLoadedNotice retry={parsed.retry} />;
  }
  const tree = parsed.state === 'ready' ? parsed.value : undefined;
  if (tree === undefined) return <TextInstead {...{ entry, viewer }} reason={markdownFailed} />;
  if (tree === 'nothing') return <TextInstead {...{ entry, viewer }} reason={markdownEmpty} />;
  return (
    <ElseText {...{ entry, viewer }} reason={markdownFailed}>
      <WithSource name={entry.name} text={source} viewer={viewer}>
        <Markdown entry={entry} tree={tree} />
      </WithSource>
    </ElseText>
  );
}
