import type { FileEntry } from '../../../platform/service/service.ts';
import { useFullLanguage } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { EntryIcon } from '../../folder/thumbnail.tsx';
import { useAccount, useService, useUrls } from '../../models.ts';
import { contentUrl } from '../content-url.ts';
import { ContentProblem, DownloadLink } from '../file-notices.tsx';
import { Loading, Notice } from '../notices.tsx';
import type { PreviewProps } from '../viewer-tools.ts';

/** Shows a PDF in the browser's viewer, if the browser has one. */
export function PdfPreview({ entry }: PreviewProps) {
  const urls = useUrls();
  const { text } = useFullLanguage();
  const url = contentUrl(urls, entry);
  if (navigator.pdfViewerEnabled) return <Framed entry={entry} url={url} />;

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

/** With access control, checks first that the service returns the file: a frame does not report errors. */
function Framed({ entry, url }: { entry: FileEntry; url: string }) {
  const account = useAccount();
  const service = useService();
  const checked = useLoaded(async (signal) => account && service.check(entry.path, signal), [entry.path]);
  if (account && checked.state === 'loading') return <Loading />;
  if (checked.state === 'failed') return <ContentProblem entry={entry} error={checked.error} onRetry={checked.retry} />;
  return <iframe class="pdf-preview" src={url} title={entry.name} />;
}
