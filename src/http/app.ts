import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { allowCors } from './access/cors.ts';
import { guardRequests } from './access/guard-requests.ts';
import { describeApi } from './api-description.ts';
import { davRoute } from './dav/dav.ts';
import { HttpError } from './errors.ts';
import { handleErrors, refuseAmbiguousHosts, refuseControlCharactersInIds } from './failures.ts';
import { type App, setCompilers, WITHOUT_DEFAULT_COMPILERS } from './fastify-app.ts';
import { addLinkHeaders, addQuotaHeader, isolateResponses } from './headers.ts';
import { createFolderCopyLimiter } from './limits/folder-copies.ts';
import { limitOptions, limitRequests } from './limits/limits.ts';
import { createLongOperations } from './long-operations.ts';
import { createRequestIds, logRequests, traceRequests } from './request-log.ts';
import { appTokenRoutes, createAppTokenRoute } from './routes/app-tokens.ts';
import { changeRoutes } from './routes/changes.ts';
import { fetchRoute, signedRoute } from './routes/fetch.ts';
import { deleteFileRoutes, deleteFolderRoute, folderRoutes, renameFileRoute, transferRoutes } from './routes/files.ts';
import { createJobStarter, jobRoutes } from './routes/jobs.ts';
import { changeLinkRoutes, linkRoutes } from './routes/links.ts';
import { listingRoutes } from './routes/listing.ts';
import { lockRoutes } from './routes/locks.ts';
import { mediaListRoute, mediaRoute } from './routes/media.ts';
import { putFileRoute } from './routes/put.ts';
import { renditionRoutes } from './routes/renditions.ts';
import { endSessionRoutes, sessionRoutes, signInRoutes } from './routes/session.ts';
import { assetRoutes, metricsRoute, securityTextRoute, systemRoutes } from './routes/system.ts';
import { listTrashRoute, purgeTrashRoutes, restoreTrashRoute } from './routes/trash.ts';
import { undoRoute } from './routes/undo.ts';
import { uploadRoute } from './routes/upload.ts';
import { presignPartsRoute, uploadsRoutes } from './routes/uploads.ts';
import { deleteVersionsRoute, listVersionsRoute, restoreVersionRoute } from './routes/versions.ts';
import { visitorRoutes } from './routes/visitors.ts';
import { webAppRoutes } from './routes/web-app.ts';
import { changeWebhookRoutes, webhookRoutes } from './routes/webhooks.ts';
import { zipRoutes } from './routes/zip.ts';
import type { Service } from './service.ts';
import {
  collectMethods,
  linkWithoutSlashRoute,
  malformedRoute,
  outsideRoute,
  rejectOtherMethods,
  routeMalformedUrls,
  routeOtherMethods,
} from './unmatched-requests.ts';
import { awaitBodiesBeforeClosing } from './unread-bodies.ts';

/** Maximum size of a JSON body. Two paths of maximum length fit, even with every character escaped. */
const MAX_JSON_BODY_BYTES = 64 * 1024;

/** Maximum length of a URL path for the router. Node.js limits all headers of a request to 16 KiB. */
const MAX_PATH_LENGTH = 16 * 1024;

/** Milliseconds of silence after which the system probes whether a client is still connected (TCP keep-alive). */
const TCP_KEEP_ALIVE_DELAY_MS = 60_000;

/** Creates the application. Closing it waits for requests and folder operations that are in progress. */
export async function buildApp(service: Service, logger: FastifyBaseLogger): Promise<App> {
  const limits = limitOptions(service.limits);
  const requestIds = createRequestIds(service.limits);
  const app: App = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIds,
    bodyLimit: MAX_JSON_BODY_BYTES,
    routerOptions: { maxParamLength: MAX_PATH_LENGTH },
    ...WITHOUT_DEFAULT_COMPILERS,
    // A request that arrives during shutdown gets its response; then its connection closes.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    ...routeMalformedUrls.options,
    ...routeOtherMethods.options(service),
    ...handleErrors.options,
    ...limits,
    http: {
      ...handleErrors.options.http,
      ...limits.http,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_DELAY_MS,
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  // Synchronous hooks take `done` because ten promises took half the time of the smallest response.
  closeConnectionsOnShutdown(app);
  routeOtherMethods(app);
  sendContinueOnRead(app);
  awaitBodiesBeforeClosing(app);
  handleErrors(app, requestIds);
  routeMalformedUrls(app);
  logRequests(app, service);
  traceRequests(app, service);
  isolateResponses(app, service);
  allowCors(app, service);
  await limitRequests(app, service.limits);
  refuseAmbiguousHosts(app);
  refuseControlCharactersInIds(app);
  guardRequests(app, service);
  addQuotaHeader(app, service);
  addLinkHeaders(app);
  setCompilers(app);
  const methodsOf = collectMethods(app);
  if (service.apiDocs) describeApi(app, service);
  if (service.security) securityTextRoute(app, service, service.security);
  await app.register(async (routes: App) => registerRoutes(routes, service));
  rejectOtherMethods(app, methodsOf);
  return app;
}

/**
 * Closes connections during shutdown. A response that began before has promised to keep its connection open, and
 * nothing else would close it. Later responses announce that the connection closes.
 */
function closeConnectionsOnShutdown(app: App): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onResponse', (_request, _reply, done) => {
    // The server treats the connection as idle only in the next iteration of the event loop.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections());
    done();
  });
}

async function registerRoutes(app: App, service: Service): Promise<void> {
  const operations = createLongOperations();
  const jobs = createJobStarter(service);
  const limitFolderCopy = createFolderCopyLimiter();
  app.addHook('onClose', () => operations.finished());

  await app.register(async (upload: App) => uploadRoute(upload, service));
  await app.register(async (raw: App) => putFileRoute(raw, service));
  const { uploads, dav } = service;
  if (dav?.isServed) await app.register(async (webDav: App) => davRoute(webDav, service, { dav, limitFolderCopy }));
  if (uploads) await app.register(async (resumable: App) => uploadsRoutes(resumable, service, uploads));
  await app.register(async (bodiless: App) => {
    // Clients send a Content-Type without a body, with "{}" or with anything else. These routes ignore it.
    bodiless.addHook('onRequest', ({ headers }, _reply, done) => {
      delete headers['content-type'];
      done();
    });
    bodiless.removeAllContentTypeParsers();
    bodiless.addContentTypeParser('*', (_request, _payload, done) => done(null));
    deleteFileRoutes(bodiless);
    deleteFolderRoute(bodiless, { operations, jobs });
    purgeTrashRoutes(bodiless, { operations, jobs });
    deleteVersionsRoute(bodiless);
    if (dav) lockRoutes(bodiless, dav);
    if (service.jobs) jobRoutes(bodiless, service.jobs);
    if (service.changes) changeRoutes(bodiless, service.changes.feed);
    if (service.webhooks) webhookRoutes(bodiless, service, service.webhooks);
    if (service.links) linkRoutes(bodiless, service, service.links);
    if (service.appTokens) appTokenRoutes(bodiless, service.appTokens);
    endSessionRoutes(bodiless, service);
  });
  await app.register(async (json: App) => {
    parseJsonBodies(json);
    renameFileRoute(json);
    folderRoutes(json, { operations, jobs });
    transferRoutes(json, { operations, jobs, limitFolderCopy });
    restoreTrashRoute(json, { operations, jobs });
    restoreVersionRoute(json);
    mediaListRoute(json, service);
    if (uploads) presignPartsRoute(json, service, uploads);
    if (service.changes) {
      const { feed, identify } = service.changes;
      undoRoute(json, { log: feed.log, operations, readOnly: service.readOnly, identify });
    }
    if (service.webhooks) changeWebhookRoutes(json, service, service.webhooks);
    if (service.links) changeLinkRoutes(json, service, service.links);
    if (service.appTokens) createAppTokenRoute(json, service, service.appTokens);
    sessionRoutes(json, service);
  });
  await app.register(async (zip: App) => {
    parseJsonBodies(zip);
    zipRoutes(zip, service);
  });
  await app.register(async (listing: App) => listingRoutes(listing, service));
  await app.register(async (malformed: App) => malformedRoute(malformed, service));
  if (service.basePath !== '') outsideRoute(app, service);
  linkWithoutSlashRoute(app);
  await app.register(async (assets: App) => assetRoutes(assets, service));
  await app.register(async (webApp: App) => webAppRoutes(webApp, service));
  await app.register(async (fetching: App) => fetchRoute(fetching, service));
  renditionRoutes(app, service);
  mediaRoute(app, service);
  listTrashRoute(app);
  listVersionsRoute(app);
  await app.register(async (signIn: App) => signInRoutes(signIn, service));
  systemRoutes(app, service);
  if (service.metrics) metricsRoute(app, service.metrics);
  if (service.signedUrls || service.links) signedRoute(app, service);
  const { links } = service;
  if (links) {
    await app.register(async (visitors: App) => {
      parseJsonBodies(visitors);
      visitorRoutes(visitors, service, links);
    });
  }
}

/** Rejects JSON that is not UTF-8. Lenient decoding would change the names of files. */
function parseJsonBodies(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (!isUtf8(body)) return done(new HttpError('invalid-json', 'The body is not valid UTF-8.'), undefined);
    const text = body.toString();
    return parse(request, text, (error, parsed) => done(error && isJson(text) ? prototypeKeyError() : error, parsed));
  });
}

/** Error for keys that the framework rejects with the same error as invalid JSON. */
const prototypeKeyError = () =>
  new HttpError('invalid-json', 'The body has the forbidden key "__proto__", or "prototype" in "constructor".');

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Sends `100 Continue` when the service begins to read the body of a request with `Expect: 100-continue` (RFC 9110,
 * section 10.1.1). Node.js would send it before any decision. A request that is refused by its headers now gets the
 * error response, and its client does not send the body.
 */
export function sendContinueOnRead(app: App): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const read = request._read;
    request._read = function readAndContinue(size) {
      this._read = read;
      // After the response, the rest of the body is only drained.
      if (!response.headersSent && !response.writableEnded) response.writeContinue();
      read.call(this, size);
    };
    app.server.emit('request', request, response);
  });
}
