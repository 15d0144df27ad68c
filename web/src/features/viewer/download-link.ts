import type { FileEntry } from '../../platform/service/service.ts';
import { isPlainClick } from '../../ui/plain-click.ts';
import { useUrls, useVisit } from '../models.ts';

/**
 * Returns the attributes of a link that downloads a file. For a visitor, the page first checks whether the share link still
 * allows the download, because browsers don't show why a download fails.
 */
export function useDownloadLink({ path, name }: FileEntry) {
  const urls = useUrls();
  const visit = useVisit();
  const href = urls.download(path);
  const onClick = (event: MouseEvent) => {
    if (!visit || !isPlainClick(event)) return;
    event.preventDefault();
    void visit.download(href);
  };
  return { href, download: name, onClick };
}
