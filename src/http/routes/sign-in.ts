import { Type } from 'typebox';
import type { ProviderSignIn } from '../access/provider-sign-in.ts';
import { CALLBACK } from '../access/return-to.ts';
import { HttpError } from '../errors.ts';
import { Failure } from '../schemas.ts';
import type { App, Service } from '../service.ts';
import { asPageToo, failListing } from './listing.ts';

/** Signing in by a provider: the way to it, and the way back. */
export function signInRoutes(app: App, service: Service): void {
  const { access } = service;
  const config = { access: 'public' } as const;
  const response = { 302: Type.Null(), '4xx': asPageToo(Failure), '5xx': asPageToo(Failure) };

  // It is people who come here: they get the page, which says what went wrong and how to go on.
  app.setErrorHandler((error, request, reply) => failListing(service, error, request, reply));
  app.get(
    '/-/sign-in',
    {
      config,
      schema: {
        tags: ['Signing in'],
        summary: 'Sign in by the OpenID Connect provider',
        querystring: Type.Object({
          return: Type.Optional(
            Type.String({ description: 'Where to come back to, relative to the root of the service.' }),
          ),
        }),
        response,
      },
    },
    async (request, reply) => {
      const url = await needProvider(access.waysIn?.provider).begin(request, reply, request.query.return ?? '');
      return reply.header('cache-control', 'no-store').redirect(url.href, 302);
    },
  );

  app.get(CALLBACK, { config, schema: { hide: true } }, async (request, reply) => {
    const provider = needProvider(access.waysIn?.provider);
    try {
      const { who, url } = await provider.finish(request, reply);
      request.access?.record({ event: 'sign-in', action: 'provider', name: who.name, outcome: 'done' });
      return await reply.header('cache-control', 'no-store').redirect(url.href, 302);
    } catch (error) {
      const outcome =
        error instanceof HttpError
          ? ({ outcome: 'refused', reason: error.message } as const)
          : { outcome: 'failed' as const };
      request.access?.record({ event: 'sign-in', action: 'provider', ...outcome });
      throw error;
    }
  });
}

function needProvider(provider: ProviderSignIn | undefined): ProviderSignIn {
  if (provider) return provider;
  throw new HttpError(404, 'There is no provider to sign in by: the service has no OIDC_ISSUER.');
}
