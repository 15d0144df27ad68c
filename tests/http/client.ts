import assert from 'node:assert/strict';
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { ERROR_CODES, type ErrorCode } from '../../src/http/error-codes.ts';
import { HANG_SECONDS } from '../../testing/until.ts';
import { type RecordedResponse, recordExchange } from './exchanges.ts';

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Keeps connections for many requests. Default: that of `keepConnections`, or a connection for each request. */
  readonly agent?: Agent;
}

/** Sends a request. Does not normalise the path, as `fetch` would, and does not follow redirects. */
export async function send(port: number, path: string, call: Call = {}): Promise<HttpResponse> {
  const { response, recorded } = beginRecorded(port, path, call);
  return complete(await response, recorded);
}

async function complete(response: IncomingMessage, recorded: RecordedResponse): Promise<HttpResponse> {
  const body = await buffer(response);
  recorded.body(body);
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** A request in progress. The test can read the response as it arrives, and disconnect. */
export interface Exchange {
  /** Resolves when the headers of the response have arrived. */
  readonly response: Promise<IncomingMessage>;
  disconnect(): void;
}

const agents = new Map<number, Agent>();

/**
 * Keeps the connections to a service until the returned function is called. Otherwise, each request opens a connection,
 * which takes as long as most requests.
 */
export function keepConnections(port: number): () => void {
  const agent = new Agent({ keepAlive: true });
  agents.set(port, agent);
  return () => {
    agents.delete(port);
    agent.destroy();
  };
}

/** Like `send`, but does not wait for the end of the response. */
export function begin(port: number, path: string, call: Call = {}): Exchange {
  return beginRecorded(port, path, call);
}

function beginRecorded(port: number, path: string, call: Call): Exchange & { readonly recorded: RecordedResponse } {
  const { method = 'GET', headers = {}, body } = call;
  // Node.js keeps a connection after its response, also if the announced body was not sent. The next request would be its rest.
  const isWhole = headers['content-length'] === undefined;
  const { agent = (isWhole ? agents.get(port) : undefined) ?? false } = call;
  // Node.js sets no `Content-Length` for the bodies of some methods.
  const isChunked = headers['transfer-encoding'] !== undefined;
  const framing = body === undefined || isChunked ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const recorded = recordExchange({ method, path, headers, body });
  const request: ClientRequest = httpRequest(
    { host: '127.0.0.1', port, path, method, headers: { ...framing, ...headers }, agent },
    (response) => {
      recorded.headers(response);
      resolve(response);
    },
  );
  request.on('error', reject);
  request.end(body);
  // A caller that disconnects does not await the response.
  promise.catch(() => {});
  return { response: promise, recorded, disconnect: () => request.destroy() };
}

/**
 * Sends raw bytes on a new connection. Returns all received bytes when the service closes it. With `ends`, the client
 * closes its side after the bytes.
 */
export async function sendBytes(port: number, bytes: Buffer | string, { ends = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  if (ends) socket.end(bytes);
  else socket.write(bytes);
  return within('the end of the connection', buffer(socket))
    .then(String)
    .finally(() => socket.destroy());
}

/** Parses the result of `sendBytes`: exactly one response with a `Content-Length`. */
export function responseOf(bytes: string): HttpResponse {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = Buffer.from(bytes.slice(end + 4));
  assert.match(statusLine, /^HTTP\/1\.1 \d{3} /);
  assert.equal(headers['content-length'], String(body.length), bytes);
  return { status: Number(statusLine.split(' ')[1]), headers, body };
}

/** Returns the promise with a timeout, for what could otherwise never settle. */
export async function within<Value>(what: string, promise: Promise<Value>): Promise<Value> {
  const timer = new AbortController();
  const late = delay(TIMEOUT_MS, undefined, { signal: timer.signal }).then(
    () => assert.fail(`Timeout: waited for ${what}.`),
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

const TIMEOUT_MS = HANG_SECONDS * 1000;

/** Requests the `Location` in the response to `path`, at the service or at another server. */
export function followLocation(
  port: number,
  path: string,
  location: string,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  const url = new URL(location, `http://127.0.0.1:${port}${path}`);
  return send(Number(url.port), url.pathname + url.search, { headers: { ...headers, host: url.host } });
}

/** Escapes each segment of a path for a URL, and keeps the slashes. */
export function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** Sends a POST with a JSON body. */
export function postJson(
  port: number,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  return send(port, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** One part of a form, encoded like browsers and curl do (HTML standard, "multipart form data"). */
export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly value: Buffer | string;
}

export const BOUNDARY = '------------------------test-boundary';

export function formOf(parts: readonly FormPart[]): Buffer {
  const escape = (text: string) => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const chunks = parts.flatMap(({ name, filename, type, value }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${escape(name)}"`,
    filename === undefined ? '' : `; filename="${escape(filename)}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    value,
    '\r\n',
  ]);
  return Buffer.concat(
    [...chunks, `--${BOUNDARY}--\r\n`].map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)),
  );
}

export function postForm(
  port: number,
  parts: readonly FormPart[],
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  return postBytes(port, formOf(parts), headers);
}

/** Sends a POST to `/upload` with bytes that are not from `formOf`. */
export function postBytes(
  port: number,
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  return send(port, '/upload', { method: 'POST', headers: { ...FORM, ...headers }, body });
}

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

/** An upload whose body the test sends in chunks. */
export interface UploadInProgress {
  /** Resolves when the system has accepted the chunk. */
  write(piece: Buffer): Promise<void>;
  /** Ends the body, and returns the response. */
  finish(): Promise<HttpResponse>;
  /** Closes the connection before the end of the body. */
  disconnect(): void;
}

/** Begins an upload. It uses chunked encoding unless the headers have a `content-length`. */
export function beginUpload(
  port: number,
  headers: Record<string, string> = {},
  target: { readonly method: string; readonly path: string } = { method: 'POST', path: '/upload' },
): UploadInProgress {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const recorded = recordExchange({ ...target, headers });
  const request = httpRequest(
    { host: '127.0.0.1', port, ...target, headers: { ...FORM, ...headers }, agent: false },
    (response) => {
      recorded.headers(response);
      resolve(response);
    },
  );
  request.setNoDelay();
  request.on('error', reject);
  // A caller that disconnects does not await the response.
  promise.catch(() => {});
  return {
    write: (piece) =>
      new Promise((taken, failed) => request.write(piece, (error) => (error ? failed(error) : taken()))),
    async finish() {
      request.end();
      return complete(await promise, recorded);
    },
    disconnect: () => void request.destroy(),
  };
}

/** Uploads a file to a path. Asserts that the upload succeeds. */
export async function upload(port: number, path: string, value: Buffer | string): Promise<HttpResponse> {
  const slash = path.lastIndexOf('/') + 1;
  const response = await postForm(port, [
    { name: 'prefix', value: path.slice(0, slash) },
    { name: 'file', filename: path.slice(slash), value },
  ]);
  assert.equal(response.status, 200, response.body.toString());
  return response;
}

/** Parses the JSON of a response. */
export function jsonOf(response: HttpResponse): Record<string, unknown> {
  assert.match(response.headers['content-type'] ?? '', /^application\/json/);
  return JSON.parse(response.body.toString());
}

/**
 * Asserts that the response is an error envelope with this status and message, and has the headers of every response.
 */
export function assertFailure(response: HttpResponse, status: number, error: RegExp | string): void {
  const json = jsonOf(response);
  assert.equal(response.status, status, response.body.toString());
  const details = json['code'] === 'locked' && 'lock' in json ? ['lock'] : [];
  assert.deepEqual(Object.keys(json), ['success', 'code', 'error', ...details]);
  assert.equal(json['success'], false);
  assert.equal(ERROR_CODES[json['code'] as ErrorCode]?.status, status, String(json['code']));
  if (typeof error === 'string') assert.equal(json['error'], error);
  else assert.match(String(json['error']), error);
  assert.match(String(response.headers['x-request-id'] ?? ''), /^[\w.:-]+$/);
}

/** Asserts that the response is a success envelope with exactly these fields. */
export function assertSuccess(response: HttpResponse, fields: Record<string, unknown>): void {
  assert.equal(response.status, 200, response.body.toString());
  const { change, ...rest } = jsonOf(response);
  // Only a service with a database has a change log.
  if (change !== undefined) assert.ok(typeof change === 'string' && /^[\w-]{22}$/.test(change));
  assert.deepEqual(rest, { success: true, ...fields });
}

/** A file in a listing. */
export interface ListedFile {
  readonly type: 'file';
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly modified: string | null;
  readonly contentType: string;
  readonly etag: string;
}

/** Returns the file with this path from the listing of its folder. */
export async function listed(port: number, path: string): Promise<ListedFile> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const response = await send(port, `/?prefix=${encodeURIComponent(folder)}`);
  const { entries } = jsonOf(response) as unknown as { entries: ListedFile[] };
  return entries.find((entry) => entry.path === path) ?? assert.fail(`${path} is not listed.`);
}

/** Returns all paths below a folder, using only listings. */
export async function pathsBelow(port: number, folder = ''): Promise<string[]> {
  const response = await send(port, `/?prefix=${encodeURIComponent(folder)}`);
  const { entries } = jsonOf(response) as { entries: { type: string; path: string }[] };
  const below = entries.map(async ({ type, path }) =>
    type === 'folder' ? [path, ...(await pathsBelow(port, path))] : [path],
  );
  return (await Promise.all(below)).flat();
}

/**
 * Returns everything below a folder, using only listings and downloads: the text of each file, and null for each
 * folder.
 */
export async function treeOf(port: number, folder = ''): Promise<Record<string, string | null>> {
  const entries = (await pathsBelow(port, folder)).map(async (path) => {
    if (path.endsWith('/')) return [path, null] as const;
    const response = await send(port, `/file/${escapePath(path)}`);
    assert.equal(response.status, 200, `${path}: ${response.body.toString()}`);
    return [path, response.body.toString()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Stores a tree in the form of `treeOf`, all files and folders at the same time. */
export async function plant(port: number, tree: Readonly<Record<string, string | null>>): Promise<void> {
  const create = async ([path, value]: [string, string | null]) => {
    if (value !== null) await upload(port, path, value);
    else assert.equal((await postJson(port, '/create_folder', { path })).status, 200, path);
  };
  await Promise.all(Object.entries(tree).map(create));
}

/** Returns the names in the listing of a folder. Names of folders end with a slash. */
export async function namesIn(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/${escapePath(folder)}`)) as { entries: { path: string }[] };
  return entries.map(({ path }) => path.slice(folder.length + 1));
}
