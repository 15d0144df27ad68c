import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { quoted, StoreError } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';

/**
 * Throws what a person is told of a sign-in by a provider that failed; the log is told more. What the provider says is
 * text of somebody else's, and the callback of a sign-in can be called with any.
 */
export function explainProvider(
  error: unknown,
  warn: (message: string, details: Record<string, unknown>) => void,
): never {
  if (error instanceof HttpError) throw error;
  if (error instanceof AuthorizationResponseError) {
    if (!PASSING.has(error.error)) {
      throw new HttpError(400, `The provider could not sign you in: it says ${quoted(error.error)}. ${AGAIN}`);
    }
  } else if (error instanceof ResponseBodyError) {
    if (error.error === 'invalid_grant')
      throw new HttpError(400, `The provider no longer knows this sign-in. ${AGAIN}`);
  } else if (error instanceof ClientError && !OUT_OF_REACH.has(error.code ?? '')) {
    warn('The answer of the OpenID Connect provider to a sign-in is not right.', detailsOf(error));
    throw new HttpError(400, `The answer of the provider is not right, or is not to a sign-in of yours. ${AGAIN}`);
  }
  warn('The OpenID Connect provider can not be used.', detailsOf(error));
  const message = 'The provider by which people sign in can not be used now. Try again later.';
  throw new StoreError('unavailable', message, { cause: error });
}

const AGAIN = 'Begin again.';

/** What a provider says when it has trouble of its own (RFC 6749, section 4.1.2.1). */
const PASSING: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** Codes of what goes wrong with the provider itself, and not with an answer of its. */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
]);

/** The error itself holds answers of the provider, with what is in them. */
function detailsOf(error: unknown): Record<string, unknown> {
  if (error instanceof ResponseBodyError) return { reason: error.message, code: quoted(error.error) };
  if (!(error instanceof Error)) return { reason: 'unknown' };
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { reason: error.message, ...('code' in error && { code: error.code }), ...(cause && { cause }) };
}
