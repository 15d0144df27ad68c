import { Type } from 'typebox';
import type { Authenticators } from '../access/authentication.ts';
import type { ProviderSignIn } from '../access/provider-sign-in.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { SIGN_IN_CALLBACK } from '../request-url.ts';
import { Failure, SignIn, Success } from '../schemas.ts';
import type { Service } from '../service.ts';
import { sendListingFailure, withHtml } from './listing.ts';

const config = { access: 'public' } as const;

/** Registers the routes that return the current user and sign in with a password. */
export function sessionRoutes(app: App, { access }: Service): void {
  app.get(
    '/-/session',
    {
      config,
      schema: {
        tags: ['Sign-in'],
        summary: 'Get the current user and the sign-in methods',
        response: { 200: CurrentUser, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { authenticators } = access;
      const authentication = await authenticators?.authenticate(request, reply);
      reply.header('cache-control', 'no-store');
      const signIn = authenticators?.signInMethods() ?? { password: false, provider: false };
      return { success: true, name: authentication?.user.name ?? null, signIn } as const;
    },
  );

  app.post(
    '/-/session',
    {
      config,
      // The default validation error would contain the password.
      attachValidation: true,
      schema: {
        tags: ['Sign-in'],
        summary: 'Sign in with username and password',
        description: 'The response sets the session cookie. A 429 response has `Retry-After`.',
        body: Credentials,
        response: { 200: SignedIn, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      access.authenticators?.rejectAppToken(request);
      if (request.validationError) {
        throw new HttpError('invalid-parameter', 'The body must be {"name": "…", "password": "…"}.');
      }
      const { name } = await requireAuthenticators(access.authenticators).signInWithPassword(
        request.body,
        request,
        reply,
      );
      reply.header('cache-control', 'no-store');
      return { success: true, message: 'Signed in.', name } as const;
    },
  );
}

/** Registers sign-out. Ignores the body of its requests. */
export function endSessionRoutes(app: App, { access }: Service): void {
  const schema = {
    tags: ['Sign-in'],
    summary: 'Sign out',
    description:
      'Ends the session of the request on all servers. Succeeds without a session. ' +
      'Use `POST /-/session/end` if your client or proxy does not support `DELETE`.',
    response: { 200: Success, '4xx': Failure, '5xx': Failure },
  };
  for (const [method, url] of [
    ['DELETE', '/-/session'],
    ['POST', '/-/session/end'],
  ] as const) {
    app.route({
      method,
      url,
      config,
      schema,
      handler: async (request, reply) => {
        const session = await access.authenticators?.signOut(request, reply);
        if (session) {
          const { name } = session.user;
          request.access?.record({ event: 'sign-out', action: 'session', name, outcome: 'done' });
        }
        reply.header('cache-control', 'no-store');
        return { success: true, message: 'Signed out.' } as const;
      },
    });
  }
}

function requireAuthenticators(authenticators: Authenticators | undefined): Authenticators {
  if (authenticators) return authenticators;
  throw new HttpError('sign-in-disabled', 'Password sign-in is disabled: ACCESS_FILE is not set.');
}

const CurrentUser = Type.Object(
  {
    success: Type.Literal(true),
    name: Type.Union([Type.String(), Type.Null()], { description: 'The username; null for anonymous users.' }),
    signIn: SignIn,
  },
  { title: 'CurrentUser' },
);

const Credentials = Type.Object(
  {
    name: Type.String({ description: 'The username.' }),
    password: Type.String({ description: 'The password.' }),
  },
  { title: 'Credentials' },
);

const SignedIn = Type.Object(
  { success: Type.Literal(true), message: Type.String(), name: Type.String() },
  { title: 'SignedIn' },
);

/** Registers sign-in with the identity provider: the redirect to it and the OIDC callback. */
export function signInRoutes(app: App, service: Service): void {
  const { access } = service;
  const response = { 302: Type.Null(), '4xx': withHtml(Failure), '5xx': withHtml(Failure) };

  // Users open these URLs in a browser: on an error, they get the web UI, which shows the reason and lets them retry.
  app.setErrorHandler((error, request, reply) => sendListingFailure(service, error, request, reply));
  app.get(
    '/-/sign-in',
    {
      config,
      schema: {
        tags: ['Sign-in'],
        summary: 'Sign in with the OpenID Connect provider',
        querystring: Type.Object({
          return: Type.Optional(
            Type.String({ description: 'Where to return after the sign-in, relative to the root of the service.' }),
          ),
        }),
        response,
      },
    },
    async (request, reply) => {
      access.authenticators?.rejectAppToken(request);
      const url = await requireProvider(access.authenticators?.provider).begin(
        request,
        reply,
        request.query.return ?? '',
      );
      return reply.header('cache-control', 'no-store').redirect(url.href, 302);
    },
  );

  app.get(SIGN_IN_CALLBACK, { config, schema: { hide: true } }, async (request, reply) => {
    const provider = requireProvider(access.authenticators?.provider);
    try {
      const { user, url } = await provider.finish(request, reply);
      request.access?.record({ event: 'sign-in', action: 'provider', name: user.name, outcome: 'done' });
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

function requireProvider(provider: ProviderSignIn | undefined): ProviderSignIn {
  if (provider) return provider;
  throw new HttpError('sign-in-disabled', 'Sign-in with an identity provider is disabled: OIDC_ISSUER is not set.');
}
