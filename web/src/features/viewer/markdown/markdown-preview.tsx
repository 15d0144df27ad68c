import { useFullLanguage } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { WholeText, WithSource } from '../text/rendered-text.tsx';
import { TextErrorBoundary, TextFallback } from '../text/text-fallback.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import { Markdown } from './markdown.tsx';

/** Renders Markdown. */
export function MarkdownPreview({ entry, viewer }: PreviewProps) {
  return <WholeText entry={entry}>{(source) => <Parsed {...{ entry, viewer, source }} />}</WholeText>;
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
  if (tree === undefined) return <TextFallback {...{ entry, viewer }} reason={markdownFailed} />;
  if (tree === 'nothing') return <TextFallback {...{ entry, viewer }} reason={markdownEmpty} />;
  return (
    <TextErrorBoundary {...{ entry, viewer }} reason={markdownFailed}>
      <WithSource name={entry.name} text={source} viewer={viewer}>
        <Markdown entry={entry} tree={tree} />
      </WithSource>
    </TextErrorBoundary>
  );
}
