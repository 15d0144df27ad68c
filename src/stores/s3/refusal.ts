import type { IncomingHttpHeaders } from 'node:http';
import { S3ServiceException } from '@aws-sdk/client-s3';
import { parseRetryAfter } from '../../domain/http-date.ts';

/** The answer by which a store refused a request, whoever sent it. Its message has the id by which the store's own log has it. */
export class Refusal extends Error {
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

  constructor(answer: RefusingAnswer, options?: ErrorOptions) {
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

export interface RefusingAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
  readonly attempts?: number | undefined;
  readonly isClockCorrected?: boolean;
}

/** The refusal that an error is, of our own requests and of those of the client for S3. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
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
  return new Refusal(answer, { cause: error });
}

/** What the client calls errors that came without a body, and what is no more than the status. */
const SAYS_NOTHING = new Set(['', 'UnknownError', 'Unknown', 'NotFound', 'Forbidden', 'S3ServiceException', 'Error']);

/** What the store calls a request: the id by which its own log has it. */
export const requestIdIn = (headers: IncomingHttpHeaders): string | undefined => single(headers['x-amz-request-id']);

const single = (value: string | string[] | undefined) => (typeof value === 'string' ? value : value?.[0]);
