import type { FastifyError } from 'fastify';
import { AccessDenied } from '../access/permission-checks.ts';
import { type ErrorKind, isStoreError, quoted } from '../model/error.ts';

/** An error as the client sees it. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  /** Seconds for `Retry-After`. */
  readonly retryAfter?: number;
}

/** An error of HTTP itself, without a kind in the domain. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The HTTP status of each error kind (RFC 9110, section 15; 416: section 14.4; 412: section 13). */
export const STATUS_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  'not-found': 404,
  'already-exists': 409,
  'wrong-kind': 409,
  'invalid-path': 400,
  'invalid-request': 400,
  'condition-failed': 412,
  'range-unsatisfiable': 416,
  'too-large': 413,
  denied: 403,
  unsupported: 501,
  unavailable: 503,
};

/** Default seconds for `Retry-After`, if the error has none. */
const RETRY_AFTER = 1;

/** Returns the status and message for the error of a request. */
export function problemOf(error: unknown, requestId: string): Problem {
  if (isStoreError(error)) {
    const status = STATUS_OF_KIND[error.kind];
    const retryAfter = error.kind === 'unavailable' ? (error.retryAfter ?? RETRY_AFTER) : undefined;
    return { status, message: error.message, ...(retryAfter !== undefined && { retryAfter }) };
  }
  if (error instanceof AccessDenied) return { status: error.isAnonymous ? 401 : 403, message: error.message };
  if (error instanceof HttpError) return { status: error.status, message: error.message };
  return (
    ofFastify(error) ?? {
      status: 500,
      message: `Something failed inside the service. Its log says more, under the request id ${requestId}.`,
    }
  );
}

/**
 * Returns Fastify's own errors about a request with the messages and statuses of the HTTP API; undefined for other
 * errors.
 */
function ofFastify(error: unknown): Problem | undefined {
  if (!isFastifyError(error)) return undefined;
  if (error.validation) return { status: 400, message: describeValidation(error) };
  switch (error.code) {
    case 'FST_ERR_BAD_URL':
      return { status: 400, message: 'The path has a percent escape that is not UTF-8.' };
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { status: 400, message: 'The body must be JSON, sent with Content-Type: application/json.' };
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return { status: 400, message: 'The body is empty, where a JSON object is needed.' };
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return { status: 400, message: 'The body is not valid JSON.' };
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return {
        status: 413,
        message: 'The body is larger than 64 KiB, which is more than any request of this kind needs.',
      };
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { status: 400, message: 'The body has not the length that Content-Length announced.' };
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? { status: error.statusCode, message: error.message }
        : undefined;
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');
}

/** Describes the first schema violation: the field, the rule, and the invalid value. */
function describeValidation({ validation, validationContext }: FastifyError): string {
  const [mistake] = validation ?? [];
  const place = validationContext === 'querystring' ? 'query' : (validationContext ?? 'request');
  if (!mistake) return `The ${place} is not valid.`;
  if (mistake.keyword === 'required') return `The ${place} lacks ${quoted(String(mistake.params['missingProperty']))}.`;
  const field = mistake.instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~');
  const rule = mistake.message ?? 'is not valid';
  if (field === '') return mistake.keyword === 'type' ? `The ${place} must be a JSON object.` : `The ${place} ${rule}.`;
  const value = 'data' in mistake ? (JSON.stringify(mistake.data) ?? '') : '';
  return `The field ${quoted(field)} of the ${place} ${rule}, and is ${value.length > 100 ? `${value.slice(0, 100)}…` : value}.`;
}
