import type { FastifyReply, FastifyRequest } from 'fastify';
import { describeChange } from '../../changes/change-description.ts';
import type { ChangeFeed, Subscriber } from '../../changes/feed.ts';
import type { LogPage } from '../../changes/log.ts';
import type { LoggedChange } from '../../model/change.ts';
import { type FolderPath, parseFolder } from '../../model/path.ts';
import { MAX_PAGE } from '../../model/store.ts';
import { acceptsExplicitly, prefers } from '../accept.ts';
import { accessOf } from '../access/request-access.ts';
import { ChangeStream, EVENT_STREAM } from '../change-stream.ts';
import type { App } from '../fastify-app.ts';
import { clientNetwork } from '../limits/connections.ts';
import { ChangeList, ChangeQuery, Failure } from '../schemas.ts';

/** Maximum changes that one request for a page reads from the log. Most of them can be invisible to the user. */
const MAX_SCANNED = 10_000;

/** Changes that are read at a time. */
const READ_SIZE = 1000;

/** Registers the route of the change feed: pages of changes, and a stream of server-sent events. */
export function changeRoutes(app: App, feed: ChangeFeed): void {
  const closing = new AbortController();
  // Streams would otherwise keep the service from stopping.
  app.addHook('preClose', async () => closing.abort());

  app.get(
    '/-/changes',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Changes'],
        summary: 'Follow changes',
        description:
          'Returns the changes that the user may see, or with `Accept: text/event-stream` sends each one as a server-sent event when it happens. `Last-Event-ID` replaces `since`.',
        querystring: ChangeQuery,
        response: {
          200: {
            content: {
              'application/json': { schema: ChangeList },
              'text/event-stream': { schema: { type: 'string', description: 'Events whose data is a `Change`.' } },
            },
          },
          '4xx': Failure,
          '5xx': Failure,
        },
      },
    },
    async (request, reply) => {
      const { folder: requested = '', since, limit = MAX_PAGE } = request.query;
      const folder = parseFolder(requested);
      accessOf(request).files.requireChanges(folder);
      reply.header('cache-control', 'no-store');
      if (request.method !== 'HEAD' && wantsStream(request.headers.accept)) {
        const cursor = [request.headers['last-event-id']].flat()[0] ?? since;
        return startStream(request, reply, { feed, folder, start: await find(feed, cursor), closing: closing.signal });
      }
      return readPage(request, { feed, folder, limit, start: await find(feed, since) });
    },
  );
}

/** Returns whether a client asks for the stream, and not more for a page. */
const wantsStream = (accept: string | undefined) =>
  acceptsExplicitly(accept, EVENT_STREAM) && !prefers(accept, 'application/json', EVENT_STREAM);

/** Returns an empty page at the position of `since`. */
async function find({ log }: ChangeFeed, since: string | undefined): Promise<LogPage> {
  const newest = await log.newest();
  if (since === undefined) return newest;
  const end = since === 'oldest' ? await log.oldest() : await log.positionOf(since);
  return { changes: [], end, cursor: since, hasMore: true };
}

async function readPage(
  request: FastifyRequest,
  {
    feed,
    folder,
    limit,
    start,
  }: { readonly feed: ChangeFeed; readonly folder: FolderPath; readonly limit: number; readonly start: LogPage },
) {
  const { files } = accessOf(request);
  const visible: LoggedChange[] = [];
  let { cursor, end, hasMore } = start;
  for (let scanned = 0; hasMore && visible.length < limit && scanned < MAX_SCANNED; ) {
    const page = await feed.read(end, READ_SIZE);
    ({ end, cursor, hasMore } = page);
    scanned += page.changes.length;
    for (const [index, change] of page.changes.entries()) {
      visible.push(...files.visibleChanges(change, folder));
      if (visible.length < limit) continue;
      cursor = change.id;
      hasMore ||= index < page.changes.length - 1;
      break;
    }
  }
  return { success: true as const, changes: visible.map(describeChange), cursor, hasMore };
}

function startStream(
  request: FastifyRequest,
  reply: FastifyReply,
  options: {
    readonly feed: ChangeFeed;
    readonly folder: FolderPath;
    readonly start: LogPage;
    readonly closing: AbortSignal;
  },
): FastifyReply {
  const disconnected = new AbortController();
  reply.raw.once('close', () => disconnected.abort());
  const stream = new ChangeStream({
    ...options,
    access: accessOf(request),
    subscriber: subscriberOf(request),
    requestId: request.id,
    signal: AbortSignal.any([options.closing, disconnected.signal]),
    describe: describeChange,
  });
  void stream.run().catch((error: unknown) => request.log.error({ err: error }, 'A stream of changes failed'));
  return reply.header('content-type', EVENT_STREAM).header('x-accel-buffering', 'no').send(stream.output);
}

function subscriberOf(request: FastifyRequest): Subscriber {
  const { user } = accessOf(request);
  return user ? { key: user.name, isAnonymous: false } : { key: clientNetwork(request.ip), isAnonymous: true };
}
