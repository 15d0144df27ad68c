import { createHmac, timingSafeEqual } from 'node:crypto';
import { StoreError } from './error.ts';
import type { FilePath } from './path.ts';

/** What a signed URL grants: the reading of one file, until `expires` (seconds since 1970), as an attachment or not. */
export interface Grant {
  readonly file: FilePath;
  readonly expires: number;
  readonly download: boolean;
}

/** Makes and checks the query of URLs that carry their own permission, with an HMAC-SHA-256 over all that they say. */
export interface UrlSigner {
  sign(grant: Grant): URLSearchParams;
  /**
   * The grant in a query for `file`. Throws `denied` when it was not made by this key for this file, says
   * anything else than what was signed, or has expired at `now` (milliseconds since 1970).
   */
  verify(file: FilePath, query: string, now: number): Grant;
}

/** The path and query at which the service gives a file to whoever has them. */
export function signedPath(signer: UrlSigner, grant: Grant): string {
  return `/-/signed/${grant.file.split('/').map(encodeURIComponent).join('/')}?${signer.sign(grant).toString()}`;
}

/** The shortest key that is accepted, in bytes: that of the hash (RFC 2104, section 3). */
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
      // What was signed is written anew and compared as a whole: nothing can be added, left out or written otherwise.
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
