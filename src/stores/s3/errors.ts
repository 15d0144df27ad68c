import type { IncomingHttpHeaders } from 'node:http';
import { S3ServiceException } from '@aws-sdk/client-s3';
import { parseRetryAfter } from '../../model/dates.ts';
import { quoted, StoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import { networkProblem, RETRY_LATER_SECONDS, RETRY_SOON_SECONDS } from '../network.ts';
import type { Key } from './keys.ts';
import { NotXmlError } from './xml.ts';

/** What was asked, as far as an error has to say it. */
export interface RequestContext {
  readonly key: Key | undefined;
  readonly bucket: string;
  readonly endpoint: string | undefined;
}

/**
 * The error that callers act on, for one of the client or the store. An error that an operator has to set right names the
 * setting to look at. A response that is not known here is `unavailable`, with its status and code.
 */
export function toStoreError(error: unknown, asked: RequestContext): unknown {
  const refusal = errorResponseIn(error);
  if (refusal) return ofStore(refusal, asked) ?? unknown(refusal, asked);
  return ofNetwork(error, asked) ?? error;
}

/** The code of the store's response; its status if it has no code, as the response to HEAD. */
export const codeOf = (error: unknown): string | undefined => errorResponseIn(error)?.code;

/**
 * Whether the request that failed had been sent before: its first answer may have been lost, though what it asked
 * for was done.
 */
export const wasRetried = (error: unknown): boolean => (errorResponseIn(error)?.attempts ?? 1) > 1;

/** What a code means; by default, the code of the error. */
function ofStore(error: S3ErrorResponse, asked: RequestContext, code = error.code): StoreError | undefined {
  const { key } = asked;
  const kind = (kindOfError: StoreError['kind'], message: string) =>
    new StoreError(kindOfError, message, { cause: error });
  switch (code) {
    case '404':
    case 'NoSuchKey':
      return key === undefined ? misset(noBucket(asked), error) : notFound(key as FilePath, error);
    case 'NoSuchBucket':
      return misset(noBucket(asked), error);
    case 'InvalidBucketName':
      return misset(`${asked.bucket} (S3_BUCKET) is not the name of a bucket.`, error);
    // R2 answers 401 to a key that it does not know.
    case '401':
    case 'Unauthorized':
    case 'InvalidAccessKeyId':
      return misset('The object store does not know the access key in S3_ACCESS_KEY_ID.', error);
    case 'SignatureDoesNotMatch':
      return misset(
        'The object store refuses the signature: S3_SECRET_ACCESS_KEY does not belong to S3_ACCESS_KEY_ID.',
        error,
      );
    case 'ExpiredToken':
    case 'InvalidToken':
      return misset('The access key in S3_ACCESS_KEY_ID is a temporary one, or has expired.', error);
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return misset(
        "The clock of this machine differs from the object store's by more than it allows: set it right.",
        error,
      );
    case '301':
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return misset('The bucket is in another region: set S3_REGION to it, and S3_ENDPOINT to its address.', error);
    case '403':
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'AccountProblem':
      return kind(
        'denied',
        'The object store refuses this to the access key in S3_ACCESS_KEY_ID: it may lack a permission.',
      );
    case 'QuotaExceeded':
    case 'XMinioStorageFull':
    case 'InsufficientStorage':
    case '507':
      return new StoreError('unavailable', 'The object store is full, or its quota is used up.', {
        cause: error,
        retryAfter: 60,
      });
    case '412':
    case 'PreconditionFailed':
      return kind('condition-failed', `${subject(key)} is not in the state that the request is about.`);
    case '416':
    case 'InvalidRange':
      return kind(
        'range-unsatisfiable',
        `The range asked for is not within the bytes of ${subject(key).toLowerCase()}.`,
      );
    case 'InvalidObjectState':
      return kind(
        'denied',
        'The file is archived in the object store, and has to be restored there before it is read.',
      );
    // MinIO keeps objects as files, so that it can't hold one below another.
    case 'XMinioParentIsObject':
    case 'XMinioObjectExistsAsDirectory':
      return key === undefined ? undefined : kindConflict(key as FilePath, error);
    case 'XMinioInvalidObjectName':
      return kind('invalid-path', 'The object store takes no path of this kind.');
    case '413':
    case 'EntityTooLarge':
      return kind('too-large', 'The file is larger than the object store takes.');
    case 'KeyTooLongError':
      return kind('invalid-path', 'The object store takes no path of this length.');
    case '405':
    case 'MethodNotAllowed':
    case '501':
    case 'NotImplemented':
      return kind('unsupported', "The object store can't do this.");
    default:
      if (isPassing(error)) return busy(error);
      if (error.status === 403) return kind('denied', `The object store refuses this (${error.code}).`);
      // Compatible stores have codes of their own for what a status says clearly, such as "412 InvalidRequest".
      return STATUSES.has(error.status) && error.code !== String(error.status)
        ? ofStore(error, asked, String(error.status))
        : undefined;
  }
}

/** The statuses that have one meaning, whatever code comes with them. */
const STATUSES = new Set([404, 412, 413, 416]);

const noBucket = ({ bucket }: RequestContext) => `There is no bucket ${bucket}: look at S3_BUCKET and S3_ENDPOINT.`;

const subject = (key: Key | undefined) => (key === undefined ? 'The bucket' : 'The file');

/** A mistake in the settings, or about the machine: nothing works until a person sets it right. */
function misset(message: string, cause: unknown): StoreError {
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** Throttled, failing or contended: the same request may succeed a little later. */
function isPassing({ code, status }: S3ErrorResponse): boolean {
  return status === 429 || (status >= 500 && status !== 501) || PASSING.test(code);
}

const PASSING =
  /SlowDown|Throttl|TooManyRequests|RequestLimitExceeded|RequestTimeout|ConditionalRequestConflict|OperationAborted|NoSuchUpload|InternalError/;

function busy(error: S3ErrorResponse): StoreError {
  const retryAfter = error.retryAfter || RETRY_SOON_SECONDS;
  return new StoreError('unavailable', 'The object store is busy or failing.', { cause: error, retryAfter });
}

/** A response that is not known: of a proxy if it has no code of S3, or one with a code of a compatible store. */
function unknown(error: S3ErrorResponse, { endpoint }: RequestContext): StoreError {
  const { status, code, location = '' } = error;
  const name = nameStore(endpoint);
  if (status === 407) {
    const store = endpoint === undefined ? 'the object store' : `the object store at ${endpoint}`;
    const message = `A proxy before ${store} demands a username and password (407): allow this machine to pass without.`;
    return misset(message, error);
  }
  if (status > 300 && status < 400 && status !== 304) {
    // The query of a URL may hold a secret.
    const url = URL.parse(location);
    const to = url ? ` to ${quoted(url.origin + url.pathname)}` : '';
    return misset(`${name} redirects requests${to} (${status}): look at S3_ENDPOINT.`, error);
  }
  const what = code === String(status) ? `${status} without a code of S3` : `${status} ${quoted(code)}`;
  return misset(`${name} answered ${what}: look at S3_ENDPOINT and at the proxy.`, error);
}

/** What went wrong before there was an answer, or with what came instead of one. */
function ofNetwork(error: unknown, { endpoint }: RequestContext): StoreError | undefined {
  const problem = networkProblem(error, {
    name: nameStore(endpoint),
    setting: 'S3_ENDPOINT',
    nameSettings: 'S3_ENDPOINT, S3_REGION and S3_ADDRESSING',
  });
  if (problem || !(error instanceof Error)) return problem;
  // Neither we nor the client can read it: a web page, say, or a success without a body (`$metadata`).
  return error instanceof NotXmlError || '$response' in error || '$responseBodyText' in error || '$metadata' in error
    ? noStore(endpoint, error)
    : undefined;
}

/** Returns the ETag that every store gives to an object. A success without one is of a proxy, and nothing was done. */
export function requireStored(etag: string | undefined, endpoint: string | undefined): string {
  if (etag) return etag;
  throw noStore(endpoint);
}

/** What answers is something else than an object store. */
export function noStore(endpoint: string | undefined, cause?: unknown): StoreError {
  const message = `${nameStore(endpoint)} does not answer as an object store does: look at S3_ENDPOINT.`;
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** Returns the error for a part of a file that is not the requested one. */
export function partMismatch(endpoint: string | undefined): StoreError {
  const message = `${nameStore(endpoint)} returned another part of the file than Holdall asked for. Look for a proxy before the store that changes Range or Content-Range.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}

/** Returns the error for a listing of other keys than requested, for example from a cache that ignores the query. */
export function listingMismatch(endpoint: string | undefined): StoreError {
  const message = `${nameStore(endpoint)} lists other keys than Holdall asked for. Check S3_ENDPOINT, and look for a cache or proxy before the store.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}

export const nameStore = (endpoint: string | undefined) =>
  endpoint === undefined ? 'The object store' : `The object store at ${endpoint}`;

/** The answer by which a store refused a request, whoever sent it. Its message has the id by which the store's own log has it. */
export class S3ErrorResponse extends Error {
  override readonly name = 'Refusal';
  /** The code that the store gave; where the answer had none (to a HEAD, or of a proxy), its status. */
  readonly code: string;
  readonly status: number;
  /** Requests in all that were made of it. */
  attempts: number;
  /** The seconds after which the store wants to be asked again, where it says so. */
  readonly retryAfter: number | undefined;
  /** The header `Location`. */
  readonly location: string | undefined;
  /** Whether it told the store's time, and ours was found to be wrong by it: the next request is signed as of that. */
  readonly isClockCorrected: boolean;

  constructor(answer: ErrorResponse, options?: ErrorOptions) {
    const { status, headers, message = '', attempts = 1 } = answer;
    const code = answer.code === undefined || SAYS_NOTHING.has(answer.code) ? String(status) : answer.code;
    const requestId = answer.requestId ?? requestIdIn(headers);
    const whichRequest = requestId === undefined ? '' : ` (the store's request ${requestId})`;
    super(`${status} ${code}: ${message}${whichRequest}`, options);
    this.code = code;
    this.status = status;
    this.attempts = attempts;
    this.retryAfter = parseRetryAfter(headers['retry-after'], headers.date);
    this.location = headers.location;
    this.isClockCorrected = answer.isClockCorrected ?? false;
  }
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  readonly attempts?: number | undefined;
  readonly isClockCorrected?: boolean;
}

/** The refusal that an error is, of our own requests and of those of the client for S3. */
export function errorResponseIn(error: unknown): S3ErrorResponse | undefined {
  if (error instanceof S3ErrorResponse) return error;
  if (!(error instanceof S3ServiceException)) return undefined;
  const { name, message, $metadata, $response } = error;
  const answer = {
    status: $metadata.httpStatusCode ?? 0,
    headers: $response?.headers ?? {},
    code: name,
    message,
    requestId: $metadata.requestId,
    attempts: $metadata.attempts,
  };
  return new S3ErrorResponse(answer, { cause: error });
}

/** What the client calls errors that came without a body, and what is no more than the status. */
const SAYS_NOTHING = new Set(['', 'UnknownError', 'Unknown', 'NotFound', 'Forbidden', 'S3ServiceException', 'Error']);

/** What the store calls a request: the id by which its own log has it. */
export const requestIdIn = (headers: IncomingHttpHeaders): string | undefined => single(headers['x-amz-request-id']);

const single = (value: string | string[] | undefined) => (typeof value === 'string' ? value : value?.[0]);
