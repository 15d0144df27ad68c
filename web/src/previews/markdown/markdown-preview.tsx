import { FileText } from '../text/file-text.tsx';
import { WithSource } from '../text/with-source.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { Markdown } from './markdown.tsx';

/** Markdown as it is meant to be read. */
export function MarkdownPreview({ entry, viewer }: PreviewProps) {
  return (
    <FileText entry={entry}>
      {(source) => (
        <WithSource name={entry.name} text={source} viewer={viewer}>
          <Markdown entry={entry} source={source} />
        </WithSource>
      )}
    </FileText>
  );
}
