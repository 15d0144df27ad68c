import { createHmac, timingSafeEqual } from 'node:crypto';
import { StoreError } from './error.ts';
import type { FilePath } from './path.ts';

/**
 * The access that a signed URL grants: reading one file until `expires` (seconds since 1970), as an attachment or
 * not.
 */
export interface Grant {
  readonly file: FilePath;
  readonly expires: number;
  readonly download: boolean;
}

/** Creates and verifies the query of signed URLs: an HMAC-SHA-256 over the path and all parameters. */
export interface UrlSigner {
  sign(grant: Grant): URLSearchParams;
  /**
   * Returns the grant in a query for `file`. Throws `denied` if the signature is not valid for this key, file and
   * query, or if the URL has expired at `now` (milliseconds since 1970).
   */
  verify(file: FilePath, query: string, now: number): Grant;
}

/** Returns the path and query of a signed URL. It grants access without authentication. */
export function signedPath(signer: UrlSigner, grant: Grant): string {
  return `/-/signed/${grant.file.split('/').map(encodeURIComponent).join('/')}?${signer.sign(grant).toString()}`;
}

/** Minimum length of a key in bytes: the output length of the hash (RFC 2104, section 3). */
export const MIN_KEY_BYTES = 32;

export function createUrlSigner(key: Buffer): UrlSigner {
  const sign = (grant: Grant): URLSearchParams => {
    const query = new URLSearchParams({ expires: String(grant.expires) });
    if (grant.download) query.set('download', '1');
    query.set('signature', createHmac('sha256', key).update(`${query.toString()}\n${grant.file}`).digest('base64url'));
    return query;
  };

  return {
    sign,
    verify(file, text, now) {
      const query = new URLSearchParams(text);
      const grant = { file, expires: Number(query.get('expires')), download: query.get('download') === '1' };
      const given = Buffer.from(text);
      // Signs the parsed grant again and compares the whole query, so that parameters can't be added, removed or
      // reordered.
      const expected = Buffer.from(sign(grant).toString());
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new StoreError('denied', 'The signature of this URL is not valid: ask for a new one under /file/.');
      }
      if (grant.expires * 1000 <= now) {
        throw new StoreError('denied', 'This URL has expired: ask for a new one under /file/.');
      }
      return grant;
    },
  };
}
