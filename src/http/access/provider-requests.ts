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
    if (current instanceof ProviderBusy) return current.retryAfter && Math.max(1, current.retryAfter);
  }
  return undefined;
}

/**
 * Throws the error that a user sees when a sign-in with the identity provider fails, and logs the details. Text from
 * the provider is untrusted, and anyone can call the callback with any query.
 */
export function explainProvider(
  error: unknown,
  warn: (message: string, details: Record<string, unknown>) => void,
): never {
  if (error instanceof HttpError || error instanceof StoreError) throw error;
  if (error instanceof AuthorizationResponseError) {
    if (!PASSING.has(error.error)) {
      throw new HttpError(
        'sign-in-failed',
        `The provider could not sign you in: it says ${quoted(error.error)}. ${AGAIN}`,
      );
    }
  } else if (error instanceof ResponseBodyError) {
    if (error.error === 'invalid_grant')
      throw new HttpError('sign-in-failed', `The provider no longer knows this sign-in. ${AGAIN}`);
  } else if (error instanceof ClientError && isOfCallback(error)) {
    warn('The answer of the OpenID Connect provider to a sign-in is not right.', detailsOf(error));
    throw new HttpError(
      'sign-in-failed',
      `The answer of the provider is not right, or is not to a sign-in of yours. ${AGAIN}`,
    );
  }
  throw providerUnavailable(error, warn);
}

/** Logs why the provider can't be used, and returns the error for the client. */
export function providerUnavailable(
  error: unknown,
  warn: (message: string, details: Record<string, unknown>) => void,
): StoreError {
  warn('The OpenID Connect provider can not be used.', detailsOf(error));
  const retryAfter = retryAfterOf(error);
  const message = 'The provider by which people sign in can not be used now. Try again later.';
  return new StoreError('identity-provider-unavailable', message, {
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

const AGAIN = 'Begin again.';

/** Error codes for a failure of the provider itself (RFC 6749, section 4.1.2.1). */
const PASSING: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/**
 * Returns whether the query of the callback can have caused an error: a parameter is invalid, or the code belongs to
 * another sign-in, with another nonce. The provider causes all other errors.
 */
function isOfCallback({ code, cause }: ClientError): boolean {
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' || code === 'OAUTH_UNSUPPORTED_OPERATION') return true;
  if (code !== 'OAUTH_INVALID_RESPONSE') return false;
  const subject = cause instanceof Error ? cause.cause : undefined;
  return typeof subject !== 'object' || subject === null || 'parameters' in subject;
}

/** Returns what to log of an error. The error itself contains responses of the provider, so it is not logged. */
function detailsOf(error: unknown): Record<string, unknown> {
  if (error instanceof ResponseBodyError) return { reason: error.message, code: quoted(error.error) };
  if (!(error instanceof Error)) return { reason: 'unknown' };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { reason: error.message, ...('code' in error && { code: error.code }), ...(cause && { cause }) };
}
