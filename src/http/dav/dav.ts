import type { FastifyReply } from 'fastify';
import type { App } from '../fastify-app.ts';
import { createListingLimiter } from '../limits/limits.ts';
import { publicPathOf } from '../public-path.ts';
import type { Service } from '../service.ts';
import { ROUTED_METHODS } from '../unmatched-requests.ts';
import { get, put } from './content.ts';
import { DavContext, type DavEnvironment, type DavHttpRequest } from './context.ts';
import { DavError } from './dav-error.ts';
import { sendDavFailure } from './errors.ts';
import { lock, unlock } from './locking.ts';
import { copy, mkcol, move, remove } from './namespace.ts';
import { propfind } from './propfind.ts';
import { proppatch } from './proppatch.ts';
import { DAV_ROUTE, DavUrls } from './targets.ts';

type Handler = (context: DavContext) => FastifyReply | Promise<FastifyReply>;

/** The methods of WebDAV, in the order of `Allow`. */
const HANDLERS = {
  COPY: copy,
  DELETE: remove,
  GET: get,
  HEAD: get,
  LOCK: lock,
  MKCOL: mkcol,
  MOVE: move,
  OPTIONS: options,
  PROPFIND: propfind,
  PROPPATCH: proppatch,
  PUT: put,
  UNLOCK: unlock,
} as const satisfies Readonly<Record<string, Handler>>;

const ALLOW = Object.keys(HANDLERS).join(', ');

/**
 * Serves WebDAV (RFC 4918), classes 1, 2 and 3. The router knows only the common methods: it gets the others as OPTIONS
 * (`routeOtherMethods`), so that one handler has all of them. Every operation goes through the guarded files of the request.
 */
export function davRoute(
  app: App,
  service: Service,
  { dav, limitFolderCopy }: Pick<DavEnvironment, 'dav' | 'limitFolderCopy'>,
): void {
  const publicPath = publicPathOf(service);
  const environment: DavEnvironment = {
    service,
    dav,
    publicPath,
    urls: new DavUrls({ ...service, publicPath }),
    limitListing: createListingLimiter(),
    limitFolderCopy,
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setErrorHandler((error, request, reply) => sendDavFailure(error, { request, reply, urls: environment.urls }));
  for (const url of [DAV_ROUTE, `${DAV_ROUTE}/*`]) {
    app.route({
      method: [...ROUTED_METHODS],
      url,
      exposeHeadRoute: false,
      config: { access: 'files', credentials: 'explicit', isForDav: true },
      schema: { hide: true },
      handler: (request: DavHttpRequest, reply) => {
        const { method } = request;
        if (!isKnown(method)) {
          reply.header('allow', ALLOW);
          throw new DavError(405, `The method ${method} is not allowed here; allowed: ${ALLOW}.`);
        }
        return HANDLERS[method](new DavContext(environment, request, reply));
      },
    });
  }
}

const isKnown = (method: string): method is keyof typeof HANDLERS => Object.hasOwn(HANDLERS, method);

/** OPTIONS. `MS-Author-Via` makes Windows and Office use WebDAV. */
async function options({ reply }: DavContext): Promise<FastifyReply> {
  return reply
    .code(200)
    .header('allow', ALLOW)
    .header('dav', '1, 2, 3')
    .header('ms-author-via', 'DAV')
    .header('accept-ranges', 'bytes')
    .send();
}
