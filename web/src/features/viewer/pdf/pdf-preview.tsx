import { useLoaded } from '../../../ui/use-loaded.ts';
import { EntryIcon } from '../../folder/entry-icon.tsx';
import { usePage } from '../../page.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { ContentProblem } from '../content-problem.tsx';
import { DownloadLink } from '../download-link.tsx';
import { Loading } from '../loading.tsx';
import { Notice } from '../notice.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import './pdf-preview.css';

/** A PDF in the viewer of the browser, where it has one. */
export function PdfPreview({ entry }: PreviewProps) {
  const { urls } = usePage();
  const { text } = useFullLanguage();
  const url = urls.file(entry.path);
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

/** Where people sign in, the service is asked first: a frame tells nobody that the document was refused. */
function Framed({ entry, url }: { entry: FileEntry; url: string }) {
  const { account, service } = usePage();
  const checked = useLoaded(async (signal) => account && service.check(entry.path, signal), [entry.path]);
  if (account && checked.state === 'loading') return <Loading />;
  if (checked.state === 'failed') return <ContentProblem entry={entry} error={checked.error} onRetry={checked.retry} />;
  return <iframe class="pdf" src={url} title={entry.name} />;
}
