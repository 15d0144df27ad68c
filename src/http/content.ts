import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fetched, ReadOptions } from '../files/files.ts';
import { isStoreError } from '../model/error.ts';
import type { Content, FileEntry, Release } from '../model/store.ts';
import { HttpError } from './errors.ts';
import { contentHeaders, type DisplayOptions, rejectActiveUse, relativeTo } from './headers.ts';
import { clientSignal } from './long-operations.ts';
import { allowsRange, evaluatePreconditions, hasPreconditions, parseRange, quoteEtag } from './preconditions.ts';

/** The source of one file's metadata and bytes. */
export interface ContentSource {
  stat(): Promise<FileEntry>;
  fetch(options: ReadOptions): Promise<Fetched>;
  /** Returns the whole file if it is in memory. */
  readCached?(): Content | undefined | Promise<Content | undefined>;
  /** Returns a URL to redirect to; undefined if the response contains the bytes. */
  locate(file: FileEntry): Promise<string | undefined>;
}

/** Maximum number of attempts for a file that changes between `stat` and opening. */
const ATTEMPTS = 5;

/**
 * Responds to GET and HEAD for a file: preconditions, ranges and redirects. A whole file in memory is sent
 * synchronously, without a promise.
 */
export function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  source: ContentSource,
  showing: DisplayOptions,
): FastifyReply | Promise<FastifyReply> {
  rejectActiveUse(request.headers);
  const send = (content: Content | undefined) =>
    content ? sendBytes(reply, content, showing) : openAndSend(request, reply, source, showing);
  const readCached = asksForWhole(request) ? source.readCached?.() : undefined;
  return readCached instanceof Promise ? readCached.then(send) : send(readCached);
}

function asksForWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && !hasPreconditions(headers);
}

/**
 * Sends a file from its source. HEAD, preconditions and `If-Range` need a `stat` first; otherwise the file is opened at
 * once.
 */
async function openAndSend(
  request: FastifyRequest,
  reply: FastifyReply,
  source: ContentSource,
  showing: DisplayOptions,
): Promise<FastifyReply> {
  const { headers } = request;
  const range = parseRange(headers.range);
  const ifRange = headers['if-range']?.toString();
  const looksFirst = request.method === 'HEAD' || hasPreconditions(headers) || (range && ifRange !== undefined);
  const signal = clientSignal(reply);
  for (let attempt = 1; ; attempt++) {
    const file = looksFirst ? await source.stat() : undefined;
    const location = file && (await source.locate(file));
    if (location !== undefined) return redirect(request, reply, location);
    if (file && hasPreconditions(headers)) {
      const verdict = evaluatePreconditions(headers, file);
      if (verdict === 'not-modified')
        return sendNotModified(describe(reply, file, showing).removeHeader('content-type'));
      if (verdict === 'failed')
        throw new HttpError(412, `The file has the etag ${quoteEtag(file.etag)}, which the request ruled out.`);
    }
    if (file && request.method === 'HEAD')
      return describe(reply, file, showing).header('content-length', file.size).send();
    try {
      const wanted = file && !allowsRange(ifRange, file) ? undefined : range;
      const fetched = await source.fetch({ range: wanted, ifMatch: file?.etag, signal });
      if ('location' in fetched) return redirect(request, reply, fetched.location);
      return sendBytes(reply, fetched.content, showing);
    } catch (error) {
      if (isStoreError(error, 'range-unsatisfiable')) {
        const { size } = file ?? (await source.stat());
        reply.header('content-range', `bytes */${size}`);
      }
      // The file was replaced after `stat`: evaluate the preconditions again.
      if (!file || !isStoreError(error, 'condition-failed') || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Sends 304. The caller has set the headers that a 200 response would have. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send();
}

function redirect(request: FastifyRequest, reply: FastifyReply, location: string): FastifyReply {
  const target = location.startsWith('/') ? relativeTo(request.url, location) : location;
  return reply.code(302).header('location', target).header('cache-control', 'no-store').send();
}

function sendBytes(reply: FastifyReply, content: Content, showing: DisplayOptions): FastifyReply {
  const { file, range, bytes, release } = content;
  describe(reply, file, showing);
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${file.size}`);
  const length = range ? range.end - range.start + 1 : file.size;
  reply.header('content-length', length);
  return reply.send(bytes ?? (release ? recycleBuffers(content.body, release) : content.body));
}

function describe(reply: FastifyReply, file: FileEntry, showing: DisplayOptions): FastifyReply {
  return reply.headers(contentHeaders(file, showing));
}

/**
 * Makes `pipe` release each chunk once it is written, and read the next one only then. The destination must be finished
 * with a chunk when its write callback runs, as HTTP responses are: the system has the bytes.
 */
export function recycleBuffers(body: Readable, release: Release): Readable {
  return Object.assign(body, {
    pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
      body.on('data', (piece: Buffer) => {
        body.pause();
        destination.write(piece, (error) => {
          if (error) return;
          release(piece);
          body.resume();
        });
      });
      body.once('end', () => destination.end());
      return destination;
    },
  });
}
