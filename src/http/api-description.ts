import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DescribedRoute } from './api-documents.ts';
import { PERMISSIONS_POLICY } from './headers.ts';
import type { App } from './service.ts';

/** Where people read about the interface, and programs find it as OpenAPI. */
export const DOCS = '/-/docs';

/**
 * Describes the routes that are registered from now on as an OpenAPI document, and shows it at `DOCS`. Both are made when
 * somebody asks for them first: they would be 25 ms of each start, and 15 MB of each process.
 */
export function describeApi(app: App): void {
  const routes: DescribedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (method !== 'HEAD' && !(schema && 'hide' in schema && schema.hide)) routes.push({ method, url, schema });
  });

  let made: Promise<FastifyInstance> | undefined;
  const documents = () => {
    made ??= import('./api-documents.ts').then(({ createApiDocuments }) => createApiDocuments(routes, DOCS));
    made.catch(() => (made = undefined));
    return made;
  };
  const show = async ({ raw, headers }: FastifyRequest, reply: FastifyReply) => {
    // What would be another address, were it resolved as a link is, is none of those that are there.
    const [path = ''] = (raw.url ?? '').split('?');
    if (URL.parse(path, 'http://localhost')?.pathname !== path) return reply.callNotFound();
    const { statusCode, headers: given, rawPayload } = await (await documents()).inject({ url: raw.url, headers });
    if (statusCode === 404) {
      const policy = given['content-security-policy'];
      if (policy !== undefined) reply.header('content-security-policy', policy);
      return reply.callNotFound();
    }
    const { connection: _connection, date: _date, ...about } = given;
    return reply
      .code(statusCode)
      .headers({ ...about, 'permissions-policy': PERMISSIONS_POLICY })
      .send(rawPayload.length > 0 ? rawPayload : undefined);
  };
  const options = { config: { access: 'public' }, schema: { hide: true } } as const;
  app.get(DOCS, options, show);
  // By whatever method what is not there is asked for, it is not there.
  app.all(`${DOCS}/*`, options, (request, reply) =>
    request.method === 'GET' || request.method === 'HEAD' ? show(request, reply) : reply.callNotFound(),
  );
  app.get('/-/openapi.json', options, async () => (await documents()).swagger());
}
