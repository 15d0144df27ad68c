import type { IncomingHttpHeaders } from 'node:http';
import { parseRetryAfter } from '../../model/dates.ts';
import { isStoreError, quoted, StoreError, type StoreErrorCode } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { kindConflict, notFound } from '../../model/store-errors.ts';
import { LONG_RETRY_AFTER_SECONDS, networkProblem, SHORT_RETRY_AFTER_SECONDS } from '../network.ts';
import type { Key } from './keys.ts';
import { type HttpResponse, ResponseTooLongError } from './transport.ts';
import { NotXmlError, readFields } from './xml.ts';

/** The parts of a request that appear in error messages. */
export interface RequestContext {
  readonly key: Key | undefined;
  readonly bucket: string;
  /** The configured URL of the store; undefined for AWS. */
  readonly endpoint: string | undefined;
  /** Names the access key and its source. */
  readonly accessKey: string;
}

/**
 * Translates an error response or a network error to a `StoreError`. An error that the operator must fix names the
 * setting to check. An unknown error response becomes `unavailable`, with its status and code. Returns any other error
 * unchanged.
 */
export function toStoreError(error: unknown, context: RequestContext): unknown {
  if (error instanceof S3ErrorResponse) return ofResponse(error, context) ?? ofUnknownResponse(error, context);
  return isStoreError(error) ? error : (ofNetwork(error, context) ?? error);
}

/** Returns the error code of the store's response, or its status if it has no code (a response to HEAD has none). */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof S3ErrorResponse ? error.code : undefined;

/** Returns whether the failed request was a retry. The first attempt might have succeeded, with its response lost. */
export const wasRetried = (error: unknown): boolean => error instanceof S3ErrorResponse && error.attempts > 1;

/** Translates an error response by `code`. Returns undefined for an unknown code. */
function ofResponse(error: S3ErrorResponse, context: RequestContext, code = error.code): StoreError | undefined {
  const known = ERRORS.get(code);
  if (known) return known(error, context);
  if (isTransient(error)) return busy(error);
  if (error.status === 403)
    return new StoreError('denied', `The object store denied the request (${code}).`, { cause: error });
  // Compatible stores send their own codes with unambiguous statuses, for example "412 InvalidRequest".
  return UNAMBIGUOUS_STATUSES.has(error.status) && code !== String(error.status)
    ? ofResponse(error, context, String(error.status))
    : undefined;
}

/** Statuses that have one meaning, whatever the code of the response. */
const UNAMBIGUOUS_STATUSES = new Set([404, 412, 413, 416]);

type ErrorFactory = (error: S3ErrorResponse, context: RequestContext) => StoreError | undefined;

/** The error codes of object stores, and statuses of responses without a code. */
const ERRORS: ReadonlyMap<string, ErrorFactory> = new Map(
  (
    [
      [
        // Some stores repeat the status as the code.
        ['404', 'NotFound', 'NoSuchKey'],
        (error, context) =>
          context.key === undefined
            ? configurationError('bucket-not-found', noBucket(context), error)
            : notFound(context.key as FilePath, error),
      ],
      [['NoSuchBucket'], (error, context) => configurationError('bucket-not-found', noBucket(context), error)],
      [
        ['InvalidBucketName'],
        (error, { bucket }) =>
          configurationError('invalid-bucket-name', `${quoted(bucket)} (S3_BUCKET) is not a valid bucket name.`, error),
      ],
      [
        // R2 returns 401 for an unknown access key.
        ['401', 'Unauthorized', 'InvalidAccessKeyId'],
        (error, { accessKey }) =>
          configurationError('unknown-access-key', `The object store does not recognise ${accessKey}.`, error),
      ],
      [
        ['SignatureDoesNotMatch'],
        (error) =>
          configurationError(
            'wrong-secret-key',
            'The object store rejected the signature: S3_SECRET_ACCESS_KEY does not belong to S3_ACCESS_KEY_ID.',
            error,
          ),
      ],
      [
        ['ExpiredToken', 'InvalidToken'],
        (error) =>
          configurationError(
            'expired-access-key',
            'The temporary credentials have expired, or S3_SESSION_TOKEN does not belong to the access key.',
            error,
          ),
      ],
      [
        ['RequestTimeTooSkewed', 'RequestExpired'],
        (error) =>
          configurationError(
            'clock-skew',
            'The clock of this machine differs too much from that of the object store. Synchronise it.',
            error,
          ),
      ],
      [
        ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
        (error) => wrongRegion(error),
      ],
      // AWS sends no Location with this status. Other servers and proxies do.
      [['301'], (error) => (error.location === undefined ? wrongRegion(error) : undefined)],
      [
        ['403', 'Forbidden', 'AccessDenied', 'AllAccessDisabled', 'AccountProblem'],
        (cause, { accessKey }) => {
          const message = `The object store denied the request to ${accessKey}. Check the permissions of the key.`;
          return new StoreError('denied', message, { cause });
        },
      ],
      [
        ['507', 'QuotaExceeded', 'XMinioStorageFull', 'InsufficientStorage'],
        (cause) => {
          const message = 'The object store is full, or its quota is exhausted.';
          return new StoreError('store-full', message, { cause, retryAfter: FULL_RETRY_SECONDS });
        },
      ],
      [
        ['412', 'PreconditionFailed'],
        (cause, { key }) => {
          const message = `${subject(key)} does not meet the condition of the request.`;
          return new StoreError('condition-failed', message, { cause });
        },
      ],
      [
        ['416', 'InvalidRange'],
        (cause, { key }) => {
          const message = `The requested range is outside ${subject(key).toLowerCase()}.`;
          return new StoreError('range-unsatisfiable', message, { cause });
        },
      ],
      [
        ['InvalidObjectState'],
        (cause) => {
          const message = 'The file is archived in the object store. Restore it there before you read it.';
          return new StoreError('file-archived', message, { cause });
        },
      ],
      [
        // MinIO stores objects as files, so one object can't be below another.
        ['XMinioParentIsObject', 'XMinioObjectExistsAsDirectory'],
        (error, { key }) => (key === undefined ? undefined : kindConflict(key as FilePath, error)),
      ],
      [
        ['XMinioInvalidObjectName'],
        (cause) =>
          new StoreError('unsupported-name', 'The object store does not support this path. Choose another name.', {
            cause,
          }),
      ],
      [
        ['KeyTooLongError'],
        (cause) =>
          new StoreError('path-too-long', 'The path is too long for the object store. Choose a shorter name.', {
            cause,
          }),
      ],
      [
        ['413', 'EntityTooLarge'],
        (cause) => new StoreError('too-large-for-store', 'The file is larger than the object store allows.', { cause }),
      ],
      [
        ['405', 'MethodNotAllowed', '501', 'NotImplemented'],
        (cause) => new StoreError('unsupported', 'The object store does not support this operation.', { cause }),
      ],
    ] satisfies readonly (readonly [readonly string[], ErrorFactory])[]
  ).flatMap(([codes, create]) => codes.map((code) => [code, create] as const)),
);

/** Seconds after which a store that is full might accept a request again. */
const FULL_RETRY_SECONDS = 60;

const wrongRegion = (error: S3ErrorResponse) =>
  configurationError(
    'wrong-region',
    'The bucket is in another region. Set S3_REGION to that region, and S3_ENDPOINT to its URL.',
    error,
  );

const noBucket = ({ bucket }: RequestContext) =>
  `The bucket ${quoted(bucket)} does not exist. Check S3_BUCKET and S3_ENDPOINT.`;

const subject = (key: Key | undefined) => (key === undefined ? 'The bucket' : 'The file');

/** Returns the error for a wrong setting or a problem of this machine. Requests fail until the operator fixes it. */
export function configurationError(code: StoreErrorCode, message: string, cause?: unknown): StoreError {
  return new StoreError(code, message, { cause, retryAfter: LONG_RETRY_AFTER_SECONDS });
}

/** Returns the error for a response that no object store sends, or not to this request. */
const unexpectedResponse = (message: string, cause?: unknown): StoreError =>
  configurationError('unexpected-store-response', message, cause);

/** Returns whether the error is temporary (throttling, failure or contention), so a later retry can succeed. */
function isTransient({ code, status }: S3ErrorResponse): boolean {
  return status === 429 || (status >= 500 && status !== 501) || TRANSIENT_CODE.test(code);
}

const TRANSIENT_CODE =
  /SlowDown|Throttl|TooManyRequests|RequestLimitExceeded|RequestTimeout|ConditionalRequestConflict|OperationAborted|NoSuchUpload|InternalError/;

function busy(error: S3ErrorResponse): StoreError {
  const retryAfter = error.retryAfter || SHORT_RETRY_AFTER_SECONDS;
  return new StoreError('store-busy', 'The object store is busy or failing.', { cause: error, retryAfter });
}

/**
 * Returns the error for an unknown response. A response without an S3 code comes from a proxy; otherwise the store has
 * its own code.
 */
function ofUnknownResponse(error: S3ErrorResponse, { endpoint }: RequestContext): StoreError {
  const { status, code, location = '' } = error;
  const name = nameOf(endpoint);
  if (status === 407) {
    const store = endpoint === undefined ? 'the object store' : `the object store at ${endpoint}`;
    const message = `A proxy in front of ${store} requires a username and password (407). Allow this machine without them.`;
    return unexpectedResponse(message, error);
  }
  if (status > 300 && status < 400 && status !== 304) {
    // The query of a URL might contain a secret.
    const url = URL.parse(location);
    const to = url ? ` to ${quoted(url.origin + url.pathname)}` : '';
    return unexpectedResponse(`${name} redirects requests${to} (${status}). Check S3_ENDPOINT.`, error);
  }
  const what = code === String(status) ? `${status} without an S3 error code` : `${status} ${quoted(code)}`;
  return unexpectedResponse(`${name} returned ${what}. Check S3_ENDPOINT, and any proxy in front of the store.`, error);
}

/**
 * Translates a network error, or an invalid response that is not from an object store. Returns undefined for any other
 * error.
 */
function ofNetwork(error: unknown, { endpoint }: RequestContext): StoreError | undefined {
  const problem = networkProblem(error, {
    name: nameOf(endpoint),
    setting: 'S3_ENDPOINT',
    nameSettings: 'S3_ENDPOINT, S3_REGION and S3_ADDRESSING',
  });
  if (problem || !(error instanceof Error)) return problem;
  const isInvalidResponse =
    error instanceof NotXmlError ||
    error instanceof ResponseTooLongError ||
    error.name === 'HTTPParserError' ||
    ('code' in error && INVALID_RESPONSE_CODE.test(String(error.code)));
  return isInvalidResponse ? notAnObjectStore(endpoint, error) : undefined;
}

/** Codes of undici for headers and bodies that break the rules of HTTP; `HTTPParserError` has no code for some. */
const INVALID_RESPONSE_CODE = /^UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE|INFO)/;

/** Returns the error for a response that is not from an object store. */
export function notAnObjectStore(endpoint: string | undefined, cause?: unknown): StoreError {
  return unexpectedResponse(`${nameOf(endpoint)} does not respond like an object store. Check S3_ENDPOINT.`, cause);
}

/** Returns the error for a part of a file that is not the requested one. */
export function partMismatch(endpoint: string | undefined): StoreError {
  return unexpectedResponse(
    `${nameOf(endpoint)} returned another part of the file than the requested one. Check for a proxy in front of the store that changes Range or Content-Range.`,
  );
}

/** Returns the error for a listing of other keys than requested, for example from a cache that ignores the query. */
export function listingMismatch(endpoint: string | undefined): StoreError {
  return unexpectedResponse(
    `${nameOf(endpoint)} lists other keys than the requested ones. Check S3_ENDPOINT, and any cache or proxy in front of the store.`,
  );
}

/**
 * Returns whether a store can't continue a listing at a position: it rejects the request, or sends another listing. A
 * forged cursor can contain any token, and a key that is too long for a request.
 */
export function isRejectedPosition(error: unknown): boolean {
  if (!isStoreError(error) || error.code !== 'unexpected-store-response') return false;
  return !(error.cause instanceof S3ErrorResponse) || REJECTED_STATUSES.has(error.cause.status);
}

/** Statuses of requests that are invalid or too long. Stores use different error codes for an invalid token. */
const REJECTED_STATUSES = new Set([400, 414, 431]);

/** Returns the error for an endless listing, for example of a store that alternates between two tokens. */
export function endlessListing(endpoint: string | undefined): StoreError {
  return unexpectedResponse(
    `${nameOf(endpoint)} repeats pages of a listing endlessly. Run "holdall doctor" to test it.`,
  );
}

/** Returns the error for a store that lists keys out of order, such as AWS directory buckets. */
export function unorderedListing(): StoreError {
  const message =
    "The object store lists keys out of order. Holdall can delete its folders, but can't copy or move them.";
  return new StoreError('store-inconsistent', message);
}

/** Returns the error for a store that ignores `x-amz-copy-source`, or for a proxy that responds in its place. */
export function nothingCopied(): StoreError {
  const message = 'The object store reported success for a copy but copied nothing. Run "holdall doctor" to test it.';
  return new StoreError('store-inconsistent', message);
}

const nameOf = (endpoint: string | undefined) =>
  endpoint === undefined ? 'The object store' : `The object store at ${endpoint}`;

/** An error response of the store. The message contains the id of the request in the store's log. */
export class S3ErrorResponse extends Error {
  override readonly name = 'S3ErrorResponse';
  /** The error code of the store, or the status if the response has no code (to HEAD, or of a proxy). */
  readonly code: string;
  readonly status: number;
  /** The number of attempts so far. */
  attempts = 1;
  /** Seconds to wait before a retry, from `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** The `Location` header. */
  readonly location: string | undefined;
  /** Whether the response corrected the local clock. The next request is signed with the corrected time. */
  readonly isClockCorrected: boolean;

  constructor({ status, headers, message, ...details }: ErrorDetails) {
    const code = details.code || String(status);
    const requestId = details.requestId ?? requestIdOf(headers);
    const name = details.code ? `${status} ${code}` : `status ${status} without an S3 error code`;
    const request = requestId === undefined ? '' : ` (the store's request ${requestId})`;
    super(`${name}${message ? `: ${message}` : ''}${request}`);
    this.code = code;
    this.status = status;
    this.retryAfter = parseRetryAfter(headers['retry-after'], headers.date);
    this.location = headers.location;
    this.isClockCorrected = details.isClockCorrected ?? false;
  }
}

interface ErrorDetails {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  readonly isClockCorrected?: boolean;
}

/** Parses an error response, with the code and message of the store if the body contains them. */
export function readErrorResponse(
  { status, headers, body }: HttpResponse,
  { isClockCorrected }: Pick<ErrorDetails, 'isClockCorrected'>,
): S3ErrorResponse {
  return new S3ErrorResponse({ isClockCorrected, status, headers, ...readErrorBody(body.toString()) });
}

/** Returns the error fields of a body, or nothing if it is not an S3 error, for example the page of a proxy. */
function readErrorBody(body: string): Partial<ErrorDetails> {
  try {
    const { root, fields } = readFields(body);
    if (root !== 'Error') return {};
    return { code: fields.get('Code'), message: fields.get('Message'), requestId: fields.get('RequestId') };
  } catch (error) {
    if (error instanceof NotXmlError) return {};
    throw error;
  }
}

/** Returns the error in the body of a response with status 200. Status 503 makes it retryable. */
export const errorInBody = ({ headers }: HttpResponse, fields: ReadonlyMap<string, string>): S3ErrorResponse =>
  new S3ErrorResponse({ status: 503, headers, code: fields.get('Code'), message: fields.get('Message') });

/** Returns the id that identifies the request in the store's log. */
export function requestIdOf(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['x-amz-request-id'];
  return typeof id === 'string' ? id : id?.[0];
}
