import type { IncomingHttpHeaders } from 'node:http';
import { S3ServiceException } from '@aws-sdk/client-s3';
import { parseRetryAfter } from '../../model/dates.ts';
import { quoted, StoreError, type StoreErrorCode } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import { networkProblem, RETRY_LATER_SECONDS, RETRY_SOON_SECONDS } from '../network.ts';
import type { Key } from './keys.ts';
import { NotXmlError } from './xml.ts';

/** The parts of a request that appear in error messages. */
export interface RequestContext {
  readonly key: Key | undefined;
  readonly bucket: string;
  readonly endpoint: string | undefined;
}

/**
 * Translates an error of the AWS SDK client or the store to a `StoreError`. An error that the operator must fix names
 * the setting to check. An unknown error response becomes `unavailable`, with its status and code. Returns any other
 * error unchanged.
 */
export function toStoreError(error: unknown, asked: RequestContext): unknown {
  const refusal = errorResponseIn(error);
  if (refusal) return ofStore(refusal, asked) ?? unknown(refusal, asked);
  return ofNetwork(error, asked) ?? error;
}

/** Returns the error code of the store's response, or its status if it has no code (a response to HEAD has none). */
export const codeOf = (error: unknown): string | undefined => errorResponseIn(error)?.code;

/** Returns whether the failed request was a retry. The first attempt may have succeeded, with its response lost. */
export const wasRetried = (error: unknown): boolean => (errorResponseIn(error)?.attempts ?? 1) > 1;

/** Translates an error response by `code`. Returns undefined for an unknown code. */
function ofStore(error: S3ErrorResponse, asked: RequestContext, code = error.code): StoreError | undefined {
  const { key } = asked;
  const failure = (errorCode: StoreErrorCode, message: string) => new StoreError(errorCode, message, { cause: error });
  switch (code) {
    case '404':
    case 'NoSuchKey':
      return key === undefined ? misset('bucket-not-found', noBucket(asked), error) : notFound(key as FilePath, error);
    case 'NoSuchBucket':
      return misset('bucket-not-found', noBucket(asked), error);
    case 'InvalidBucketName':
      return misset('invalid-bucket-name', `${asked.bucket} (S3_BUCKET) is not the name of a bucket.`, error);
    // R2 returns 401 for an unknown access key.
    case '401':
    case 'Unauthorized':
    case 'InvalidAccessKeyId':
      return misset('unknown-access-key', 'The object store does not know the access key in S3_ACCESS_KEY_ID.', error);
    case 'SignatureDoesNotMatch':
      return misset(
        'wrong-secret-key',
        'The object store refuses the signature: S3_SECRET_ACCESS_KEY does not belong to S3_ACCESS_KEY_ID.',
        error,
      );
    case 'ExpiredToken':
    case 'InvalidToken':
      return misset(
        'expired-access-key',
        'The access key in S3_ACCESS_KEY_ID is a temporary one, or has expired.',
        error,
      );
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return misset(
        'clock-skew',
        "The clock of this machine differs from the object store's by more than it allows: set it right.",
        error,
      );
    case '301':
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return misset(
        'wrong-region',
        'The bucket is in another region: set S3_REGION to it, and S3_ENDPOINT to its address.',
        error,
      );
    case '403':
    case 'AccessDenied':
    case 'AllAccessDisabled':
    case 'AccountProblem':
      return failure(
        'denied',
        'The object store refuses this to the access key in S3_ACCESS_KEY_ID: it may lack a permission.',
      );
    case 'QuotaExceeded':
    case 'XMinioStorageFull':
    case 'InsufficientStorage':
    case '507':
      return new StoreError('store-full', 'The object store is full, or its quota is used up.', {
        cause: error,
        retryAfter: 60,
      });
    case '412':
    case 'PreconditionFailed':
      return failure('condition-failed', `${subject(key)} is not in the state that the request is about.`);
    case '416':
    case 'InvalidRange':
      return failure(
        'range-unsatisfiable',
        `The range asked for is not within the bytes of ${subject(key).toLowerCase()}.`,
      );
    case 'InvalidObjectState':
      return failure(
        'file-archived',
        'The file is archived in the object store, and has to be restored there before it is read.',
      );
    // MinIO stores objects as files, so one object can't be below another.
    case 'XMinioParentIsObject':
    case 'XMinioObjectExistsAsDirectory':
      return key === undefined ? undefined : kindConflict(key as FilePath, error);
    case 'XMinioInvalidObjectName':
      return failure('unsupported-name', 'The object store takes no path of this kind.');
    case '413':
    case 'EntityTooLarge':
      return failure('too-large-for-store', 'The file is larger than the object store takes.');
    case 'KeyTooLongError':
      return failure('path-too-long', 'The object store takes no path of this length.');
    case '405':
    case 'MethodNotAllowed':
    case '501':
    case 'NotImplemented':
      return failure('unsupported', "The object store can't do this.");
    default:
      if (isPassing(error)) return busy(error);
      if (error.status === 403) return failure('denied', `The object store refuses this (${error.code}).`);
      // Compatible stores send their own codes with unambiguous statuses, for example "412 InvalidRequest".
      return STATUSES.has(error.status) && error.code !== String(error.status)
        ? ofStore(error, asked, String(error.status))
        : undefined;
  }
}

/** Statuses that have one meaning, whatever the code of the response. */
const STATUSES = new Set([404, 412, 413, 416]);

const noBucket = ({ bucket }: RequestContext) => `There is no bucket ${bucket}: look at S3_BUCKET and S3_ENDPOINT.`;

const subject = (key: Key | undefined) => (key === undefined ? 'The bucket' : 'The file');

/** Returns the error for a wrong setting or a problem of this machine. Requests fail until the operator fixes it. */
function misset(code: StoreErrorCode, message: string, cause: unknown): StoreError {
  return new StoreError(code, message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** Returns whether the error is temporary (throttling, failure or contention), so a later retry can succeed. */
function isPassing({ code, status }: S3ErrorResponse): boolean {
  return status === 429 || (status >= 500 && status !== 501) || PASSING.test(code);
}

const PASSING =
  /SlowDown|Throttl|TooManyRequests|RequestLimitExceeded|RequestTimeout|ConditionalRequestConflict|OperationAborted|NoSuchUpload|InternalError/;

function busy(error: S3ErrorResponse): StoreError {
  const retryAfter = error.retryAfter || RETRY_SOON_SECONDS;
  return new StoreError('store-busy', 'The object store is busy or failing.', { cause: error, retryAfter });
}

/**
 * Returns the error for an unknown response. A response without an S3 code comes from a proxy; otherwise the store has
 * its own code.
 */
function unknown(error: S3ErrorResponse, { endpoint }: RequestContext): StoreError {
  const { status, code, location = '' } = error;
  const name = nameStore(endpoint);
  if (status === 407) {
    const store = endpoint === undefined ? 'the object store' : `the object store at ${endpoint}`;
    const message = `A proxy before ${store} demands a username and password (407): allow this machine to pass without.`;
    return misset('unexpected-store-response', message, error);
  }
  if (status > 300 && status < 400 && status !== 304) {
    // The query of a URL may contain a secret.
    const url = URL.parse(location);
    const to = url ? ` to ${quoted(url.origin + url.pathname)}` : '';
    return misset(
      'unexpected-store-response',
      `${name} redirects requests${to} (${status}): look at S3_ENDPOINT.`,
      error,
    );
  }
  const what = code === String(status) ? `${status} without a code of S3` : `${status} ${quoted(code)}`;
  return misset('unexpected-store-response', `${name} answered ${what}: look at S3_ENDPOINT and at the proxy.`, error);
}

/**
 * Translates a network error, or an invalid response that is not from an object store. Returns undefined for any other
 * error.
 */
function ofNetwork(error: unknown, { endpoint }: RequestContext): StoreError | undefined {
  const problem = networkProblem(error, {
    name: nameStore(endpoint),
    setting: 'S3_ENDPOINT',
    nameSettings: 'S3_ENDPOINT, S3_REGION and S3_ADDRESSING',
  });
  if (problem || !(error instanceof Error)) return problem;
  // Neither Holdall nor the client can parse the response, for example a web page or an empty 200 (`$metadata`).
  return error instanceof NotXmlError || '$response' in error || '$responseBodyText' in error || '$metadata' in error
    ? noStore(endpoint, error)
    : undefined;
}

/**
 * Returns the ETag of an object. Throws `unavailable` if it is missing: every store sends one, so the response is from
 * a proxy and the request had no effect.
 */
export function requireStored(etag: string | undefined, endpoint: string | undefined): string {
  if (etag) return etag;
  throw noStore(endpoint);
}

/** Returns the error for a response that is not from an object store. */
export function noStore(endpoint: string | undefined, cause?: unknown): StoreError {
  const message = `${nameStore(endpoint)} does not answer as an object store does: look at S3_ENDPOINT.`;
  return new StoreError('unexpected-store-response', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** Returns the error for a part of a file that is not the requested one. */
export function partMismatch(endpoint: string | undefined): StoreError {
  const message = `${nameStore(endpoint)} returned another part of the file than Holdall asked for. Look for a proxy before the store that changes Range or Content-Range.`;
  return new StoreError('unexpected-store-response', message, { retryAfter: RETRY_LATER_SECONDS });
}

/** Returns the error for a listing of other keys than requested, for example from a cache that ignores the query. */
export function listingMismatch(endpoint: string | undefined): StoreError {
  const message = `${nameStore(endpoint)} lists other keys than Holdall asked for. Check S3_ENDPOINT, and look for a cache or proxy before the store.`;
  return new StoreError('unexpected-store-response', message, { retryAfter: RETRY_LATER_SECONDS });
}

export const nameStore = (endpoint: string | undefined) =>
  endpoint === undefined ? 'The object store' : `The object store at ${endpoint}`;

/** An error response of the store. The message contains the id of the request in the store's log. */
export class S3ErrorResponse extends Error {
  override readonly name = 'Refusal';
  /** The error code of the store, or the status if the response has no code (to HEAD, or of a proxy). */
  readonly code: string;
  readonly status: number;
  /** The number of attempts so far. */
  attempts: number;
  /** Seconds to wait before a retry, from `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** The `Location` header. */
  readonly location: string | undefined;
  /** Whether the response corrected the local clock. The next request is signed with the corrected time. */
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

/** Returns the error response in an error of `connection.ts` or of the AWS SDK client, or undefined. */
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

/**
 * Codes without information. The AWS SDK client invents some for errors without a body; the others only repeat the
 * status.
 */
const SAYS_NOTHING = new Set(['', 'UnknownError', 'Unknown', 'NotFound', 'Forbidden', 'S3ServiceException', 'Error']);

/** Returns the id that identifies the request in the store's log. */
export const requestIdIn = (headers: IncomingHttpHeaders): string | undefined => single(headers['x-amz-request-id']);

const single = (value: string | string[] | undefined) => (typeof value === 'string' ? value : value?.[0]);
