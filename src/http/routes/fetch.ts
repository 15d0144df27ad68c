import { Type } from 'typebox';
import { AccessDenied } from '../../access/access-denied.ts';
import { parseFile } from '../../domain/path.ts';
import { accessOf } from '../access/request-access.ts';
import { sendContent } from '../content.ts';
import { sendFailure } from '../failures.ts';
import { prefersPage } from '../page/answer-listing.ts';
import { Failure, FileQuery, PathParameter } from '../schemas.ts';
import type { App, Service } from '../service.ts';
import { asPageToo, failListing } from './listing.ts';

const Bytes = { description: 'The bytes of the file.', content: { '*/*': { schema: Type.Any() } } };
const Nothing = Type.Null();

/** The statuses of an answer with the bytes of a file, for the OpenAPI document. */
export const CONTENT_RESPONSES = {
  200: Bytes,
  206: Bytes,
  304: { ...Nothing, description: 'Not modified.' },
  '4xx': Failure,
  '5xx': Failure,
};

export function fetchRoute(app: App, service: Service): void {
  // A person who opened a link gets to the page, where they can sign in, or see why not.
  app.setErrorHandler((error, request, reply) =>
    error instanceof AccessDenied && prefersPage(request)
      ? failListing(service, error, request, reply)
      : sendFailure(error, request, reply),
  );
  app.route({
    method: ['GET', 'HEAD'],
    url: '/file/*',
    config: { access: 'files' },
    schema: {
      tags: ['Files'],
      summary: 'Fetch a file',
      description:
        'Files below 6 MB (6,291,456 bytes) come directly, larger ones by a redirect to a presigned URL. Conditions and single ranges are honoured.',
      params: PathParameter,
      querystring: FileQuery,
      response: {
        ...CONTENT_RESPONSES,
        302: { ...Nothing, description: 'The file is at `Location`.' },
        '4xx': asPageToo(Failure),
      },
    },
    handler: (request, reply) => {
      const { files } = accessOf(request);
      const file = parseFile(request.params['*']);
      const download = request.query.download === '1';
      return sendContent(
        request,
        reply,
        {
          stat: () => files.stat(file),
          atHand: () => files.atHand(file),
          fetch: (options) => files.fetch(file, { ...options, download }),
          locate: (entry) => files.locate(entry, { download, purpose: request.method === 'HEAD' ? 'stat' : 'read' }),
        },
        { download, framedBy: "'self'" },
      );
    },
  });
}
