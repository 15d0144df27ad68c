import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fetched, ReadOptions } from '../files/files.ts';
import { isStoreError } from '../model/error.ts';
import type { Content, FileEntry, Release } from '../model/store.ts';
import { HttpError } from './errors.ts';
import { contentHeaders, refuseToRun, relativeTo, type Showing } from './headers.ts';
import { clientSignal } from './long-operations.ts';
import { allowsRange, evaluate, hasPreconditions, parseRange, quote } from './preconditions.ts';

/** Where the bytes of one file come from. */
export interface ContentSource {
  stat(): Promise<FileEntry>;
  fetch(options: ReadOptions): Promise<Fetched>;
  /** The whole file, where it is in memory. */
  readCached?(): Content | undefined | Promise<Content | undefined>;
  /** A URL that is to be answered instead of the bytes; undefined for the bytes. */
  locate(file: FileEntry): Promise<string | undefined>;
}

/** How often a file that changes between the look at it and its opening is looked at again. */
const ATTEMPTS = 5;

/**
 * Answers GET and HEAD for a file: conditions, range, redirect and all. What is asked for as a whole and is in memory is
 * sent on the spot, without a promise on the way.
 */
export function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  source: ContentSource,
  showing: Showing,
): FastifyReply | Promise<FastifyReply> {
  refuseToRun(request.headers);
  const send = (content: Content | undefined) =>
    content ? sendBytes(reply, content, showing) : openAndSend(request, reply, source, showing);
  const readCached = asksForWhole(request) ? source.readCached?.() : undefined;
  return readCached instanceof Promise ? readCached.then(send) : send(readCached);
}

function asksForWhole({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.range === undefined && !hasPreconditions(headers);
}

/** A condition costs a look at the file first; without one, it is opened at once. */
async function openAndSend(
  request: FastifyRequest,
  reply: FastifyReply,
  source: ContentSource,
  showing: Showing,
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
      const verdict = evaluate(headers, file);
      if (verdict === 'not-modified')
        return sendNotModified(describe(reply, file, showing).removeHeader('content-type'));
      if (verdict === 'failed')
        throw new HttpError(412, `The file has the etag ${quote(file.etag)}, which the request ruled out.`);
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
      // Replaced since the look: what the conditions are about is looked at again.
      if (!file || !isStoreError(error, 'condition-failed') || attempt === ATTEMPTS) throw error;
    }
  }
}

/** 304, with the headers that the reply has: those that a 200 would have had of the file. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send();
}

function redirect(request: FastifyRequest, reply: FastifyReply, location: string): FastifyReply {
  const target = location.startsWith('/') ? relativeTo(request.url, location) : location;
  return reply.code(302).header('location', target).header('cache-control', 'no-store').send();
}

function sendBytes(reply: FastifyReply, content: Content, showing: Showing): FastifyReply {
  const { file, range, bytes, release } = content;
  describe(reply, file, showing);
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${file.size}`);
  const length = range ? range.end - range.start + 1 : file.size;
  reply.header('content-length', length);
  return reply.send(bytes ?? (release ? recycleBuffers(content.body, release) : content.body));
}

function describe(reply: FastifyReply, file: FileEntry, showing: Showing): FastifyReply {
  return reply.headers(contentHeaders(file, showing));
}

/**
 * Has a body release each piece that it pipes when that is written; the next one comes then. For what is done with bytes
 * when it says so, as a response is: the system has them.
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
