import { createHash, timingSafeEqual } from 'node:crypto';
import fastifyStatic from '@fastify/static';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Files } from '../../files/files.ts';
import { HttpError } from '../errors.ts';
import { beginFailure, sendFailure } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { JSON_TYPE } from '../headers.ts';
import { Failure, Ready, Success } from '../schemas.ts';
import type { SecurityContact, Service, ServiceMetrics } from '../service.ts';

/**
 * Milliseconds for which the result of a store check is cached, because anonymous clients can send any number of
 * requests.
 */
const CHECK_LIFETIME_MS = 2000;

/** Registers the system routes under `/-/`. */
export function systemRoutes(app: App, { files, metrics, database, volumes }: Service): void {
  const check = createCachedCheck(files);
  const isReader = metrics ? createTokenCheck(metrics.token) : () => false;
  app.get(
    '/-/health/live',
    {
      config: { access: 'health', hasNoLimits: true },
      schema: {
        tags: ['System'],
        summary: 'Liveness check',
        response: { 200: Success, '4xx': Failure },
      },
    },
    async () => ({ success: true, message: 'The service is running.' }) as const,
  );

  app.get(
    '/-/health/ready',
    {
      config: { access: 'health' },
      schema: {
        tags: ['System'],
        summary: 'Readiness check',
        description:
          'Returns 503 with the reason if the store is not available. Results are cached for two seconds. The status does not depend on the database, because file operations work without it, nor on free space, because files can be read and deleted without any: `status` is then `degraded`. `quota` is only included if the request sends `METRICS_TOKEN` as `Authorization: Bearer`.',
        response: { 200: Ready, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      await check();
      const quota = isReader(request) ? files.quota() : undefined;
      const almostFull = (await volumes?.findAlmostFull()) ?? [];
      const isDegraded = almostFull.length > 0 || database?.isAvailable === false;
      return {
        success: true,
        message: isDegraded ? 'The service is ready, but degraded.' : 'The service is ready.',
        ...(isDegraded && ({ status: 'degraded' } as const)),
        ...(almostFull.length > 0 && { almostFull: [...almostFull] }),
        ...(database && ({ database: database.isAvailable ? 'available' : 'unavailable' } as const)),
        ...(quota && { quota: { ...quota, reset: quota.reset.toISOString() } }),
      } as const;
    },
  );
}

/** Returns a function that checks the store: one check at a time, whose result is shared and cached for two seconds. */
function createCachedCheck(files: Pick<Files, 'check'>): () => Promise<void> {
  let outcome: Promise<void> | undefined;
  let settledAt: number | undefined;
  const onSettled = () => {
    settledAt = Date.now();
  };
  return () => {
    const age = settledAt === undefined ? 0 : Date.now() - settledAt;
    // If the clock is set back, the cached result must not last longer.
    if (outcome && age >= 0 && age < CHECK_LIFETIME_MS) return outcome;
    settledAt = undefined;
    outcome = files.check();
    outcome.then(onSettled, onSettled);
    return outcome;
  };
}

/**
 * Serves `/.well-known/security.txt` (RFC 9116). A folder of that name is available with `?prefix=`. The path is
 * relative to the origin, even if PUBLIC_URL has a path.
 */
export function securityTextRoute(app: App, { publicUrl }: Service, { contact, expires }: SecurityContact): void {
  const path = '/.well-known/security.txt';
  const canonical = publicUrl?.startsWith('https:') ? [`Canonical: ${new URL(path, publicUrl).href}`] : [];
  const lines = [`Contact: ${contact}`, `Expires: ${expires.toISOString()}`, ...canonical];
  const text = `${lines.join('\n')}\n`;
  app.get(path, { config: { access: 'public' }, schema: { hide: true } }, (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(text),
  );
}

/** Serves the metrics for Prometheus. */
export function metricsRoute(app: App, { token, format }: ServiceMetrics): void {
  const isReader = createTokenCheck(token);
  app.get(
    '/-/metrics',
    {
      config: { access: 'health' },
      schema: {
        tags: ['System'],
        summary: 'Prometheus metrics',
        description:
          'Returns the metrics of all processes in the Prometheus text format. Requires `METRICS_TOKEN` as `Authorization: Bearer`.',
        response: {
          200: { description: 'Metrics.', content: { 'text/plain': { schema: Type.String() } } },
          '4xx': Failure,
          '5xx': Failure,
        },
      },
    },
    async (request, reply) => {
      if (!isReader(request)) {
        const failure = beginFailure(new HttpError('invalid-token', METRICS_TOKEN_REQUIRED), request, reply);
        return reply.header('www-authenticate', 'Bearer realm="metrics"').type(JSON_TYPE).send(failure);
      }
      const { type, text } = await format();
      return reply.header('cache-control', 'no-store').type(type).serializer(String).send(text);
    },
  );
}

/** Returns a function that checks whether a request has the token as `Authorization: Bearer`. */
export function createTokenCheck(token: Buffer): (request: Pick<FastifyRequest, 'headers'>) => boolean {
  const expected = digest(token);
  return ({ headers }) => {
    const requestToken = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    return requestToken !== undefined && timingSafeEqual(digest(requestToken), expected);
  };
}

const METRICS_TOKEN_REQUIRED = 'Metrics require METRICS_TOKEN as "Authorization: Bearer …".';

/** The constant-time comparison needs values of equal length. */
const digest = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest();

/** Seconds of a year, the longest cache lifetime in common use. */
const YEAR_SECONDS = 365 * 24 * 60 * 60;

/**
 * Serves the files of the web UI. Their names contain a hash of the content, so browsers cache them without
 * revalidation.
 */
export async function assetRoutes(app: App, { page }: Pick<Service, 'page'>): Promise<void> {
  // A path that leaves the folder gets 404, like any other missing asset, instead of 403.
  app.setErrorHandler((error, request, reply) => {
    const isForbidden = error instanceof Error && 'statusCode' in error && error.statusCode === 403;
    return sendFailure(isForbidden ? new HttpError('not-found', 'The asset does not exist.') : error, request, reply);
  });
  app.addHook('onRoute', (route) => void (route.config = { ...route.config, access: 'public', links: 'anyone' }));
  await app.register(fastifyStatic, {
    root: page.assets,
    prefix: '/-/assets/',
    decorateReply: false,
    index: false,
    preCompressed: true,
    maxAge: YEAR_SECONDS * 1000,
    immutable: true,
    setHeaders: (reply) => void reply.header('x-content-type-options', 'nosniff'),
  });
}
