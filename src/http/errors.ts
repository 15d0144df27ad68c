import type { FastifyError } from 'fastify';
import { AccessDenied } from '../access/permission-checks.ts';
import { isStoreError, type LockInForce, quoted, type StoreError, type StoreErrorCode } from '../model/error.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';
import type { Failure } from './schemas.ts';

/** An error as the client sees it. */
export interface Problem {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
  /** The lock that forbids the change. */
  readonly lock?: Failure['lock'];
}

/** An error that the HTTP layer detects. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: ErrorCode;
  /** The lock that forbids the change. Only with the code `locked`. */
  readonly lock: Failure['lock'];

  constructor(code: ErrorCode, message: string, { lock }: Pick<Failure, 'lock'> = {}) {
    super(message);
    this.code = code;
    this.lock = lock;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}

/** Default seconds for `Retry-After`, if the error has none. */
const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Sentences about the HTTP API that follow the message of a store error. */
const HINTS: Partial<Readonly<Record<StoreErrorCode, string>>> = {
  'already-exists': 'Set "overwrite": true to replace it.',
  'temporary-folder-full': 'Send the form field "prefix" before the file, so that the file is not stored there.',
};

/** Returns an error of restoring an item. A taken name gets the hint of this operation, which can't overwrite. */
export function restoreErrorOf(error: unknown): unknown {
  if (!isStoreError(error, 'already-exists')) return error;
  const message = `${error.message} Set "onConflict": "rename" to restore it with another name.`;
  return new HttpError('already-exists', message);
}

/** Returns the failure that describes a problem. */
export function failureOf({ code, message, lock }: Pick<Problem, 'code' | 'message' | 'lock'>): Failure {
  return { success: false, code, error: message, ...(lock && { lock }) };
}

/** Returns the status, code and message for the error of a request. */
export function problemOf(error: unknown, requestId: string): Problem {
  if (isStoreError(error)) return ofStore(error);
  if (error instanceof AccessDenied) {
    return problem(error.isAnonymous ? 'sign-in-required' : 'permission-denied', error.message);
  }
  if (error instanceof HttpError) {
    const { code, message, lock } = error;
    return { ...problem(code, message), ...(lock && { lock }) };
  }
  return (
    ofFastify(error) ??
    problem('internal-error', `Internal error. Search the log of the service for the request ID ${requestId}.`)
  );
}

function problem(code: ErrorCode, message: string): Problem {
  return { status: ERROR_CODES[code].status, code, message };
}

function ofStore({ code, kind, message, lock, retryAfter = DEFAULT_RETRY_AFTER_SECONDS }: StoreError): Problem {
  const hint = HINTS[code];
  const found = problem(code, hint === undefined ? message : `${message} ${hint}`);
  if (lock) return { ...found, lock: describeLock(lock) };
  return kind === 'unavailable' ? { ...found, retryAfter } : found;
}

function describeLock({ path, user, expiresAt }: LockInForce): NonNullable<Failure['lock']> {
  return { path, ...(user !== undefined && { user }), expiresAt: expiresAt.toISOString() };
}

/**
 * Returns Fastify's own errors about a request with the messages and statuses of the HTTP API; undefined for other
 * errors.
 */
function ofFastify(error: unknown): Problem | undefined {
  if (!isFastifyError(error)) return undefined;
  if (error.validation) return problem('invalid-parameter', describeValidation(error));
  const known = FASTIFY_ERRORS[error.code];
  if (known) return problem(...known);
  const { statusCode: status = 500, message } = error;
  return status >= 400 && status < 500 ? { status, code: 'malformed-request', message } : undefined;
}

const FASTIFY_ERRORS: Readonly<Record<string, readonly [ErrorCode, message: string]>> = {
  FST_ERR_BAD_URL: ['malformed-url', 'The path has a percent escape that is not UTF-8.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'json-required',
    'The body must be JSON. Send it with Content-Type: application/json.',
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid-json', 'The body is empty. Send a JSON object.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['invalid-json', 'The body is not valid JSON.'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['body-too-large', 'The body is larger than 64 KiB, the limit of JSON bodies.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['incomplete-body', 'The body does not have the length in Content-Length.'],
};

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}

/** Describes the first schema violation: the field, the rule, and the invalid value. */
function describeValidation({ validation, validationContext }: FastifyError): string {
  const mistakes = validation ?? [];
  const [mistake] = mistakes;
  const part = validationContext === 'querystring' ? 'query' : (validationContext ?? 'request');
  if (!mistake) return `The ${part} is not valid.`;
  if (mistake.keyword === 'required') return `The ${part} lacks ${quoted(String(mistake.params['missingProperty']))}.`;
  if (mistake.keyword === 'additionalProperties') {
    return `The ${part} has the unknown field ${quoted(String(mistake.params['additionalProperty']))}.`;
  }
  const field = mistake.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  // A choice of values is a schema for each of them.
  const values = mistakes.flatMap(({ keyword, params }) => (keyword === 'const' ? [params['allowedValue']] : []));
  const rule = values.length > 0 ? `must be ${values.map(toJson).join(' or ')}` : (mistake.message ?? 'is not valid');
  const limited = mistakes.find(({ keyword }) => keyword === 'maxItems');
  if (validationContext === 'querystring' && limited) {
    return `The query has ${quoted(field)} more than ${String(limited.params['limit'])} times.`;
  }
  if (validationContext === 'querystring' && isRepeated(mistakes)) {
    return `The query has ${quoted(field)} more than once. Send it once.`;
  }
  if (field === '') return mistake.keyword === 'type' ? `The ${part} must be a JSON object.` : `The ${part} ${rule}.`;
  const value = 'data' in mistake ? toJson(mistake.data) : '';
  return `The field ${quoted(field)} of the ${part} ${rule}, but is ${value.length > 100 ? `${value.slice(0, 100)}…` : value}.`;
}

/** Returns whether a query parameter that is not a list has several values. */
function isRepeated(mistakes: NonNullable<FastifyError['validation']>): boolean {
  return mistakes.every((mistake) => 'data' in mistake && Array.isArray(mistake.data));
}

const toJson = (value: unknown) => JSON.stringify(value) ?? '';

/** Returns the error for a request with an app token that could give permissions that remain without the token. */
export function appTokenRefused(): HttpError {
  const message =
    "App tokens can't manage share links, webhooks, app tokens or sessions. Sign in without an app token.";
  return new HttpError('permission-denied', message);
}
