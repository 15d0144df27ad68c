import type { IncomingMessage, Server } from 'node:http';
import type { FastifyContextConfig, FastifyHttpOptions } from 'fastify';
import { HttpError } from './errors.ts';
import { sendFailure, unknownRoute } from './failures.ts';
import type { App } from './fastify-app.ts';
import { isListingUrl } from './page/document.ts';
import {
  isLinkUrl,
  LINK_WITHOUT_SLASH_ROUTE,
  OUTSIDE_ROUTE,
  originalUrl,
  pathOf,
  rewriteTarget,
} from './request-url.ts';
import { sendListingFailure } from './routes/listing.ts';
import type { Service } from './service.ts';
import { overridingMethod } from './uploads/tus.ts';

/** The methods of the router. Other methods are routed as OPTIONS. */
export const ROUTED_METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const;

const isRouted = (method: string) => ROUTED_METHODS.some((routed) => routed === method);

/** The real methods of requests that are routed as OPTIONS. */
const realMethods = new WeakMap<IncomingMessage, string>();

/**
 * Routes methods without routes, such as PROPFIND, as OPTIONS. The router has a tree per method; trees for all 34 methods
 * of Node.js took a third of the time to create the application. Call before every hook that reads the method.
 */
export function routeOtherMethods(app: App): void {
  // Fastify would return 400 to QUERY without a Content-Type, before the handler can return 405.
  app.addHttpMethod('QUERY', { hasBody: false, overrideExisting: true });
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const method = realMethods.get(raw);
    if (method !== undefined) raw.method = method;
    done();
  });
}

/**
 * Options of the framework, whose only hook before the router rewrites URLs. It also removes the base path and the token of
 * a link, and replaces the method of uploads by tus.
 */
routeOtherMethods.options = ({ basePath }: Pick<Service, 'basePath'>) => ({
  rewriteUrl(request: IncomingMessage): string {
    const { method = '' } = request;
    if (!isRouted(method)) {
      realMethods.set(request, method);
      request.method = 'OPTIONS';
    }
    const target = rewriteTarget(request, basePath);
    request.method = overridingMethod(request, target) ?? request.method;
    return target;
  },
});

/**
 * Records the methods of each path that is registered from now on.
 *
 * @throws if a route has a method that is not in `ROUTED_METHODS`
 */
export function collectMethods(app: App): ReadonlyMap<string, RouteMethods> {
  const methodsOf = new Map<string, RouteMethods & { readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const found = methodsOf.get(url);
    const { methods, ...access } = found ?? {
      methods: new Set(),
      links: config?.links,
      isOnlyForLinks: config?.isOnlyForLinks,
    };
    const optionsHeaders = { ...found?.optionsHeaders, ...config?.optionsHeaders };
    for (const name of [method].flat()) {
      if (!isRouted(name)) throw new Error(`Add ${name}, a method of the route ${url}, to ROUTED_METHODS.`);
      methods.add(name);
    }
    // Fastify reports the second path of a plugin's root only with its HEAD route.
    if (methods.has('HEAD')) methods.add('GET');
    methodsOf.set(url, { ...access, methods, optionsHeaders });
  });
  return methodsOf;
}

/** The methods of a path, and who can use it. */
interface RouteMethods extends Pick<FastifyContextConfig, 'links' | 'isOnlyForLinks' | 'optionsHeaders'> {
  readonly methods: ReadonlySet<string>;
}

/**
 * Responds to methods that a path does not support: 405 with `Allow`, or 204 with `Allow` for OPTIONS. Below `/-/`, a
 * path without a route is a 404, not a folder.
 */
export function rejectOtherMethods(app: App, methodsOf: ReadonlyMap<string, RouteMethods>): void {
  app.route({
    method: [...ROUTED_METHODS],
    url: '/-/*',
    config: { access: 'public' },
    schema: { hide: true },
    // Before the body is read.
    onRequest: async (request) => {
      throw unknownRoute(request);
    },
    handler: (_request, reply) => reply.callNotFound(),
  });

  for (const [url, { methods: present, links, isOnlyForLinks, optionsHeaders = {} }] of methodsOf) {
    const allow = [...present].toSorted().join(', ');
    const others = ROUTED_METHODS.filter((method) => !present.has(method));
    if (others.length === 0) continue;
    app.route({
      method: others,
      url,
      config: { access: 'public', ...(links && { links }), ...(isOnlyForLinks && { isOnlyForLinks }) },
      schema: { hide: true },
      // Before the body is validated, because it is irrelevant.
      onRequest: async (request, reply) => {
        reply.header('allow', allow);
        if (request.method === 'OPTIONS') return reply.headers(optionsHeaders).code(204).send();
        throw new HttpError(
          'method-not-allowed',
          `The method ${request.method} is not allowed here; allowed: ${allow}.`,
        );
      },
      handler: (_request, reply) => reply.callNotFound(),
    });
  }
}

/** Internal route for requests whose URL the router can't parse. Direct requests for it get 404. */
const MALFORMED_URL_ROUTE = '/-/malformed';

/** The URL error of a request, and its original URL. */
const malformedUrls = new WeakMap<IncomingMessage, { readonly error: Error; readonly url: string }>();

/**
 * Routes requests with a malformed URL to `malformedRoute`, so that all hooks and checks run. The router would respond
 * to them before any hook. Call before every hook that reads the URL.
 */
export function routeMalformedUrls(app: App): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const known = malformedUrls.get(raw);
    if (known) raw.url = known.url;
    done();
  });
}

/** Options of the framework for URLs that the router rejects. */
routeMalformedUrls.options = {
  frameworkErrors: (error, { raw, server }, reply) => {
    malformedUrls.set(raw, { error, url: raw.url ?? '' });
    raw.url = MALFORMED_URL_ROUTE;
    server.routing(raw, reply.raw);
  },
} satisfies FastifyHttpOptions<Server>;

/** Responds to malformed URLs, in the format of a listing if the URL could have named a folder. */
export function malformedRoute(app: App, service: Service): void {
  app.setErrorHandler((error, request, reply) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    if (isReading && isListingUrl(request.url)) return sendListingFailure(service, error, request, reply);
    return sendFailure(error, request, reply);
  });
  app.route({
    method: [...ROUTED_METHODS],
    url: MALFORMED_URL_ROUTE,
    config: { access: 'public', links: 'visitors' },
    schema: { hide: true },
    // Before the body is read.
    onRequest: async ({ raw }) => {
      const known = malformedUrls.get(raw);
      if (known) throw known.error;
    },
    handler: (_request, reply) => reply.callNotFound(),
  });
}

/**
 * Responds to requests outside the base path with 404. Redirects the base path without its trailing slash, so that
 * relative URLs of the web UI work.
 */
export function outsideRoute(app: App, { basePath }: Pick<Service, 'basePath'>): void {
  app.route({
    method: [...ROUTED_METHODS],
    url: OUTSIDE_ROUTE,
    config: { access: 'public' },
    schema: { hide: true },
    // Before the body is read.
    onRequest: async (request, reply) => {
      const path = pathOf(request);
      const isReading = request.method === 'GET' || request.method === 'HEAD';
      if (isReading && path === basePath) {
        const query = originalUrl(request).slice(path.length);
        return reply
          .code(308)
          .header('location', `./${basePath.slice(basePath.lastIndexOf('/') + 1)}/${query}`)
          .send();
      }
      if (path.startsWith(`${basePath}/`)) throw unknownRoute(request);
      throw new HttpError(
        'unknown-route',
        `There is no route ${request.method} ${path}. All routes of this service are below ${basePath}/ (BASE_PATH).`,
      );
    },
    handler: (_request, reply) => reply.callNotFound(),
  });
}

/**
 * Redirects the URL of a share link without its final slash, so that relative URLs of the web UI work. Does not reveal
 * whether the link exists.
 */
export function linkWithoutSlashRoute(app: App): void {
  app.route({
    method: [...ROUTED_METHODS],
    url: LINK_WITHOUT_SLASH_ROUTE,
    config: { access: 'public' },
    schema: { hide: true },
    // Before the body is read.
    onRequest: async (request, reply) => {
      const isReading = request.method === 'GET' || request.method === 'HEAD';
      if (!isLinkUrl(request) || !isReading) throw unknownRoute(request);
      const [path = '', ...query] = originalUrl(request).split(/(?=\?)/);
      const token = path.slice(path.lastIndexOf('/') + 1);
      return reply
        .code(308)
        .header('cache-control', 'no-store')
        .header('location', `./${token}/${query.join('')}`)
        .send();
    },
    handler: (_request, reply) => reply.callNotFound(),
  });
}
