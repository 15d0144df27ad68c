import type { FileEntry } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';

/**
 * Returns the URL of the content of a file for an element. Each ETag has its own URL, because browsers show an element of the
 * same document with the content that they loaded before, without a request. The service ignores `v`.
 */
export function contentUrl(urls: Urls, { path, etag }: FileEntry): string {
  return `${urls.file(path)}?v=${encodeURIComponent(etag)}`;
}
