import { ERROR_CODES, type ErrorCode } from '../../../src/http/error-codes.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';

/** Returns the error for a failure of the service, with the status of its code. */
export function refusal(code: ErrorCode, message: string, retryAfter?: number): ServiceError {
  return new ServiceError(ERROR_CODES[code].status, message, { code, retryAfter });
}
