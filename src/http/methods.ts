import { HttpError } from './errors.ts';
import { unknownRoute } from './failures.ts';
import type { App } from './service.ts';

/** Records the methods of each path that is registered from now on. */
export function collectMethods(app: App): ReadonlyMap<string, ReadonlySet<string>> {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    // Fastify reports the second path of a plugin's root only with its HEAD route.
    if (methods.has('HEAD')) methods.add('GET');
    methodsOf.set(url, methods);
  });
  return methodsOf;
}

/**
 * Responds to methods that a path does not support: 405 with `Allow`, or 204 with `Allow` for OPTIONS. Below `/-/`, a
 * path without a route is a 404, not a folder.
 */
export function refuseOtherMethods(app: App, methodsOf: ReadonlyMap<string, ReadonlySet<string>>): void {
  app.all(
    '/-/*',
    {
      config: { access: 'public' },
      schema: { hide: true },
      // Before the body is read.
      onRequest: async (request) => {
        throw unknownRoute(request);
      },
    },
    (_request, reply) => reply.callNotFound(),
  );

  for (const [url, present] of methodsOf) {
    const allow = [...present].toSorted().join(', ');
    const others = app.supportedMethods.filter((method) => !present.has(method));
    if (others.length === 0) continue;
    app.route({
      method: others,
      url,
      config: { access: 'public' },
      schema: { hide: true },
      // Before the body is validated, because it is irrelevant.
      onRequest: async (request, reply) => {
        reply.header('allow', allow);
        if (request.method === 'OPTIONS') return reply.code(204).send();
        throw new HttpError(405, `The method ${request.method} is not allowed here; allowed: ${allow}.`);
      },
      handler: (_request, reply) => reply.callNotFound(),
    });
  }
}
