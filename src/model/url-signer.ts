import type { KeptId } from './kept-ids.ts';
import type { FilePath } from './path.ts';

/**
 * The access that a signed URL grants: reading one file, or one version of it, until `expires` (seconds since 1970), as
 * an attachment or not.
 */
export interface DownloadGrant {
  readonly file: FilePath;
  readonly version?: KeptId | undefined;
  readonly expires: number;
  readonly download: boolean;
}

/** Creates signed URLs of the service, for files that the store has no presigned URLs for. */
export interface UrlSigner {
  /** Returns the path and query of a URL that grants access without authentication. */
  sign(grant: DownloadGrant): string;
}

/** Minimum length of a signing key in bytes: the output length of the hash (RFC 2104, section 3). */
export const MIN_KEY_BYTES = 32;
