import { Thumbnail } from '../folder/thumbnail.tsx';
import { typeLabel } from '../folder/type-label.ts';
import { splitName } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { DownloadLink } from './download-link.tsx';
import { Notice } from './notice.tsx';

/** The details, thumbnail and download button of a file without a preview. `reason` explains why there is none. */
export function NoPreview({ entry, reason, hint }: { entry: FileEntry; reason?: string; hint?: string | undefined }) {
  const { text, formats } = useFullLanguage();
  const type = typeLabel(entry.contentType, text, splitName(entry.name).extension);
  const title = reason ?? (entry.size === 0 ? text.previews.empty : text.previews.none);
  return (
    <Notice icon={<Thumbnail entry={entry} />} title={title} actions={<DownloadLink entry={entry} isPrimary />}>
      {hint !== undefined && <p>{hint}</p>}
      <p class="numbers">
        {type} · {formats.size(entry.size)}
      </p>
    </Notice>
  );
}
