import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDocuments, DescribedRoute } from './api-documents.ts';
import type { App } from './fastify-app.ts';
import { PERMISSIONS_POLICY } from './headers.ts';
import type { Service } from './service.ts';
import { ROUTED_METHODS } from './unmatched-requests.ts';

/** Path of the API documentation, as HTML and OpenAPI. */
export const DOCS = '/-/docs';

/**
 * Describes all routes registered from now on in an OpenAPI document, and serves it at `DOCS`. Both are created on the
 * first request, because they cost 25 ms per start and 15 MB per process.
 */
export function describeApi(app: App, service: Pick<Service, 'publicUrl' | 'access'>): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (method !== 'HEAD' && !(schema && 'hide' in schema && schema.hide)) routes.push({ method, url, schema });
  });

  let made: Promise<ApiDocuments> | undefined;
  const documents = () => {
    made ??= import('./api-documents.ts').then(({ createApiDocuments }) => createApiDocuments(routes, DOCS, service));
    made.catch(() => (made = undefined));
    return made;
  };
  const show = async ({ raw, headers }: FastifyRequest, reply: FastifyReply) => {
    // A path that URL resolution would change is not the path of any document.
    const [path = ''] = (raw.url ?? '').split('?');
    if (URL.parse(path, 'http://localhost')?.pathname !== path) return reply.callNotFound();
    const {
      statusCode,
      headers: documentHeaders,
      rawPayload,
    } = await (await documents()).app.inject({ url: raw.url, headers });
    if (statusCode === 404) {
      const policy = documentHeaders['content-security-policy'];
      if (policy !== undefined) reply.header('content-security-policy', policy);
      return reply.callNotFound();
    }
    const { connection: _connection, date: _date, 'transfer-encoding': _encoding, ...about } = documentHeaders;
    return reply
      .code(statusCode)
      .headers({ ...about, 'permissions-policy': PERMISSIONS_POLICY })
      .send(rawPayload.length > 0 ? rawPayload : undefined);
  };
  const options = { config: { access: 'public' }, schema: { hide: true } } as const;
  app.get(DOCS, options, show);
  // Other methods get the same 404 as GET.
  app.route({
    method: [...ROUTED_METHODS],
    url: `${DOCS}/*`,
    ...options,
    handler: (request, reply) =>
      request.method === 'GET' || request.method === 'HEAD' ? show(request, reply) : reply.callNotFound(),
  });
  app.get('/-/openapi.json', options, async () => (await documents()).openapi);
}
