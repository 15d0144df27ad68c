import { EntryIcon } from '../../folder/entry-icon.tsx';
import { useLanguage, usePage } from '../../page.ts';
import { DownloadLink } from '../download-link.tsx';
import { Notice } from '../notice.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import './pdf-preview.css';

/** A PDF in the viewer of the browser, where it has one. */
export function PdfPreview({ entry }: PreviewProps) {
  const { urls } = usePage();
  const { text } = useLanguage();
  const url = urls.file(entry.path);
  if (navigator.pdfViewerEnabled) return <iframe class="pdf" src={url} title={entry.name} />;

  const actions = (
    <>
      <DownloadLink entry={entry} />
      <a class="button primary" href={url} target="_blank" rel="noopener noreferrer">
        {text.actions.open}
      </a>
    </>
  );
  return <Notice icon={<EntryIcon entry={entry} />} title={text.previews.noPdfViewer} actions={actions} />;
}
