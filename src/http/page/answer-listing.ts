import type { FastifyReply, FastifyRequest } from 'fastify';
import { prefers } from '../accept.ts';
import { describeAsker } from '../access/request-access.ts';
import { CACHE_CONTROL, JSON_TYPE } from '../headers.ts';
import type { Failure, Listing } from '../schemas.ts';
import type { Service } from '../service.ts';
import { compress } from './compress.ts';
import { renderDocument } from './document.ts';
import { baseOf } from './links.ts';
import { pageHeaders } from './page-headers.ts';

/**
 * Answers a listing, or why there is none, with the status that `reply` has: as the web page for a client that
 * prefers HTML, else as JSON. `folder` is the one that was asked for, empty where that can't be told.
 */
export async function answerListing(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  { folder, answer }: { folder: string; answer: Listing | Failure },
): Promise<FastifyReply> {
  const { url, headers } = request;
  if (!prefersPage(request)) {
    return reply.headers({ vary: 'Accept', 'cache-control': CACHE_CONTROL }).type(JSON_TYPE).send(answer);
  }
  const html = renderDocument(service.page, {
    base: baseOf(url),
    folder,
    status: reply.statusCode,
    answer,
    readOnly: service.readOnly,
    maxUploadSize: service.maxUploadSize ?? null,
    access: describeAsker(service, request),
  });
  const { body, coding } = await compress(html, headers['accept-encoding']?.toString());
  if (coding !== undefined) reply.header('content-encoding', coding);
  return reply.headers(pageHeaders(originsOf(service))).send(body);
}

/** Whether who asks would rather have the web page than JSON. */
export function prefersPage({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'text/html', 'application/json');
}

/** Where the contents of files are, as far as they are not at the service itself. */
function originsOf({ contentOrigin, contentOrigins }: Service): readonly string[] {
  return contentOrigin === undefined ? contentOrigins : [contentOrigin, ...contentOrigins];
}
