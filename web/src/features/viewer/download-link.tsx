import type { FileEntry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import { useUrls } from '../models.ts';

/** Downloads a file. A link, so that everything that a browser does with links can be done with it. */
export function DownloadLink({ entry, isPrimary = false }: { entry: FileEntry; isPrimary?: boolean }) {
  const urls = useUrls();
  const { text } = useLanguage();
  return (
    <a class={`button ${isPrimary ? 'primary' : 'plain'}`} href={urls.download(entry.path)} download={entry.name}>
      <Icon name="download" />
      <span>{text.actions.download}</span>
    </a>
  );
}
