import type { Failure } from '../../../../src/http/schemas.ts';

/** A code of the service, or of a problem that only the page knows. */
export type ProblemCode = Failure['code'] | 'change-not-started' | 'file-unreadable' | 'folder-outdated';

interface ErrorDetails {
  readonly code?: ProblemCode | undefined;
  readonly retryAfter?: number | undefined;
  readonly limit?: number | undefined;
  readonly lock?: Failure['lock'];
}

/**
 * The failure of a request: the error of the service or of a proxy, or the lack of a response. Its message is for logs;
 * `reasonOf` returns one for users.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** The error code of the service; undefined if the response is from something else, such as a proxy, or missing. */
  readonly code: ProblemCode | undefined;
  /** Seconds until a retry is useful, if the response has them. */
  readonly retryAfter: number | undefined;
  /** The exceeded limit in bytes, if known. */
  readonly limit: number | undefined;
  /** The lock that forbids the change. Only with the code `locked`. */
  readonly lock: Failure['lock'];

  constructor(status: number, message: string, { code, retryAfter, limit, lock }: ErrorDetails = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
    this.limit = limit;
    this.lock = lock;
  }

  /** Returns whether the code is one of `codes`. Without a code, such as from a proxy, the status decides. */
  is(codes: readonly ProblemCode[], ...statuses: readonly number[]): boolean {
    return this.code === undefined ? statuses.includes(this.status) : codes.includes(this.code);
  }

  /** Whether the file or folder does not exist. */
  get isNotFound(): boolean {
    return this.is(['not-found'], 404);
  }

  /** Whether the request can succeed after the user signs in. */
  get isSignInRequired(): boolean {
    return this.is(['sign-in-required', 'session-ended'], 401);
  }

  /** Whether the user lacks the permission. */
  get isPermissionDenied(): boolean {
    return this.is(['permission-denied'], 403);
  }

  /** Whether the name of a new file is taken. */
  get isNameTaken(): boolean {
    return this.is(['name-taken'], 412);
  }

  /** Whether the service, its store or a quota of the store is overloaded. */
  get isBusy(): boolean {
    return this.is(BUSY, 429, 503);
  }

  /** Whether the same request can succeed a little later, without an action of the user or an administrator. */
  get isTransient(): boolean {
    if (this.code !== undefined) return TRANSIENT.includes(this.code);
    return [0, 408, 423, 429].includes(this.status) || (this.status >= 500 && this.status !== 501);
  }

  /** Whether the service did not respond: there is no response, or one of a proxy that did not reach it. */
  get isUnreachable(): boolean {
    return this.is([], 0, 502, 503, 504);
  }

  /** Whether the service might have carried out the request. */
  get isOutcomeUnknown(): boolean {
    if (this.code !== undefined) return OUTCOME_UNKNOWN.includes(this.code);
    return this.status === 0 || this.status >= 500;
  }
}

const BUSY: readonly ProblemCode[] = [
  'unavailable',
  'overloaded',
  'rate-limited',
  'store-busy',
  'quota-exhausted',
  'file-busy',
  'shutting-down',
  'upload-in-use',
];

const OUTCOME_UNKNOWN: readonly ProblemCode[] = ['outcome-unknown', 'store-unreachable'];

const TRANSIENT: readonly ProblemCode[] = [
  ...BUSY,
  ...OUTCOME_UNKNOWN,
  'database-unavailable',
  'identity-provider-unavailable',
  'internal-error',
  'listing-incomplete',
  'request-timeout',
  'sessions-unavailable',
  'sign-in-throttled',
  // Another request about the same upload came in between.
  'upload-in-use',
];

/** Returns the error of a request without a response, such as without a connection. */
export function noResponse(): ServiceError {
  return new ServiceError(0, '');
}

/** Returns the error for a response with this status and body; the body can be any JSON, or undefined. */
export function serviceErrorOf(status: number, body: unknown, retryAfterHeader: string | null): ServiceError {
  const { code, error, lock } = isFailure(body) ? body : {};
  const seconds = Number(retryAfterHeader ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds : undefined;
  return new ServiceError(status, error ?? `The service responded with status ${status}.`, {
    code,
    retryAfter,
    lock,
  });
}

/** Whether the body is an error of the service. Anything else comes from a proxy. */
function isFailure(body: unknown): body is Pick<Failure, 'error'> & Partial<Failure> {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}

/** Returns any thrown value as a `ServiceError`. Throws the `AbortError` of an aborted request again. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isAbort(error)) throw error;
  return noResponse();
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
