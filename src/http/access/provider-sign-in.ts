import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JWTPayload } from 'jose';
import type { Identity, Policy } from '../../access/policy.ts';
import { createSeal } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';
import { createProvider, type PendingSignIn, type ProviderSettings, parseReturnUrl } from './provider.ts';
import { createCookie, type SessionCookie } from './session-cookie.ts';

/** Sign-in with an identity provider, from the redirect to the OIDC callback. */
export interface ProviderSignIn {
  /**
   * Returns the URL of the provider to redirect to. `returnTo` is the location to return to, relative to the root of
   * the service.
   */
  begin(request: FastifyRequest, reply: FastifyReply, returnTo: string): Promise<URL>;
  /**
   * Handles the OIDC callback: begins a session, and returns the user and the URL to return to. Throws 400 if the
   * sign-in did not begin in this browser, or expired.
   */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<{ readonly user: Identity; readonly url: URL }>;
}

export interface ProviderSignInOptions {
  readonly key: Buffer;
  readonly publicUrl: string | undefined;
  readonly basePath: string;
  readonly provider?: ProviderSettings | undefined;
  readonly policy: () => Policy;
  readonly cookie: SessionCookie;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Seconds that a user has to sign in at the provider. */
const SIGN_IN_TIMEOUT_SECONDS = 600;

/** Creates the sign-in; undefined if no identity provider is configured. */
export function createProviderSignIn({
  key,
  publicUrl,
  basePath,
  provider: settings,
  policy,
  cookie: sessionCookie,
  warn,
}: ProviderSignInOptions): ProviderSignIn | undefined {
  if (!settings || publicUrl === undefined) return undefined;
  const provider = createProvider({ ...settings, publicUrl, warn });
  const seal = createSeal(key, 'sign-in');
  const cookie = createCookie('holdall-sign-in', { key, publicUrl, basePath });

  return {
    async begin(request, reply, returnTo) {
      // Validates the return location before any request to the provider.
      const returnUrl = parseReturnUrl(publicUrl, returnTo);
      const { url, pending } = await provider.begin();
      const expires = new Date(Date.now() + SIGN_IN_TIMEOUT_SECONDS * 1000);
      const sealed = await seal.close({ ...pending, back: returnUrl.href }, expires);
      cookie.set(request, reply, sealed, SIGN_IN_TIMEOUT_SECONDS);
      return url;
    },

    async finish(request, reply) {
      const pending = pendingSignInOf(await seal.open(cookie.read(request) ?? ''));
      // The cookie is valid for one callback, even if that fails.
      if (cookie.isSent(request)) cookie.clear(request, reply);
      if (!pending) {
        throw new HttpError(
          'sign-in-expired',
          `This sign-in began in another browser or more than ${SIGN_IN_TIMEOUT_SECONDS / 60} minutes ago. Sign in again.`,
        );
      }
      const user = await provider.finish(new URL(request.url, 'http://service').search, pending);
      await sessionCookie.begin(request, reply, {
        user,
        signInMethod: 'provider',
        userEntry: policy().userEntry(user.name),
      });
      return { user, url: new URL(pending.back) };
    },
  };
}

function pendingSignInOf(claims: JWTPayload | undefined): (PendingSignIn & { readonly back: string }) | undefined {
  if (!claims) return undefined;
  const { state, nonce, verifier, back } = claims;
  const isComplete =
    typeof state === 'string' && typeof nonce === 'string' && typeof verifier === 'string' && typeof back === 'string';
  return isComplete ? { state, nonce, verifier, back } : undefined;
}
