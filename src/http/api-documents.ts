import fastifySwagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { version } from '../system.ts';
import { ERROR_CODES } from './error-codes.ts';
import { WITHOUT_DEFAULT_COMPILERS } from './fastify-app.ts';

/** The parts of a route that the API documentation describes. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'>;

/**
 * Creates a separate application that serves the documentation of these routes below `prefix`. It does not serve the
 * routes themselves. Its `swagger()` returns the OpenAPI document.
 */
export async function createApiDocuments(routes: readonly DescribedRoute[], prefix: string): Promise<FastifyInstance> {
  const documents = fastify({ exposeHeadRoutes: false, ...WITHOUT_DEFAULT_COMPILERS });
  documents.setValidatorCompiler(() => () => true);
  documents.setSerializerCompiler(() => JSON.stringify);
  await documents.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Holdall',
        version,
        description: 'One HTTP interface for the files in your bucket, your repository or your disk.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: { securitySchemes: SECURITY_SCHEMES, schemas: { ErrorCode: describeCodes() } },
      // Any one of these is sufficient. Public routes need none, hence the empty object.
      security: [{}, { bearer: [] }, { basic: [] }, { session: [] }],
      tags: ['Files', 'Folders', 'Files and folders', 'Sign-in', 'System'].map((name) => ({ name })),
    },
    transform: ({ schema, url }) => ({ schema: nameWildcard(schema), url: url.replace('*', ':path') }),
  });
  await documents.register(swaggerUi, {
    routePrefix: prefix,
    staticCSP: {
      'default-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'style-src': ["'self'", "'unsafe-inline'"],
      'object-src': ["'none'"],
      'base-uri': ["'none'"],
      'frame-ancestors': ["'none'"],
    },
    uiConfig: { deepLinking: true, tryItOutEnabled: true, validatorUrl: null },
    theme: { title: 'Holdall: the interface' },
    logo: { type: 'image/svg+xml', content: Buffer.from(LOGO), href: prefix },
  });
  for (const route of routes) documents.route({ ...route, handler: (_request, reply) => reply.callNotFound() });
  await documents.ready();
  return documents;
}

/** Returns the schema of error codes, with the documentation of each. */
function describeCodes() {
  const codes = Object.entries(ERROR_CODES).map(([code, { status, meaning, action }]) => ({
    const: code,
    title: `${status} ${code}`,
    description: `${meaning} ${action}`,
  }));
  return { type: 'string', title: 'ErrorCode', oneOf: codes } as const;
}

/** The authentication methods of the HTTP API. */
const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A token of the service, or a JSON Web Token of JWT_ISSUER.' },
  basic: { type: 'http', scheme: 'basic', description: 'A name and a password, over HTTPS or from the same machine.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'holdall',
    description: 'The session that POST /-/session begins; over HTTPS, the cookie is `__Host-holdall`.',
  },
} as const;

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 32"><text x="0" y="24" fill="white" font-family="system-ui, sans-serif" font-size="24" font-weight="600">Holdall</text></svg>';

/** Renames the wildcard parameter from `*`, the router's name, to `path`, which OpenAPI can use. */
function nameWildcard<Schema extends { params?: unknown } | undefined>(schema: Schema): Schema {
  const properties = (schema?.params as { properties?: Record<string, unknown> } | undefined)?.properties;
  if (!schema || !properties?.['*']) return schema;
  return { ...schema, params: { type: 'object', properties: { path: properties['*'] }, required: ['path'] } };
}
