import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import fastifySwagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { version } from '../system.ts';
import { preferredCoding } from './accept.ts';
import { WITHOUT_DEFAULT_COMPILERS } from './fastify-app.ts';
import { completeDocument, type Json } from './openapi.ts';
import { API_REFERENCE, BUILT_PAGE } from './page/web-page.ts';
import type { Service } from './service.ts';

/** The parts of a route that the API documentation describes. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'>;

export interface ApiDocuments {
  /** The OpenAPI document. */
  readonly openapi: Json;
  /** Serves the HTML document of the API reference, and its scripts. */
  readonly app: FastifyInstance;
}

/**
 * Creates the OpenAPI document of these routes, and a separate application that shows it below `prefix`. The
 * application does not serve the routes themselves. `publicUrl` is the address of the service, if it is known.
 */
export async function createApiDocuments(
  routes: readonly DescribedRoute[],
  prefix: string,
  { publicUrl, access }: Pick<Service, 'publicUrl' | 'access'>,
): Promise<ApiDocuments> {
  const app = fastify({ exposeHeadRoutes: false, ...WITHOUT_DEFAULT_COMPILERS });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Holdall', version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
      components: { securitySchemes: securitySchemes(access.authenticators?.sessionCookie ?? 'holdall') },
      // Any one of these is sufficient. Public routes need none, hence the empty object.
      security: [{}, { bearer: [] }, { basic: [] }, { session: [] }],
      tags: TAGS,
    },
    transform: ({ schema, url }) => ({ schema: nameWildcard(schema), url: url.replace('*', ':path') }),
  });
  serveReference(app, prefix);
  for (const route of routes) app.route({ ...route, handler: (_request, reply) => reply.callNotFound() });
  await app.ready();
  // A relative URL resolves against the URL of the document. The plugin would reject it.
  const servers = [{ url: publicUrl?.replace(/\/$/, '') ?? '..', description: 'This service' }];
  // Methods of one route share their objects, and each needs its own.
  const document = JSON.parse(JSON.stringify(app.swagger())) as Json;
  return { openapi: completeDocument({ ...document, servers }), app };
}

/** Serves Scalar's API reference. Its styles are inline, because the script adds them; no script is. */
function serveReference(app: FastifyInstance, prefix: string): void {
  const hide = { schema: { hide: true } };
  for (const [url, folder] of [
    [prefix, 'docs/'],
    [`${prefix}/`, ''],
  ] as const) {
    app.get(url, hide, (_request, reply) =>
      reply
        .headers({ 'content-security-policy': CONTENT_POLICY, 'cache-control': 'no-cache' })
        .type('text/html; charset=utf-8')
        .send(renderReference(folder)),
    );
  }
  app.get(`${prefix}/start.js`, hide, (_request, reply) =>
    reply.header('cache-control', 'no-cache').type('text/javascript; charset=utf-8').send(START),
  );
  app.get(`${prefix}/api-reference.js`, hide, (request, reply) => {
    reply.headers({ 'cache-control': 'public, max-age=3600', vary: 'accept-encoding' });
    reply.type('text/javascript; charset=utf-8');
    const compressed = createReadStream(join(BUILT_PAGE, API_REFERENCE));
    if (preferredCoding(request.headers['accept-encoding'], ['gzip']))
      return reply.header('content-encoding', 'gzip').send(compressed);
    const script = createGunzip();
    compressed.once('error', (error) => script.destroy(error)).pipe(script);
    return reply.send(script);
  });
}

const CONTENT_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Returns the HTML document. `folder` leads from its URL to its scripts: a proxy can serve the service below a path. */
const renderReference = (folder: string) =>
  '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
  '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">' +
  // Without an icon, browsers request /favicon.ico, which does not exist.
  '<link rel="icon" href="data:,"><title>Holdall API reference</title></head><body><div id="reference"></div>' +
  `<script src="${folder}start.js" data-step="prepare"></script><script src="${folder}api-reference.js"></script>` +
  `<script src="${folder}start.js" data-step="show"></script></body></html>`;

/**
 * Starts the API reference. Zod, which Scalar contains, would otherwise try to compile code, which the policy forbids.
 * Everything that Scalar would load from its own servers is disabled.
 */
const START = `if (document.currentScript.dataset.step === 'prepare') {
  globalThis.__zod_globalConfig = { jitless: true };
} else {
  const { src } = document.currentScript;
  Scalar.createApiReference('#reference', {
    url: new URL('../openapi.json', src).href,
    servers: [{ url: new URL('../../', src).href.replace(/\\/$/, ''), description: 'This service' }],
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    persistAuth: false,
  });
}
`;

const DESCRIPTION =
  'Store, list, fetch and change files in a folder, an S3-compatible bucket or a GitHub repository. ' +
  'Every failure is a JSON object with a stable `code` and a readable `error`.';

const TAGS = [
  { name: 'Files', description: 'Upload, fetch, rename and delete single files.' },
  { name: 'Folders', description: 'List, create, rename and delete folders.' },
  { name: 'Files and folders', description: 'Copy and move files and folders.' },
  { name: 'Locks', description: 'The locks of WebDAV clients. Requires the database.' },
  { name: 'Share links', description: 'Give visitors without an account access to a file or folder.' },
  { name: 'App tokens', description: 'Tokens of a user for single apps, limited to a folder and permissions.' },
  { name: 'Webhooks', description: 'Send changes to other services. Requires the manage permission for the root.' },
  { name: 'Sign-in', description: 'Sessions of users. Requires an access file.' },
  { name: 'System', description: 'Health checks and metrics.' },
];

/** Returns the authentication methods of the HTTP API. */
const securitySchemes = (sessionCookie: string) =>
  ({
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A token from the access file, an app token, or a JSON Web Token from `JWT_ISSUER`.',
    },
    basic: {
      type: 'http',
      scheme: 'basic',
      description: 'Username and password, or a token as the password. Requires HTTPS or a client on the same machine.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: sessionCookie,
      description: `The session cookie that \`POST /-/session\` sets. Its name differs for each service. Over HTTPS, it is \`__Host-${sessionCookie}\`.`,
    },
  }) as const;

/** Renames the wildcard parameter from `*`, the router's name, to `path`, which OpenAPI can use. */
function nameWildcard<Schema extends { params?: unknown } | undefined>(schema: Schema): Schema {
  const properties = (schema?.params as { properties?: Record<string, unknown> } | undefined)?.properties;
  if (!schema || !properties?.['*']) return schema;
  return { ...schema, params: { type: 'object', properties: { path: properties['*'] }, required: ['path'] } };
}
