import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { parseRetryAfter } from '../../model/dates.ts';
import { quoted, StoreError } from '../../model/error.ts';
import { HttpError } from '../errors.ts';

/** Maximum size of a response of an identity provider. Documents, key sets and user info take a few KiB. */
const MAX_RESPONSE_BYTES = 2 ** 20;

/** Thrown when an identity provider responds with 429 or 5xx: it is overloaded or fails. */
export class ProviderBusy extends Error {
  override readonly name = 'ProviderBusy';
  /** Seconds until the provider wants the next request, if its response has a valid `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor({ status, headers }: Response) {
    super(`The identity provider responded with ${status}.`);
    this.retryAfter = parseRetryAfter(headers.get('retry-after') ?? undefined, headers.get('date') ?? undefined);
  }
}

/** Fetches from an identity provider and buffers the body. Throws for a larger body, and `ProviderBusy`. */
export async function fetchFromProvider(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status, body, headers } = response;
  if (status === 429 || status >= 500) {
    await body?.cancel();
    throw new ProviderBusy(response);
  }
  if (body === null) return response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) {
      throw new Error(`The response of the identity provider is longer than ${MAX_RESPONSE_BYTES} bytes.`);
    }
  }
  return new Response(Buffer.concat(chunks), { status, headers });
}

/** Returns the seconds of the `ProviderBusy` that caused an error; undefined if there is none. */
export function retryAfterOf(error: unknown): number | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof ProviderBusy && current.retryAfter !== undefined) return Math.max(1, current.retryAfter);
  }
  return undefined;
}

/**
 * Throws the error that a user sees when a sign-in with the identity provider fails, and logs the details. Text from
 * the provider is untrusted, and anyone can call the callback with any query.
 */
export function throwSignInError(
  error: unknown,
  warn: (message: string, details: Record<string, unknown>) => void,
): never {
  if (error instanceof HttpError || error instanceof StoreError) throw error;
  if (error instanceof AuthorizationResponseError) {
    if (!TEMPORARY_ERRORS.has(error.error)) {
      throw new HttpError(
        'sign-in-failed',
        `The identity provider reported the error ${quoted(error.error)}. ${SIGN_IN_AGAIN}`,
      );
    }
  } else if (error instanceof ResponseBodyError) {
    if (error.error === 'invalid_grant')
      throw new HttpError('sign-in-failed', `This sign-in has expired or was already used. ${SIGN_IN_AGAIN}`);
  } else if (error instanceof ClientError && isCausedByCallback(error)) {
    warn('OIDC callback rejected.', logFieldsOf(error));
    throw new HttpError(
      'sign-in-failed',
      `The response of the identity provider is invalid or belongs to another sign-in. ${SIGN_IN_AGAIN}`,
    );
  }
  throw providerUnavailable(error, warn);
}

/** Logs why the provider can't be used, and returns the error for the client. */
export function providerUnavailable(
  error: unknown,
  warn: (message: string, details: Record<string, unknown>) => void,
): StoreError {
  warn('OIDC provider unavailable.', logFieldsOf(error));
  const retryAfter = retryAfterOf(error);
  const message = 'The identity provider is unavailable. Try again later.';
  return new StoreError('identity-provider-unavailable', message, {
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

const SIGN_IN_AGAIN = 'Sign in again.';

/** Error codes for a failure of the provider itself (RFC 6749, section 4.1.2.1). */
const TEMPORARY_ERRORS: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/**
 * Returns whether the query of the callback can have caused an error: a parameter is invalid, or the code belongs to
 * another sign-in, with another nonce. The provider causes all other errors.
 */
function isCausedByCallback({ code, cause }: ClientError): boolean {
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' || code === 'OAUTH_UNSUPPORTED_OPERATION') return true;
  if (code !== 'OAUTH_INVALID_RESPONSE') return false;
  const subject = cause instanceof Error ? cause.cause : undefined;
  return typeof subject !== 'object' || subject === null || 'parameters' in subject;
}

/** Returns what to log of an error. The error itself contains responses of the provider, so it is not logged. */
function logFieldsOf(error: unknown): Record<string, unknown> {
  if (error instanceof ResponseBodyError) return { reason: error.message, code: quoted(error.error) };
  if (!(error instanceof Error)) return { reason: 'unknown' };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { reason: error.message, ...('code' in error && { code: error.code }), ...(cause && { cause }) };
}
