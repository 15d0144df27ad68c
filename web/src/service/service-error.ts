import type { Failure } from '../../../src/http/schemas.ts';

type ErrorCode = Failure['code'];

/** What the service said, or why it could not be asked. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** The error code of the service; undefined where something else answered, or nothing. */
  readonly code: ErrorCode | undefined;
  /** Seconds after which to ask again, where the service said so. */
  readonly retryAfter: number | undefined;
  /** Whether the service itself said so: what is before it, such as a proxy, answers by itself too. */
  readonly isOfService: boolean;

  constructor(status: number, message: string, retryAfter?: number, isOfService = false, code?: ErrorCode) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
    this.isOfService = isOfService;
    this.code = code;
  }

  /**
   * Whether the same request may succeed a little later: nothing was answered, there were too many requests, or the
   * service failed, or a proxy before it.
   */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** Whether the service may have done what it was asked for: no answer of its own came. */
  get isLost(): boolean {
    return this.status === 0 || (this.status >= 500 && !this.isOfService);
  }
}

/** The error of a status and of a body that may be the envelope of a failure. */
export function failureOf(status: number, body: unknown, retryAfter: string | null): ServiceError {
  const failure = isFailure(body) ? body : undefined;
  const words = failure?.error ?? `The service answered with the status ${status}.`;
  const seconds = Number(retryAfter ?? Number.NaN);
  const wait = Number.isFinite(seconds) ? seconds : undefined;
  return new ServiceError(status, words, wait, failure !== undefined, failure?.code);
}

function isFailure(body: unknown): body is Pick<Failure, 'error'> & Partial<Failure> {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string';
}

/** Any thrown value as what it says of the service; aborted requests are thrown on as they are. */
export function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isAbort(error)) throw error;
  return new ServiceError(0, '');
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
