import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseKeptId } from '../model/kept-ids.ts';
import { encodePath, type FilePath } from '../model/path.ts';
import type { DownloadGrant, UrlSigner } from '../model/url-signer.ts';
import { HttpError } from './errors.ts';

/** A grant whose version is not parsed. */
type UnparsedGrant = Omit<DownloadGrant, 'version'> & { readonly version?: string | undefined };

/** Path prefix of signed URLs. */
export const SIGNED_URL_PREFIX = '/-/signed/';

const HOW_TO_RENEW = 'Request the file under /file/ for a new URL.';

/** Signs URLs of the service with an HMAC-SHA-256 over the path and all parameters, and verifies them. */
export class SignedUrls implements UrlSigner {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  sign(grant: DownloadGrant): string {
    return `${SIGNED_URL_PREFIX}${encodePath(grant.file)}?${this.#queryOf(grant)}`;
  }

  /**
   * Returns the grant in a query for `file`. Throws `invalid-signature` unless the signature is valid for this key,
   * file and query, and `url-expired` if the URL has expired at `now` (milliseconds since 1970).
   */
  verify(file: FilePath, query: string, now: number): DownloadGrant {
    const parameters = new URLSearchParams(query);
    const download = parameters.get('download') === '1';
    const version = parameters.get('version') ?? undefined;
    const grant = { file, version, expires: Number(parameters.get('expires')), download };
    const received = Buffer.from(query);
    // Signs the parsed grant again and compares the whole query, so that parameters can't be added, removed or
    // reordered.
    const expected = Buffer.from(this.#queryOf(grant));
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) {
      throw new HttpError('invalid-signature', `The signature of this URL is not valid. ${HOW_TO_RENEW}`);
    }
    if (grant.expires * 1000 <= now) {
      throw new HttpError('url-expired', `This URL has expired. ${HOW_TO_RENEW}`);
    }
    return { file, expires: grant.expires, download, ...(version !== undefined && { version: parseKeptId(version) }) };
  }

  #queryOf({ file, version, expires, download }: UnparsedGrant): string {
    const query = new URLSearchParams({ expires: String(expires) });
    if (version !== undefined) query.set('version', version);
    if (download) query.set('download', '1');
    query.set('signature', createHmac('sha256', this.#key).update(`${query.toString()}\n${file}`).digest('base64url'));
    return query.toString();
  }
}
