import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describeChange } from '../../changes/change-description.ts';
import type { Position } from '../../changes/cursor.ts';
import type { ChangeFeed, Subscriber } from '../../changes/feed.ts';
import type { LogPage } from '../../changes/log.ts';
import type { LoggedChange } from '../../model/change.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder } from '../../model/path.ts';
import { MAX_PAGE } from '../../model/store.ts';
import { acceptsExplicitly, prefers } from '../accept.ts';
import { accessOf } from '../access/request-access.ts';
import { ChangeStream, EVENT_STREAM } from '../change-stream.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { clientNetwork } from '../limits/connections.ts';
import { ChangeList, ChangeQuery, Failure } from '../schemas.ts';

/** Maximum changes that one request for a page reads from the log. Most of them can be invisible to the user. */
const MAX_SCANNED = 4000;

/** Changes that are read in one turn of the event loop. */
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
          'Returns the changes that the user can see, or with `Accept: text/event-stream` sends each one as a server-sent event when it happens. `Last-Event-ID` replaces `since`.',
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
      const scope = scopeOf(request.query);
      const { since, before, limit = MAX_PAGE, locks = false } = request.query;
      accessOf(request).files.requireChanges(scope);
      reply.header('cache-control', 'no-store');
      const isStream = wantsStream(request.headers.accept);
      if (locks && !wantsStream(request.headers.accept)) throw contradiction('locks', 'a page of changes');
      if (request.method === 'HEAD') {
        const cursor = before ?? since;
        if (cursor !== undefined && cursor !== 'oldest' && cursor !== 'newest') await feed.log.positionOf(cursor);
        return sendHead(reply);
      }
      if (before !== undefined) {
        if (since !== undefined) throw contradiction('before', '"since"');
        if (isStream) throw contradiction('before', 'a stream');
        // Reading fewer at a time keeps requests for some recent changes cheap.
        const size = Math.min(READ_SIZE, limit * 10);
        const start = await findBefore(feed, before, size);
        const read = (end: Position) => feed.scan(subscriberOf(request), () => feed.log.readBefore(end, size));
        return readPage(request, { scope, limit, start, read });
      }
      if (isStream) {
        const cursor = [request.headers['last-event-id']].flat()[0] ?? since;
        const start = await find(feed, cursor);
        return startStream(request, reply, { feed, scope, start, hasLocks: locks, closing: closing.signal });
      }
      const start = await find(feed, since);
      const read = (end: Position) => feed.scan(subscriberOf(request), () => feed.log.read(end, READ_SIZE));
      return readPage(request, { scope, limit, start, read });
    },
  );
}

/** Sends the headers of a page, without the length that only reading it shows (RFC 9110, section 9.3.2). */
const sendHead = (reply: FastifyReply) => reply.type('application/json; charset=utf-8').send(Readable.from([]));

/** Returns whether a client asks for the stream, and not more for a page. */
const wantsStream = (accept: string | undefined) =>
  acceptsExplicitly(accept, EVENT_STREAM) && !prefers(accept, 'application/json', EVENT_STREAM);

/** Returns the file or folder whose changes are requested. */
function scopeOf({ file, folder }: ChangeQuery): FilePath | FolderPath {
  if (file === undefined) return parseFolder(folder ?? '');
  if (folder !== undefined) throw contradiction('file', '"folder"');
  return parseFile(file);
}

function contradiction(parameter: string, other: string): HttpError {
  return new HttpError('invalid-parameter', `"${parameter}" can't be combined with ${other}. Remove one of them.`);
}

/** Returns an empty page at the position of `since`. */
async function find({ log }: ChangeFeed, since: string | undefined): Promise<LogPage> {
  const newest = await log.newest();
  if (since === undefined) return newest;
  const end = since === 'oldest' ? await log.oldest() : await log.positionOf(since);
  return { changes: [], end, cursor: since, hasMore: true };
}

/** Returns an empty page at the position of `before`, or the last `size` changes of the log. */
async function findBefore({ log }: ChangeFeed, before: string, size: number): Promise<LogPage> {
  if (before === 'newest') return log.readBefore(undefined, size);
  return { changes: [], end: await log.positionOf(before), cursor: before, hasMore: true };
}

interface PageOptions {
  readonly scope: FilePath | FolderPath;
  readonly limit: number;
  readonly start: LogPage;
  /** Reads the log from the end of a page. */
  readonly read: (end: Position) => Promise<LogPage>;
}

/** Returns the visible changes of a page and of those that follow it. */
async function readPage(request: FastifyRequest, { scope, limit, start, read }: PageOptions) {
  const { files } = accessOf(request);
  const visible: LoggedChange[] = [];
  const result = (cursor: string, hasMore: boolean) => {
    return { success: true as const, changes: visible.map(describeChange), cursor, hasMore };
  };
  let scanned = 0;
  for (let page = start; ; page = await read(page.end)) {
    for (const [index, change] of page.changes.entries()) {
      visible.push(...files.visibleChanges(change, scope));
      const isLast = index === page.changes.length - 1;
      if (visible.length >= limit) return result(change.id, page.hasMore || !isLast);
    }
    scanned += page.changes.length;
    if (!page.hasMore || scanned >= MAX_SCANNED) return result(page.cursor, page.hasMore);
  }
}

function startStream(
  request: FastifyRequest,
  reply: FastifyReply,
  options: {
    readonly feed: ChangeFeed;
    readonly scope: FilePath | FolderPath;
    readonly start: LogPage;
    readonly hasLocks: boolean;
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
