import { createHmac, hash } from 'node:crypto';
import type { Credentials } from './credentials.ts';
import { percentEncode } from './keys.ts';

/** A request in the form in which it is sent. */
export interface SignableRequest {
  readonly method: string;
  /** The path, with each byte percent-encoded once. */
  readonly path: string;
  readonly query: Query;
  /** Headers by lower-case name, including `host`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Unencoded parameters by name. Parameters with an undefined value are omitted. */
export type Query = Readonly<Record<string, string | undefined>>;

/**
 * The characters of header values that count as spaces. AWS and Ceph treat only ASCII spaces as such; servers written in
 * Go, such as MinIO, also the white space of Unicode.
 */
export type SpaceRule = 'ascii' | 'unicode';

/**
 * Signs requests to Amazon S3 with AWS Signature Version 4 in its S3 form: paths are encoded once and not normalized. A
 * payload is covered by its hash, over HTTP and HTTPS, so that a proxy can't change it unnoticed.
 */
export class Signer {
  readonly #region: string;
  readonly #service: string;
  /** The last signing key. It is valid for one day and one secret; deriving it costs as much as the signature. */
  #signingKey = Buffer.alloc(0);
  #day = '';
  #secret = '';

  constructor(region: string, service = 's3') {
    this.#region = region;
    this.#service = service;
  }

  /** Returns all headers of the signed request, as of `time` (milliseconds since 1970). */
  sign(
    request: SignableRequest,
    payloadHash: string,
    credentials: Credentials,
    time: number,
    spaces: SpaceRule = 'ascii',
  ): Record<string, string> {
    const { method, path, query, headers } = request;
    const timestamp = timestampOf(time);
    const scope = this.#scopeOf(timestamp);
    const all: Record<string, string> = { ...headers, 'x-amz-content-sha256': payloadHash, 'x-amz-date': timestamp };
    if (credentials.sessionToken !== undefined) all['x-amz-security-token'] = credentials.sessionToken;
    const { lines, names } = canonicalHeaders(all, spaces);
    const canonical = `${method}\n${path}\n${queryString(query)}\n${lines}\n${names}\n${payloadHash}`;
    const signature = this.#signatureOf(canonical, scope, timestamp, credentials);
    all['authorization'] =
      `${ALGORITHM} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return all;
  }

  /** Returns the query of a presigned URL that is valid for `expires` seconds from `time`. */
  presign(request: SignableRequest, expires: number, credentials: Credentials, time: number): string {
    const { method, path, query, headers } = request;
    const timestamp = timestampOf(time);
    const scope = this.#scopeOf(timestamp);
    const { lines, names } = canonicalHeaders(headers, 'ascii');
    const search = queryString({
      ...query,
      'X-Amz-Algorithm': ALGORITHM,
      'X-Amz-Credential': `${credentials.accessKeyId}/${scope}`,
      'X-Amz-Date': timestamp,
      'X-Amz-Expires': String(expires),
      'X-Amz-Security-Token': credentials.sessionToken,
      'X-Amz-SignedHeaders': names,
    });
    const canonical = `${method}\n${path}\n${search}\n${lines}\n${names}\nUNSIGNED-PAYLOAD`;
    return `${search}&X-Amz-Signature=${this.#signatureOf(canonical, scope, timestamp, credentials)}`;
  }

  #scopeOf(timestamp: string): string {
    return `${timestamp.slice(0, 8)}/${this.#region}/${this.#service}/${TERMINATOR}`;
  }

  #signatureOf(canonical: string, scope: string, timestamp: string, { secretAccessKey }: Credentials): string {
    const text = `${ALGORITHM}\n${timestamp}\n${scope}\n${hash('sha256', canonical)}`;
    return hmac(this.#keyFor(timestamp.slice(0, 8), secretAccessKey), text).digest('hex');
  }

  #keyFor(day: string, secret: string): Buffer {
    if (day !== this.#day || secret !== this.#secret) {
      const steps = [day, this.#region, this.#service, TERMINATOR];
      this.#signingKey = steps.reduce((key, step) => hmac(key, step).digest(), Buffer.from(`AWS4${secret}`));
      this.#day = day;
      this.#secret = secret;
    }
    return this.#signingKey;
  }
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
const TERMINATOR = 'aws4_request';

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text);

/** The payload hash of a request without a body. */
export const EMPTY_HASH = hash('sha256', '');

/** Returns the value of `x-amz-content-sha256` for a request body. */
export const payloadHash = (body: Buffer | undefined): string =>
  body === undefined || body.length === 0 ? EMPTY_HASH : hash('sha256', body);

/** Formats a time as `20260131T235959Z`. */
const timestampOf = (time: number) => `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** Returns the encoded parameters sorted by encoded name, as they are sent and signed. */
export function queryString(query: Query): string {
  const parameters: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.push(`${percentEncode(name)}=${percentEncode(value)}`);
  }
  // Compare names only: "=" sorts after "-" and digits, so comparing "name=value" misplaces a name that is a prefix.
  return parameters.length > 1 ? parameters.toSorted(byName).join('&') : parameters.join('');
}

function byName(left: string, right: string): number {
  return nameOf(left) < nameOf(right) ? -1 : 1;
}

const nameOf = (parameter: string) => parameter.slice(0, parameter.indexOf('='));

function canonicalHeaders(
  headers: Readonly<Record<string, string>>,
  spaces: SpaceRule,
): { lines: string; names: string } {
  const sorted = Object.keys(headers).toSorted();
  let lines = '';
  for (const name of sorted) lines += `${name}:${canonicalValue(headers[name] ?? '', spaces)}\n`;
  return { lines, names: sorted.join(';') };
}

/** Removes spaces at both ends, and reduces each sequence of spaces to one. */
function canonicalValue(value: string, spaces: SpaceRule): string {
  if (WITHOUT_SPACES.test(value)) return value;
  if (spaces === 'unicode') return value.replaceAll(UNICODE_SPACES, ' ').replace(/^ | $/g, '');
  return trimBlanks(value.replaceAll(/ +/g, ' '));
}

/** Removes spaces and tabs at both ends, in linear time. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

const isBlank = (character: string | undefined) => character === ' ' || character === '\t';

const WITHOUT_SPACES = /^[!-~]*$/;

/** The white space of Unicode, as Go defines it (`unicode.IsSpace`). */
const UNICODE_SPACES = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/** Returns whether both rules for spaces result in the same signature. */
export function isSameByAllRules(headers: SignableRequest['headers']): boolean {
  return canonicalHeaders(headers, 'ascii').lines === canonicalHeaders(headers, 'unicode').lines;
}
