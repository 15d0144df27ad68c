import { Type } from 'typebox';
import type { WaysIn } from '../access/ways-in.ts';
import { HttpError } from '../errors.ts';
import { Failure, SignIn, Success } from '../schemas.ts';
import type { App, Service } from '../service.ts';

const config = { access: 'public' } as const;

/** Who one is, and the form by which one signs in. */
export function sessionRoutes(app: App, { access }: Service): void {
  app.get(
    '/-/session',
    {
      config,
      schema: {
        tags: ['Signing in'],
        summary: 'Who sends the request, and how to sign in',
        response: { 200: Asker, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { waysIn } = access;
      const proof = await waysIn?.authenticate(request, reply);
      reply.header('cache-control', 'no-store');
      const signIn = waysIn?.signIn() ?? { password: false, provider: false };
      return { success: true, name: proof?.who.name ?? null, signIn } as const;
    },
  );

  app.post(
    '/-/session',
    {
      config,
      // The usual answer to a mistake would show the password.
      attachValidation: true,
      schema: {
        tags: ['Signing in'],
        summary: 'Sign in by name and password',
        description: 'The session is in the cookie that the answer sets. A 429 says when to try again.',
        body: Credentials,
        response: { 200: SignedIn, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      if (request.validationError) {
        throw new HttpError(400, 'The body must be {"name": "…", "password": "…"}, and both must be texts.');
      }
      const { name } = await needWaysIn(access.waysIn).signInByPassword(request.body, request, reply);
      reply.header('cache-control', 'no-store');
      return { success: true, message: 'Signed in.', name } as const;
    },
  );
}

/** The end of a session. Its requests have no body; what is sent as one is not looked at. */
export function endSessionRoutes(app: App, { access }: Service): void {
  const schema = {
    tags: ['Signing in'],
    summary: 'Sign out',
    description:
      'Ends the session of the request everywhere. It is a success without one too. ' +
      '`POST /-/session/end` is for environments that lack `DELETE`.',
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
        const session = await access.waysIn?.signOut(request, reply);
        if (session) {
          const { name } = session.who;
          request.access?.record({ event: 'sign-out', action: 'session', name, outcome: 'done' });
        }
        reply.header('cache-control', 'no-store');
        return { success: true, message: 'Signed out.' } as const;
      },
    });
  }
}

function needWaysIn(waysIn: WaysIn | undefined): WaysIn {
  if (waysIn) return waysIn;
  throw new HttpError(404, 'There is nobody to sign in as: the service has no access file.');
}

const Asker = Type.Object(
  {
    success: Type.Literal(true),
    name: Type.Union([Type.String(), Type.Null()], { description: 'Null for somebody who has not signed in.' }),
    signIn: SignIn,
  },
  { title: 'Asker' },
);

const Credentials = Type.Object({ name: Type.String(), password: Type.String() });

const SignedIn = Type.Object(
  { success: Type.Literal(true), message: Type.String(), name: Type.String() },
  { title: 'Signed in' },
);
