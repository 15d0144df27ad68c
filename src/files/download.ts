import { isStoreError, quoted, StoreError } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import type { FilePath } from '../model/path.ts';
import type { ByteRange } from '../model/range.ts';
import type { Cancellable, Content, FileEntry, Store } from '../model/store.ts';
import type { DownloadGrant, UrlSigner } from '../model/url-signer.ts';
import type { VersionOperations } from './versions.ts';

/**
 * Maximum size of a file whose content the service sends itself: just below 6 MiB (6,291,456 bytes), the limit of the
 * HTTP API. Larger files are downloaded by a presigned URL of the store, or by a signed URL of the service.
 */
const MAX_DIRECT_BYTES = 6 * 1024 * 1024 - 1;

export interface ContentOptions {
  /** Lifetime of a presigned URL in seconds. */
  readonly presignExpires: number;
  /** Signs URLs of the service for files without a presigned URL; undefined if the service serves only small files. */
  readonly signer?: UrlSigner | undefined;
  /**
   * The URL of the service for file contents, without a trailing slash. If set, files without a presigned URL are
   * always downloaded from there; otherwise, the service sends small files directly.
   */
  readonly contentUrl?: string | undefined;
}

/** How a client gets a file: the content, or the URL to redirect to. */
export type Download = { readonly content: Content } | { readonly url: string };

/** The range and the version to read. */
export type ReadOptions = {
  readonly range?: ByteRange;
  readonly ifMatch?: string;
  readonly isOnce?: boolean;
} & Cancellable;

/** `asAttachment`: browsers save the file instead of displaying it. */
export type DownloadOptions = ReadOptions & { readonly asAttachment: boolean };

/** Decides how clients get the content of files: from the service, or by a URL. */
export class Downloads {
  readonly #store: Store;
  readonly #options: ContentOptions;

  readonly #versions: Pick<VersionOperations, 'statVersion' | 'readVersion'>;

  constructor(store: Store, versions: Pick<VersionOperations, 'statVersion' | 'readVersion'>, options: ContentOptions) {
    this.#store = store;
    this.#versions = versions;
    this.#options = options;
  }

  /** See `Files.download`. */
  async download(path: FilePath, options: DownloadOptions): Promise<Download> {
    if (this.#options.contentUrl === undefined) return this.#openSmall(path, options);
    const url = await this.#urlOf(await this.#store.stat(path, options), options);
    return url === undefined ? this.#openSmall(path, options) : { url };
  }

  /** See `Files.downloadUrl`. */
  async downloadUrl(
    file: FileEntry,
    { asAttachment, purpose, signal }: { asAttachment: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string | undefined> {
    const { presignExpires, signer, contentUrl } = this.#options;
    const isDirect = file.size <= MAX_DIRECT_BYTES;
    const options = { download: asAttachment, purpose, expires: presignExpires, signal };
    const presigned = isDirect ? undefined : await this.#store.presign?.(file, options);
    if (presigned !== undefined || (isDirect && contentUrl === undefined)) return presigned;
    if (!signer) throw noDownloadUrl(file);
    return this.#sign(signer, { file: file.path, download: asAttachment });
  }

  /** See `Files.downloadVersion`. */
  async downloadVersion(path: FilePath, id: KeptId, options: DownloadOptions): Promise<Download> {
    const { range, ifMatch, signal } = options;
    const file = await this.#versions.statVersion(path, id, { signal });
    const url = this.versionUrl(file, id, options);
    if (url !== undefined) return { url };
    return { content: await this.#versions.readVersion(path, id, { range, ifMatch, signal }) };
  }

  /** See `Files.versionUrl`. */
  versionUrl(file: FileEntry, version: KeptId, { asAttachment }: { asAttachment: boolean }): string | undefined {
    const { signer, contentUrl } = this.#options;
    // Stores have presigned URLs only for the current content. Without URLs of its own, the service sends any version.
    const isDirect = file.size <= MAX_DIRECT_BYTES || !signer;
    if (contentUrl === undefined && isDirect) return undefined;
    if (!signer) throw noDownloadUrl(file);
    return this.#sign(signer, { file: file.path, version, download: asAttachment });
  }

  /** See `Files.readCached`. */
  readCached(file: FilePath): ReturnType<NonNullable<Store['readCached']>> {
    return this.#options.contentUrl === undefined ? this.#store.readCached?.(file) : undefined;
  }

  #sign(signer: UrlSigner, grant: Omit<DownloadGrant, 'expires'>): string {
    const { presignExpires, contentUrl } = this.#options;
    const expires = expiryAfter(presignExpires, { now: Date.now(), isCacheable: contentUrl !== undefined });
    return (contentUrl ?? '') + signer.sign({ ...grant, expires });
  }

  /** Returns the URL of a file to read; undefined if the service sends the content. */
  #urlOf(file: FileEntry, { asAttachment, signal }: DownloadOptions): Promise<string | undefined> {
    return this.downloadUrl(file, { asAttachment, purpose: 'read', signal });
  }

  async #openSmall(path: FilePath, options: DownloadOptions): Promise<Download> {
    const { range, ifMatch, signal } = options;
    let content: Content;
    try {
      content = await this.#store.read(path, { range, ifMatch, signal, maxSize: MAX_DIRECT_BYTES });
    } catch (error) {
      if (!isStoreError(error, 'range-unsatisfiable')) throw error;
      // Ranges apply only to files that the service serves directly. A larger file gets a redirect for any range.
      const url = await this.#urlOf(await this.#store.stat(path, options), options);
      if (url === undefined) throw error;
      return { url };
    }
    if (content.file.size <= MAX_DIRECT_BYTES) return { content };
    content.body.destroy();
    const url = await this.#urlOf(content.file, options);
    return url === undefined ? { content } : { url };
  }
}

/**
 * Returns the expiry of a URL that is valid for `seconds`, in seconds since 1970. For a cacheable URL, the expiry is
 * rounded down by up to a quarter of that, so that a file has the same URL for a while and browsers can cache its
 * content. `now` is in milliseconds since 1970.
 */
function expiryAfter(seconds: number, { now, isCacheable }: { now: number; isCacheable: boolean }): number {
  const step = isCacheable ? Math.max(1, Math.floor(seconds / 4)) : 1;
  return Math.floor((now / 1000 + seconds) / step) * step;
}

function noDownloadUrl(file: FileEntry): StoreError {
  return new StoreError(
    'no-download-url',
    `The file ${quoted(file.path)} has ${file.size} bytes. Files of ${MAX_DIRECT_BYTES + 1} bytes (6 MB) and more are ` +
      'downloaded through presigned URLs, which this store does not support.',
  );
}
