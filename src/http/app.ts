import { isUtf8 } from 'node:buffer';
import { METHODS } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Ajv } from 'ajv';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { guardRequests } from './access/request-access.ts';
import { describeApi } from './api-description.ts';
import { setsItsCompilers } from './compilers.ts';
import { HttpError } from './errors.ts';
import { continueWhenRead } from './expect-continue.ts';
import { answerFailures, refuseAmbiguousHosts } from './failures.ts';
import { isolateAnswers } from './isolation.ts';
import { limitOptions, limitRequests } from './limits/limits.ts';
import { createLongOperations } from './long-operations.ts';
import { malformedRoute, routeMalformedUrls } from './malformed-urls.ts';
import { collectMethods, refuseOtherMethods } from './methods.ts';
import { tellQuota } from './quota.ts';
import { createRequestIds, logRequests } from './request-log.ts';
import { traceRequests } from './request-trace.ts';
import { assetRoutes } from './routes/assets.ts';
import { fetchRoute } from './routes/fetch.ts';
import { deleteFileRoute, renameFileRoute } from './routes/files.ts';
import { deleteFolderRoute, folderRoutes } from './routes/folders.ts';
import { listingRoutes } from './routes/listing.ts';
import { metricsRoute } from './routes/metrics.ts';
import { endSessionRoutes, sessionRoutes } from './routes/session.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { signedRoute } from './routes/signed.ts';
import { securityTextRoute, systemRoutes } from './routes/system.ts';
import { thumbnailRoute } from './routes/thumbnail.ts';
import { transferRoutes } from './routes/transfer.ts';
import { uploadRoute } from './routes/upload.ts';
import type { App, Service } from './service.ts';

/** Bytes of a JSON body: two paths of the longest kind, with every character escaped, fit. */
const BODY_LIMIT = 64 * 1024;

/** Characters of a URL's path that the router takes; Node limits the whole head of a request to 16 KiB. */
const MAX_PATH = 16 * 1024;

/** Milliseconds of silence after which the system asks whether a client is still there. */
const KEEP_ALIVE_PROBE = 60_000;

/**
 * The service as an application that can be listened with. Closing it waits for the requests and the folder
 * operations that are under way.
 */
export async function buildApp(service: Service, logger: FastifyBaseLogger): Promise<App> {
  const limits = limitOptions(service.limits);
  const requestIds = createRequestIds(service.limits);
  const app: App = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIds,
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: MAX_PATH },
    ...setsItsCompilers,
    // A request that comes while the service stops is answered; its connection is closed after it.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    ...routeMalformedUrls.options,
    ...answerFailures.options,
    ...limits,
    http: { ...answerFailures.options.http, ...limits.http, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE },
  }).withTypeProvider<TypeBoxTypeProvider>();

  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  // Hooks that have nothing to wait for take `done`: ten promises were half of what the smallest answer cost.
  closeWhatIsAnswered(app);
  continueWhenRead(app);
  answerFailures(app, requestIds);
  routeMalformedUrls(app);
  logRequests(app, service);
  traceRequests(app, service);
  isolateAnswers(app, service);
  await limitRequests(app, service.limits);
  refuseAmbiguousHosts(app);
  guardRequests(app, service);
  tellQuota(app, service);
  setCompilers(app);
  const methodsOf = collectMethods(app);
  if (service.apiDocs) describeApi(app);
  if (service.security) securityTextRoute(app, service, service.security);
  await app.register(async (routes: App) => registerRoutes(routes, service));
  refuseOtherMethods(app, methodsOf);
  return app;
}

/**
 * While the service stops: an answer that had begun before promised to keep its connection, which nobody would end
 * then. Those that begin later say that it closes.
 */
function closeWhatIsAnswered(app: App): void {
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  app.addHook('onResponse', (_request, _reply, done) => {
    // Only in the next turn the server takes the connection for idle.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections());
    done();
  });
}

async function registerRoutes(app: App, service: Service): Promise<void> {
  const operations = createLongOperations();
  app.addHook('onClose', () => operations.finished());

  await app.register(async (upload: App) => uploadRoute(upload, service));
  await app.register(async (bodiless: App) => {
    // Programs send a Content-Type with no body, or "{}", or anything: it says nothing here, and is not looked at.
    bodiless.addHook('onRequest', ({ headers }, _reply, done) => {
      delete headers['content-type'];
      done();
    });
    bodiless.removeAllContentTypeParsers();
    bodiless.addContentTypeParser('*', (_request, _payload, done) => done(null));
    deleteFileRoute(bodiless);
    deleteFolderRoute(bodiless, operations);
    endSessionRoutes(bodiless, service);
  });
  await app.register(async (json: App) => {
    takeJson(json);
    renameFileRoute(json);
    folderRoutes(json, operations);
    transferRoutes(json, operations);
    sessionRoutes(json, service);
  });
  await app.register(async (listing: App) => listingRoutes(listing, service));
  await app.register(async (malformed: App) => malformedRoute(malformed, service));
  await app.register(async (assets: App) => assetRoutes(assets, service));
  await app.register(async (fetching: App) => fetchRoute(fetching, service));
  thumbnailRoute(app, service);
  await app.register(async (signIn: App) => signInRoutes(signIn, service));
  systemRoutes(app, service);
  if (service.metrics) metricsRoute(app, service.metrics);
  if (service.signer) signedRoute(app, service, service.signer);
}

/** JSON that is not UTF-8 is refused: read leniently, it would give files other names than were sent. */
function takeJson(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (!isUtf8(body)) return done(new HttpError(400, 'The body is not UTF-8, which JSON is sent in.'), undefined);
    const text = body.toString();
    return parse(request, text, (error, parsed) => done(error && isJson(text) ? poisoned() : error, parsed));
  });
}

/** Keys that the framework refuses, and tells no differently than what is no JSON. */
const poisoned = () =>
  new HttpError(400, 'The body has a key "__proto__", or "prototype" in a "constructor", which no request needs.');

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Bodies are taken as they are, a wrong type is a mistake; what stands in a query is text until it is read. */
function setCompilers(app: App): void {
  const options = {
    strictTypes: false,
    verbose: true,
    removeAdditional: false,
    useDefaults: false,
    // The schemas are made by TypeBox: to hold them to the schema of schemas would be 30 ms of each start.
    validateSchema: false,
    meta: false,
  } as const;
  const exact = new Ajv({ ...options, coerceTypes: false });
  const fromText = new Ajv({ ...options, coerceTypes: true });
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'querystring' ? fromText : exact).compile(schema));
  app.setSerializerCompiler(() => JSON.stringify);
}
