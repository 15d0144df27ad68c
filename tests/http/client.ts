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

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The former name of `HttpResponse`. */
export type Response = HttpResponse;

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Keeps connections for many requests. Default: that of `keepConnections`, or a connection for each request. */
  readonly agent?: Agent;
}

/**
 * Sends a request with its path as it stands: nothing is normalised, as `fetch` would. Redirects are not followed.
 */
export async function send(port: number, path: string, call: Call = {}): Promise<HttpResponse> {
  const response = await begin(port, path, call).answer;
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** A request under way: its answer can be read as it comes, and the client can leave. */
export interface Exchange {
  /** Settles with the head of the answer. */
  readonly answer: Promise<IncomingMessage>;
  leave(): void;
}

const agents = new Map<number, Agent>();

/**
 * Keeps the connections to a service until the returned function is called. Otherwise each request has a connection of its own,
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

/** As `send`, without waiting for the end of the answer. */
export function begin(port: number, path: string, call: Call = {}): Exchange {
  const { method = 'GET', headers = {}, body, agent = agents.get(port) ?? false } = call;
  // Node does not announce the bodies of all methods by itself.
  const isChunked = headers['transfer-encoding'] !== undefined;
  const framing = body === undefined || isChunked ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request: ClientRequest = httpRequest(
    { host: '127.0.0.1', port, path, method, headers: { ...framing, ...headers }, agent },
    resolve,
  );
  request.on('error', reject);
  request.end(body);
  // Who leaves does not look at the answer.
  promise.catch(() => {});
  return { answer: promise, leave: () => request.destroy() };
}

/**
 * Sends bytes as they are on a connection of its own, and gives all that comes back until the service ends it. With
 * `ends`, the client says that nothing more will come.
 */
export async function sendBytes(port: number, bytes: Buffer | string, { ends = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  if (ends) socket.end(bytes);
  else socket.write(bytes);
  return within('the end of the connection', buffer(socket))
    .then(String)
    .finally(() => socket.destroy());
}

/** The answer that `sendBytes` gave: exactly one, of announced length. */
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

/** The promise, failing when it takes too long: for what would else hang. */
export async function within<Value>(what: string, promise: Promise<Value>): Promise<Value> {
  const timer = new AbortController();
  const late = delay(TIMEOUT_MS, undefined, { signal: timer.signal }).then(
    () => assert.fail(`Waited in vain for ${what}.`),
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}

/** Milliseconds: long enough for a busy machine, since only what fails waits so long. */
const TIMEOUT_MS = 20_000;

/** Asks for the `Location` that the answer to `path` gave: one of the service's own, or one of another server. */
export function followLocation(
  port: number,
  path: string,
  location: string,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  const url = new URL(location, `http://127.0.0.1:${port}${path}`);
  return send(Number(url.port), url.pathname + url.search, { headers: { ...headers, host: url.host } });
}

/** A path as it stands in a URL: each segment escaped, the slashes kept. */
export function escapePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** A POST with a JSON body. */
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

/** One part of a form, written as browsers and curl do (HTML standard, "multipart form data"). */
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

/** A POST to `/upload` of bytes that `formOf` did not make. */
export function postBytes(
  port: number,
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<HttpResponse> {
  return send(port, '/upload', { method: 'POST', headers: { ...FORM, ...headers }, body });
}

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

/** An upload whose body goes out piece by piece, as the test says. */
export interface Sending {
  /** Settles when the system has taken the piece. */
  write(piece: Buffer): Promise<void>;
  /** Ends the body, and gives the answer. */
  finish(): Promise<HttpResponse>;
  /** Closes the connection in the middle of the body. */
  leave(): void;
}

/** Begins an upload, sent in chunks where the headers have no `content-length`. */
export function beginUpload(
  port: number,
  headers: Record<string, string> = {},
  target: { readonly method: string; readonly path: string } = { method: 'POST', path: '/upload' },
): Sending {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpRequest(
    { host: '127.0.0.1', port, ...target, headers: { ...FORM, ...headers }, agent: false },
    resolve,
  );
  request.setNoDelay();
  request.on('error', reject);
  // Who leaves does not look at the answer.
  promise.catch(() => {});
  return {
    write: (piece) =>
      new Promise((taken, failed) => request.write(piece, (error) => (error ? failed(error) : taken()))),
    async finish() {
      request.end();
      const response = await promise;
      return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
    },
    leave: () => void request.destroy(),
  };
}

/** Uploads a file at a path and expects that to succeed. */
export async function upload(port: number, path: string, value: Buffer | string): Promise<HttpResponse> {
  const slash = path.lastIndexOf('/') + 1;
  const answer = await postForm(port, [
    { name: 'prefix', value: path.slice(0, slash) },
    { name: 'file', filename: path.slice(slash), value },
  ]);
  assert.equal(answer.status, 200, answer.body.toString());
  return answer;
}

/** The JSON of an answer. */
export function jsonOf(answer: HttpResponse): Record<string, unknown> {
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
  return JSON.parse(answer.body.toString());
}

/** Expects the failure envelope with this status and an error that says this; and the headers of every answer. */
export function assertFailure(answer: HttpResponse, status: number, error: RegExp | string): void {
  const json = jsonOf(answer);
  assert.equal(answer.status, status, answer.body.toString());
  const details = json['code'] === 'locked' && 'lock' in json ? ['lock'] : [];
  assert.deepEqual(Object.keys(json), ['success', 'code', 'error', ...details]);
  assert.equal(json['success'], false);
  assert.equal(ERROR_CODES[json['code'] as ErrorCode]?.status, status, String(json['code']));
  if (typeof error === 'string') assert.equal(json['error'], error);
  else assert.match(String(json['error']), error);
  assert.match(String(answer.headers['x-request-id'] ?? ''), /^[\w.:-]+$/);
}

/** Expects the success envelope with exactly these fields. */
export function assertSuccess(answer: HttpResponse, fields: Record<string, unknown>): void {
  assert.equal(answer.status, 200, answer.body.toString());
  const { change, ...rest } = jsonOf(answer);
  // Only a service with a database has a change log.
  if (change !== undefined) assert.ok(typeof change === 'string' && /^[\w-]{22}$/.test(change));
  assert.deepEqual(rest, { success: true, ...fields });
}

/** A file as a listing shows it. */
export interface ListedFile {
  readonly type: 'file';
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly modified: string | null;
  readonly contentType: string;
  readonly etag: string;
}

/** The file of this path in the listing of its folder. */
export async function listed(port: number, path: string): Promise<ListedFile> {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const answer = await send(port, `/?prefix=${encodeURIComponent(folder)}`);
  const { entries } = jsonOf(answer) as unknown as { entries: ListedFile[] };
  return entries.find((entry) => entry.path === path) ?? assert.fail(`${path} is not listed.`);
}

/** Every path below a folder, by listings alone. */
export async function pathsBelow(port: number, folder = ''): Promise<string[]> {
  const answer = await send(port, `/?prefix=${encodeURIComponent(folder)}`);
  const { entries } = jsonOf(answer) as { entries: { type: string; path: string }[] };
  const below = entries.map(async ({ type, path }) =>
    type === 'folder' ? [path, ...(await pathsBelow(port, path))] : [path],
  );
  return (await Promise.all(below)).flat();
}

/** Everything below a folder by listings and fetches alone: the text of each file, null for each folder. */
export async function treeOf(port: number, folder = ''): Promise<Record<string, string | null>> {
  const entries = (await pathsBelow(port, folder)).map(async (path) => {
    if (path.endsWith('/')) return [path, null] as const;
    const answer = await send(port, `/file/${escapePath(path)}`);
    assert.equal(answer.status, 200, `${path}: ${answer.body.toString()}`);
    return [path, answer.body.toString()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Stores a tree as `treeOf` returns it, all files and folders at the same time. */
export async function plant(port: number, tree: Readonly<Record<string, string | null>>): Promise<void> {
  const create = async ([path, value]: [string, string | null]) => {
    if (value !== null) await upload(port, path, value);
    else assert.equal((await postJson(port, '/create_folder', { path })).status, 200, path);
  };
  await Promise.all(Object.entries(tree).map(create));
}

/** Returns the names in a folder as the listing has them; those of folders end with a slash. */
export async function namesIn(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/${escapePath(folder)}`)) as { entries: { path: string }[] };
  return entries.map(({ path }) => path.slice(folder.length + 1));
}
