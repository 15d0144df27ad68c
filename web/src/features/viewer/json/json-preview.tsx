import { useMemo } from 'preact/hooks';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { FileText } from '../text/file-text.tsx';
import { TextInstead } from '../text/text-instead.tsx';
import { WithSource } from '../text/with-source.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { JsonTree } from './json-tree.tsx';
import { parseJson } from './parse-json.ts';

/** JSON as a tree that folds; as text where it is none. */
export function JsonPreview({ entry, viewer }: PreviewProps) {
  return <FileText entry={entry}>{(source) => <Json {...{ entry, viewer, source }} />}</FileText>;
}

function Json({ entry, viewer, source }: PreviewProps & { source: string }) {
  const { text } = useFullLanguage();
  const parsed = useMemo(() => parseJson(source), [source]);
  if (parsed === 'invalid') return <TextInstead {...{ entry, viewer }} reason={text.previews.invalidJson} />;
  if (parsed === 'too deep') return <TextInstead {...{ entry, viewer }} reason={text.previews.deepJson} />;
  return (
    <WithSource name={entry.name} text={source} viewer={viewer}>
      <JsonTree name={entry.name} value={parsed} />
    </WithSource>
  );
}
