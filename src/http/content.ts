import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Download, ReadOptions } from '../files/download.ts';
import { isStoreError } from '../model/error.ts';
import type { Content, FileEntry } from '../model/store.ts';
import { recycleWhenPiped } from '../streams/chunk-recycling.ts';
import { decoded } from '../streams/decoded.ts';
import { acceptsCoding } from './accept.ts';
import type { Read } from './access/reads.ts';
import { accessOf } from './access/request-access.ts';
import { HttpError } from './errors.ts';
import { contentHeaders, type DisplayOptions, rejectActiveUse, relativeTo } from './headers.ts';
import { clientSignal } from './long-operations.ts';
import { allowsRange, evaluatePreconditions, hasPreconditions, parseRange, quoteEtag } from './preconditions.ts';

/** The source of one file's metadata and bytes. */
export interface ContentSource {
  /** What the audit log has of a response with the bytes, or with their URL. */
  readonly read: Read;
  stat(): Promise<FileEntry>;
  download(options: ReadOptions): Promise<Download>;
  /** Returns a URL to redirect to; undefined if the response contains the bytes. */
  downloadUrl(file: FileEntry): Promise<string | undefined>;
  /** Returns the whole file if it is in memory. */
  readCached?(): Content | undefined | Promise<Content | undefined>;
}

/** Maximum number of attempts for a file that changes between `stat` and opening. */
const MAX_ATTEMPTS = 5;

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
    content ? sendBytes(request, reply, content, { source, showing }) : openAndSend(request, reply, source, showing);
  const readCached = requestsWholeFile(request) ? source.readCached?.() : undefined;
  return readCached instanceof Promise ? readCached.then(send) : send(readCached);
}

function requestsWholeFile({ method, headers }: FastifyRequest): boolean {
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
  const needsStat = request.method === 'HEAD' || hasPreconditions(headers) || (range && ifRange !== undefined);
  const signal = clientSignal(reply);
  const send = (content: Content) => sendBytes(request, reply, content, { source, showing });
  for (let attempt = 1; ; attempt++) {
    const file = needsStat ? await source.stat() : undefined;
    const url = file && (await source.downloadUrl(file));
    if (url !== undefined) return redirect(request, reply, url, source);
    if (file && hasPreconditions(headers)) {
      const verdict = evaluatePreconditions(headers, file);
      if (verdict === 'not-modified')
        return sendNotModified(describe(reply, file, showing).removeHeader('content-type'));
      if (verdict === 'failed')
        throw new HttpError(
          'condition-failed',
          `The precondition failed: the ETag of the file is ${quoteEtag(file.etag)}.`,
        );
    }
    if (file && request.method === 'HEAD') {
      describe(reply, file, showing);
      return decodingFor(request, file)
        ? describeDecoded(reply, file).send()
        : reply.header('content-length', file.size).send();
    }
    try {
      const allowedRange = file && !allowsRange(ifRange, file) ? undefined : range;
      const download = await source.download({ range: allowedRange, ifMatch: file?.etag, signal });
      if ('url' in download) return redirect(request, reply, download.url, source);
      const { content } = download;
      if (!content.range || !decodingFor(request, content.file)) return send(content);
      // Ranges are those of the stored bytes, which the client doesn't accept.
      content.body.destroy();
      const whole = await source.download({ ifMatch: content.file.etag, signal });
      return 'url' in whole ? redirect(request, reply, whole.url, source) : send(whole.content);
    } catch (error) {
      if (isStoreError(error, 'range-unsatisfiable')) {
        const { size } = file ?? (await source.stat());
        reply.header('content-range', `bytes */${size}`);
      }
      // The file was replaced after `stat`: evaluate the preconditions again.
      if (!file || !isStoreError(error, 'condition-failed') || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Sends 304. The caller has set the headers that a 200 response would have. */
export function sendNotModified(reply: FastifyReply): FastifyReply {
  return reply.code(304).send();
}

function redirect(request: FastifyRequest, reply: FastifyReply, url: string, { read }: ContentSource): FastifyReply {
  accessOf(request).recordRead(read);
  const location = url.startsWith('/') ? relativeTo(request.url, url) : url;
  return reply.code(302).header('location', location).header('cache-control', 'no-store').send();
}

function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  { source, showing }: { readonly source: ContentSource; readonly showing: DisplayOptions },
): FastifyReply {
  const { file, range, bytes } = content;
  accessOf(request).recordRead(source.read);
  describe(reply, file, showing);
  if (decodingFor(request, file)) return describeDecoded(reply, file).send(decoded(content));
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${file.size}`);
  const length = range ? range.end - range.start + 1 : file.size;
  reply.header('content-length', length);
  return reply.send(bytes ?? recycleWhenPiped(content.body));
}

/** Returns whether the stored bytes must be decoded, because the client doesn't accept their coding. */
function decodingFor({ headers }: FastifyRequest, { encoding }: FileEntry): boolean {
  return encoding !== undefined && !acceptsCoding(headers['accept-encoding'], encoding);
}

/** Describes the decoded content, whose length is unknown and which has no ranges. Its ETag is another one (RFC 9110, section 8.8.3.3). */
function describeDecoded(reply: FastifyReply, { etag }: FileEntry): FastifyReply {
  reply.removeHeader('content-encoding').removeHeader('accept-ranges');
  return reply.header('etag', `W/${quoteEtag(etag)}`);
}

function describe(reply: FastifyReply, file: FileEntry, showing: DisplayOptions): FastifyReply {
  return reply.headers(contentHeaders(file, showing));
}
