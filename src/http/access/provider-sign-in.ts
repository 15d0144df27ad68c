import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JWTPayload } from 'jose';
import type { Identity } from '../../access/identity.ts';
import type { Policy } from '../../access/policy.ts';
import { createSeal } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';
import { createProvider, type Departure, type ProviderSettings, returnUrl } from './provider.ts';
import { createCookie, type SessionCookie } from './session-cookie.ts';

/** Signing in by a provider, from the page and back to it. */
export interface ProviderSignIn {
  /** Where to send somebody who is to come back to `place`, which is relative to the root of the service. */
  begin(request: FastifyRequest, reply: FastifyReply, place: string): Promise<URL>;
  /** Begins a session for somebody whom the provider sent back, and says where they were. */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<{ readonly who: Identity; readonly url: URL }>;
}

export interface ProviderSignInOptions {
  readonly key: Buffer;
  readonly publicUrl: string | undefined;
  readonly provider?: ProviderSettings | undefined;
  readonly policy: () => Policy;
  readonly cookie: SessionCookie;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Seconds that somebody may take at the provider. */
const PATIENCE = 600;

/** Undefined where no provider is set up. */
export function createProviderSignIn({
  key,
  publicUrl,
  provider: settings,
  policy,
  cookie: sessionCookie,
  warn,
}: ProviderSignInOptions): ProviderSignIn | undefined {
  if (!settings || publicUrl === undefined) return undefined;
  const provider = createProvider({ ...settings, publicUrl, warn });
  const seal = createSeal(key, 'sign-in');
  const cookie = createCookie('holdall-sign-in', publicUrl);

  return {
    async begin(request, reply, place) {
      // Before anything is asked of the provider.
      const back = returnUrl(publicUrl, place);
      const { url, departure } = await provider.begin();
      const kept = await seal.close({ ...departure, back: back.href }, new Date(Date.now() + PATIENCE * 1000));
      cookie.keep(request, reply, kept, PATIENCE);
      return url;
    },

    async finish(request, reply) {
      const departed = departureIn(await seal.open(cookie.read(request) ?? ''));
      // Whatever comes of it, it is good for one time.
      if (cookie.isSent(request)) cookie.forget(request, reply);
      if (!departed) {
        throw new HttpError(
          400,
          `This sign-in was not begun in this browser, or longer than ${PATIENCE / 60} minutes ago. Begin again.`,
        );
      }
      const who = await provider.finish(new URL(request.url, 'http://service').search, departed);
      await sessionCookie.begin(request, reply, { who, by: 'provider', person: policy().person(who.name) });
      return { who, url: new URL(departed.back) };
    },
  };
}

function departureIn(claims: JWTPayload | undefined): (Departure & { readonly back: string }) | undefined {
  if (!claims) return undefined;
  const { state, nonce, verifier, back } = claims;
  const isWhole =
    typeof state === 'string' && typeof nonce === 'string' && typeof verifier === 'string' && typeof back === 'string';
  return isWhole ? { state, nonce, verifier, back } : undefined;
}
