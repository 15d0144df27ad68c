import fastifyStatic from '@fastify/static';
import { HttpError } from '../errors.ts';
import { sendFailure } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import type { Service } from '../service.ts';

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
    return sendFailure(isForbidden ? new HttpError('not-found', 'There is no such asset.') : error, request, reply);
  });
  app.addHook('onRoute', (route) => void (route.config = { ...route.config, access: 'public' }));
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
