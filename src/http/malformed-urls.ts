import type { IncomingMessage, Server } from 'node:http';
import type { FastifyHttpOptions } from 'fastify';
import { sendFailure } from './failures.ts';
import { ROUTED_METHODS } from './methods.ts';
import { isListed } from './page/links.ts';
import { failListing } from './routes/listing.ts';
import type { App, Service } from './service.ts';

/** Where URLs are led that the router can't read. Who asks for it by its name finds nothing. */
const MALFORMED = '/-/malformed';

/** What is wrong with the URL of a request, and how it was written. */
const malformed = new WeakMap<IncomingMessage, { readonly error: Error; readonly url: string }>();

/**
 * Has requests whose URL can't be read go through all that others go through, as the router would answer them before
 * any hook, and so before any check. To be called before every hook that looks at the URL; `malformedRoute` answers.
 */
export function routeMalformedUrls(app: App): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const known = malformed.get(raw);
    if (known) raw.url = known.url;
    done();
  });
}

/** What the framework has to be told when it is made. */
routeMalformedUrls.options = {
  frameworkErrors: (error, { raw, server }, reply) => {
    malformed.set(raw, { error, url: raw.url ?? '' });
    raw.url = MALFORMED;
    server.routing(raw, reply.raw);
  },
} satisfies FastifyHttpOptions<Server>;

/** Answers them, as a listing that can't be given where their URL could have been one. */
export function malformedRoute(app: App, service: Service): void {
  app.setErrorHandler((error, request, reply) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isReading && isListed(request.url)) return failListing(service, error, request, reply);
    return sendFailure(error, request, reply);
  });
  app.route({
    method: [...ROUTED_METHODS],
    url: MALFORMED,
    config: { access: 'public' },
    schema: { hide: true },
    // Before a body is looked at.
    onRequest: async ({ raw }) => {
      const known = malformed.get(raw);
      if (known) throw known.error;
    },
    handler: (_request, reply) => reply.callNotFound(),
  });
}
