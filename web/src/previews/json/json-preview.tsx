import { useMemo } from 'preact/hooks';
import { useLanguage } from '../../page.ts';
import { FileText } from '../text/file-text.tsx';
import { WholeSource } from '../text/whole-source.tsx';
import { WithSource } from '../text/with-source.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { JsonTree } from './json-tree.tsx';
import { parseJson } from './parse-json.ts';

/** JSON as a tree that folds; as text where it is none. */
export function JsonPreview({ entry, viewer }: PreviewProps) {
  return <FileText entry={entry}>{(source) => <Json name={entry.name} source={source} viewer={viewer} />}</FileText>;
}

function Json({ name, source, viewer }: Pick<PreviewProps, 'viewer'> & { name: string; source: string }) {
  const { text } = useLanguage();
  const parsed = useMemo(() => parseJson(source), [source]);
  if (parsed === undefined) {
    return (
      <>
        <p class="preview-remark">{text.previews.invalidJson}</p>
        <WholeSource name={name} text={source} viewer={viewer} />
      </>
    );
  }
  return (
    <WithSource name={name} text={source} viewer={viewer}>
      <JsonTree name={name} value={parsed.value} />
    </WithSource>
  );
}
