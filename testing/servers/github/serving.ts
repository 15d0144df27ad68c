import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type {
  Bytes,
  GitHubRequest,
  Interceptor,
  OwnResponse,
  RespondedRequest,
  Response,
  Verdict,
} from './exchange.ts';

/** How a server handles its requests. */
export interface Service {
  /** Describes a request, except for its body. */
  describe(incoming: IncomingMessage): Omit<GitHubRequest, 'body'>;
  /** Whether the body is read only after the interceptor has accepted the request. */
  isUpload(request: Omit<GitHubRequest, 'body'>): boolean;
  /** Returns the maximum bytes of a body. Longer ones are discarded. */
  maxBodyBytes(request: Omit<GitHubRequest, 'body'>): number;
  interceptor(): Interceptor | undefined;
  serve(request: GitHubRequest, body: Body): Promise<Response>;
  /** Returns the headers of all responses of this server, including those of interceptors. */
  headers(): Readonly<Record<string, string>>;
  record(request: RespondedRequest): void;
  /** Reports a fault of the fake, which is not one of the service under test. */
  fail(error: unknown): void;
}

/** A request body; `bytes` is undefined if it was too long. */
export interface Body {
  readonly bytes: Buffer | undefined;
}

export async function handle(service: Service, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  // A client that disconnects is not a fault.
  incoming.on('error', () => {});
  response.on('error', () => {});
  try {
    await exchange(service, incoming, response);
  } catch (error) {
    // The client has disconnected, unless the response is still open.
    if (!response.destroyed && !incoming.errored) service.fail(error);
    response.destroy();
  }
}

async function exchange(service: Service, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const described = service.describe(incoming);
  const most = service.maxBodyBytes(described);
  const isUpload = service.isUpload(described);
  const early = isUpload ? undefined : await readBody(incoming, most);
  const received = { ...described, body: early && parse(early) };
  const verdict = await Promise.race([service.interceptor()?.(received), untilDisconnected(response)]);
  if (response.destroyed) return;
  const record = (request: GitHubRequest, status: number) =>
    service.record({ ...request, body: shorten(request.body), status, free: status === 304 });
  if (verdict === 'cut') {
    record(received, 0);
    response.destroy();
  } else if (isOwnResponse(verdict)) {
    incoming.resume();
    record(received, verdict.status);
    await send(incoming, response, ownResponse(verdict, service.headers()), Number.POSITIVE_INFINITY);
  } else {
    const body = early ?? (await readBody(incoming, most));
    const request = { ...described, body: parse(body) };
    const served = await service.serve(request, body);
    record(request, verdict === 'cut when done' ? 0 : served.status);
    if (verdict === 'cut when done') response.destroy();
    else await send(incoming, response, served, verdict?.cutAfterBytes ?? Number.POSITIVE_INFINITY);
  }
}

/** Resolves when the client disconnects. */
function untilDisconnected(response: ServerResponse): Promise<undefined> {
  return new Promise((resolve) => response.once('close', () => resolve(undefined)));
}

function isOwnResponse(verdict: Verdict): verdict is OwnResponse {
  return typeof verdict === 'object' && 'status' in verdict;
}

async function readBody(incoming: IncomingMessage, most: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= most) chunks.push(chunk);
    else chunks.length = 0;
  }
  return { bytes: length <= most ? Buffer.concat(chunks) : undefined };
}

/** Returns undefined if the body is not JSON. */
function parse({ bytes }: Body): unknown {
  if (!bytes?.length) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** Truncates contents, because the recorded requests would otherwise keep all files in memory. */
function shorten(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('content' in body)) return body;
  const { content } = body;
  return typeof content === 'string' && content.length > 65536 ? { ...body, content: content.slice(0, 65536) } : body;
}

function ownResponse({ status, headers, body }: OwnResponse, usual: Readonly<Record<string, string>>): Response {
  if (typeof body !== 'string') return { status, headers: { ...usual, ...headers }, json: body };
  const bytes = Buffer.from(body);
  const typed = { 'content-type': 'text/plain; charset=utf-8', ...usual, ...headers };
  return { status, headers: typed, bytes: { sha: '', size: bytes.length, open: () => Readable.from([bytes]) } };
}

async function send(
  incoming: IncomingMessage,
  response: ServerResponse,
  { status, headers, json, bytes = json === undefined ? undefined : jsonBytes(json) }: Response,
  cutAfterBytes: number,
): Promise<void> {
  const type = json === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
  // Responses with these statuses have no body: RFC 9110, sections 15.3.5 and 15.4.5.
  const isBare = status === 204 || status === 304;
  const length = isBare ? {} : { 'content-length': bytes?.size ?? 0 };
  response.writeHead(status, { ...type, ...length, ...headers });
  if (incoming.method === 'HEAD' || isBare || !bytes) {
    response.end();
  } else if (cutAfterBytes < Number.POSITIVE_INFINITY) {
    for await (const piece of slice(bytes, 0, cutAfterBytes)) {
      await new Promise((written) => response.write(piece, written));
    }
    if (cutAfterBytes === 0) response.flushHeaders();
    response.destroy();
  } else {
    await pipeline(bytes.open(), response);
  }
}

function jsonBytes(json: unknown): Bytes {
  const bytes = Buffer.from(JSON.stringify(json));
  return { sha: '', size: bytes.length, open: () => Readable.from([bytes]) };
}

/** Returns the bytes from `start` to `end`, exclusive. */
export async function* slice({ open }: Bytes, start: number, end: number): AsyncGenerator<Buffer> {
  let at = 0;
  if (start >= end) return;
  for await (const chunk of open() as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += chunk.length;
    if (piece.length > 0) yield piece;
    if (at >= end) return;
  }
}
