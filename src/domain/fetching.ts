import { isStoreError, quoted, StoreError } from './error.ts';
import type { Fetched, Files, FilesOptions } from './files.ts';
import type { FileEntry, Store } from './store.ts';
import { signedPath } from './url-signer.ts';

/** Files of this many bytes and more are not served directly, but by a presigned URL: the 6 MB of the interface. */
const DIRECT_LIMIT = 6 * 1024 * 1024;

/** How files get to who asks for them: themselves, or by a URL. */
export function createFetching(
  store: Store,
  { presignExpires, contents }: Pick<FilesOptions, 'presignExpires' | 'contents'>,
): Pick<Files, 'fetch' | 'atHand' | 'locate'> {
  const presign = async (file: FileEntry, options: Parameters<Files['locate']>[1]) =>
    file.size < DIRECT_LIMIT ? undefined : store.presign?.(file, { ...options, expires: presignExpires });

  const locate: Files['locate'] = async (file, options) => {
    const presigned = await presign(file, options);
    if (contents && !presigned?.startsWith('http')) {
      const { origin, signer } = contents;
      const expires = lastingUntil(presignExpires, Date.now());
      return origin + (presigned ?? signedPath(signer, { file: file.path, expires, download: options.download }));
    }
    if (presigned === undefined && file.size >= DIRECT_LIMIT) throw hasNoUrl(file);
    return presigned;
  };

  const fetchDirectly: Files['fetch'] = async (file, { download, ...options }): Promise<Fetched> => {
    const content = await store.read(file, { ...options, ifBelow: DIRECT_LIMIT }).catch(async (error: unknown) => {
      if (!isStoreError(error, 'range-unsatisfiable')) throw error;
      // A file that is not given directly has no ranges here.
      const entry = await store.stat(file, options);
      const location = await locate(entry, { download, purpose: 'read', signal: options.signal });
      if (location === undefined) throw error;
      return { location };
    });
    if ('location' in content) return content;
    if (content.file.size < DIRECT_LIMIT) return { content };
    content.body.destroy();
    const location = await locate(content.file, { download, purpose: 'read', signal: options.signal });
    return location === undefined ? { content } : { location };
  };

  return {
    locate,
    atHand: (file) => (contents ? undefined : store.atHand?.(file)),
    async fetch(file, options) {
      if (!contents) return fetchDirectly(file, options);
      const { download, signal } = options;
      const location = await locate(await store.stat(file, { signal }), { download, purpose: 'read', signal });
      return location === undefined ? fetchDirectly(file, options) : { location };
    },
  };
}

/**
 * When a URL expires that is good for `seconds` at the most, in seconds since 1970: at a time of which there are few, so
 * that a file has the same URL for a while, by which browsers know what they have kept.
 */
function lastingUntil(seconds: number, now: number): number {
  const step = Math.max(1, Math.floor(seconds / 4));
  return Math.floor((now / 1000 + seconds) / step) * step;
}

function hasNoUrl(file: FileEntry): StoreError {
  return new StoreError(
    'too-large',
    `The file ${quoted(file.path)} has ${file.size} bytes. Files of ${DIRECT_LIMIT} bytes (6 MB) and more are ` +
      'fetched by a presigned URL, and this store has none.',
  );
}
