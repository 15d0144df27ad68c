import { parseFile } from '../../domain/path.ts';
import type { Store } from '../../domain/store.ts';

/**
 * Where the URLs of a bucket's objects lead: the store's own, and those of a public bucket. The client alone knows the
 * hosts of all regions and ways of addressing, and so it is asked for a URL; that sends nothing.
 */
export async function bucketOrigins({ presign }: Store, publicUrl: string | undefined): Promise<readonly string[]> {
  const urls = [await presign?.(SAMPLE, { expires: 1, download: false, purpose: 'read' }), publicUrl];
  return [...new Set(urls.filter((url) => url !== undefined).map((url) => new URL(url).origin))];
}

const SAMPLE = {
  kind: 'file',
  path: parseFile('sample'),
  size: 0,
  etag: '',
  modified: null,
  type: 'application/octet-stream',
} as const;
