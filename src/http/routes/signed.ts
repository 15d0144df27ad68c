import { parseFile } from '../../domain/path.ts';
import type { UrlSigner } from '../../domain/url-signer.ts';
import { sendContent } from '../content.ts';
import { isSource } from '../page/page-headers.ts';
import { PathParameter } from '../schemas.ts';
import type { App, Service } from '../service.ts';
import { CONTENT_RESPONSES } from './fetch.ts';

/** The presigned URLs of stores that have none of their own: whoever has one gets the file, until it expires. */
export function signedRoute(app: App, service: Service, signer: UrlSigner): void {
  const { files } = service;
  const framedBy = framesOf(service);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/-/signed/*',
    config: { access: 'signature' },
    schema: {
      tags: ['Files'],
      summary: 'Fetch a file by a signed URL',
      description: 'Where `/file/` redirects to. A URL that was altered or has expired is a 403.',
      params: PathParameter,
      response: CONTENT_RESPONSES,
    },
    handler: (request, reply) => {
      const query = request.url.slice(request.url.indexOf('?') + 1);
      const { file, download } = signer.verify(parseFile(request.params['*']), query, Date.now());
      return sendContent(
        request,
        reply,
        {
          stat: () => files.stat(file),
          fetch: async (options) => ({ content: await files.read(file, options) }),
          locate: async () => undefined,
        },
        { download, framedBy },
      );
    },
  });
}

/** Where the page is that shows files in frames, as a policy names that. */
function framesOf({ contentOrigin, publicUrl }: Service): string {
  if (contentOrigin === undefined) return "'self'";
  const origin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return origin !== undefined && isSource(origin) ? origin : '*';
}
