import { HttpError } from './errors.ts';
import { unknownRoute } from './failures.ts';
import type { App } from './service.ts';

/** Remembers which methods each path gets, from now on. */
export function collectMethods(app: App): ReadonlyMap<string, ReadonlySet<string>> {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    // A plugin's own root has two paths, of which Fastify tells the second with its HEAD alone.
    if (methods.has('HEAD')) methods.add('GET');
    methodsOf.set(url, methods);
  });
  return methodsOf;
}

/**
 * Answers the methods that paths do not have: with 405 and `Allow`; OPTIONS with `Allow` alone. Below `/-/`,
 * what has no route is a 404, and no folder.
 */
export function refuseOtherMethods(app: App, methodsOf: ReadonlyMap<string, ReadonlySet<string>>): void {
  app.all(
    '/-/*',
    {
      config: { access: 'public' },
      schema: { hide: true },
      // Before a body is read.
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
      // Before a body is looked at: whatever it is, it is not wanted.
      onRequest: async (request, reply) => {
        reply.header('allow', allow);
        if (request.method === 'OPTIONS') return reply.code(204).send();
        throw new HttpError(405, `The method ${request.method} is not allowed here; allowed: ${allow}.`);
      },
      handler: (_request, reply) => reply.callNotFound(),
    });
  }
}
