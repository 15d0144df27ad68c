import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { type HttpResponse, within } from '../http/client.ts';

export interface Sent {
  /** Whether the client closes its side after the bytes, because they are an incomplete request. */
  readonly ends?: boolean;
  /** The maximum number of responses. After these, the client closes its side. */
  readonly responses?: number;
}

/**
 * Sends raw bytes, and returns the responses until the connection is closed. Throws unless the received bytes are
 * exactly a sequence of responses.
 */
export async function exchange(
  port: number,
  bytes: Buffer | string,
  { ends = false, responses = 1 }: Sent = {},
): Promise<HttpResponse[]> {
  const sent = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  // Line breaks before a request are ignored (RFC 9112, section 2.2).
  const isHead = /^[\r\n]*HEAD /.test(sent.toString('latin1'));
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!ends && finalResponses(received, isHead).length >= responses) socket.end();
  });
  // The service can close the connection while the client still sends.
  socket.on('error', () => {});
  socket.on('close', () => resolve());
  if (ends) socket.end(sent);
  else socket.write(sent);
  try {
    await within('the end of the connection', closed);
  } catch (error) {
    throw new Error(`After ${JSON.stringify(sent.toString('latin1'))}`, { cause: error });
  } finally {
    socket.destroy();
  }
  const { found, rest } = readResponses(received, { isHead, hasEnded: true });
  assert.equal(rest.toString('latin1'), '', 'Only complete responses arrive.');
  return found.filter(isFinal);
}

const isFinal = ({ status }: HttpResponse) => status >= 200;

const finalResponses = (received: Buffer, isHead: boolean) =>
  readResponses(received, { isHead, hasEnded: false }).found.filter(isFinal);

interface Reading {
  /** Whether the responses are to HEAD, and therefore have no bodies. */
  readonly isHead: boolean;
  /** Whether the connection is closed. */
  readonly hasEnded: boolean;
}

/** Parses the complete responses at the start of the bytes. Returns them and the remaining bytes. */
function readResponses(bytes: Buffer, reading: Reading): { found: HttpResponse[]; rest: Buffer } {
  const found: HttpResponse[] = [];
  let rest = bytes;
  for (let next = readResponse(rest, reading); next; next = readResponse(rest, reading)) {
    found.push(next.response);
    rest = next.rest;
  }
  return { found, rest };
}

function readResponse(
  bytes: Buffer,
  { isHead, hasEnded }: Reading,
): { response: HttpResponse; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine)?.[1]);
  assert.ok(status >= 100, `Not a status line: ${JSON.stringify(statusLine)}`);
  const headers = readHeaders(lines);
  const rest = bytes.subarray(end + 4);
  // If the service can't parse a request, it does not know the method HEAD, and responds with a body.
  const isBare = isHead && !rest.toString('latin1').startsWith('{');
  const body = hasNoBody(status, isBare)
    ? { bytes: rest.subarray(0, 0), length: 0 }
    : readBody(rest, headers, hasEnded);
  return body && { response: { status, headers, body: body.bytes }, rest: rest.subarray(body.length) };
}

/** RFC 9112, section 6.3. */
const hasNoBody = (status: number, isHead: boolean) => isHead || status < 200 || status === 204 || status === 304;

/** Headers that occur more than once must be lists. */
function readHeaders(lines: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    assert.ok(name, `Not a header: ${JSON.stringify(line)}`);
    const key = name.toLowerCase();
    const before = headers[key];
    if (before === undefined) headers[key] = value;
    else {
      assert.match(key, /^(?:set-cookie|www-authenticate)$/, `The header ${name} occurs twice.`);
      headers[key] = [before, value].flat();
    }
  }
  return headers;
}

function readBody(
  bytes: Buffer,
  { 'content-length': length, 'transfer-encoding': encoding }: IncomingHttpHeaders,
  hasEnded: boolean,
): { bytes: Buffer; length: number } | undefined {
  if (encoding === 'chunked') return readChunks(bytes);
  if (length === undefined) return hasEnded ? { bytes, length: bytes.length } : undefined;
  assert.match(length, /^\d+$/);
  const size = Number(length);
  return bytes.length < size ? undefined : { bytes: bytes.subarray(0, size), length: size };
}

/** RFC 9112, section 7.1, as Node.js writes it: without extensions and trailers. */
function readChunks(bytes: Buffer): { bytes: Buffer; length: number } | undefined {
  const chunks: Buffer[] = [];
  let position = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', position);
    if (lineEnd === -1) return undefined;
    const line = bytes.toString('latin1', position, lineEnd);
    assert.match(line, /^[\da-f]+$/);
    const start = lineEnd + 2;
    const end = start + Number.parseInt(line, 16);
    if (bytes.length < end + 2) return undefined;
    assert.equal(bytes.toString('latin1', end, end + 2), '\r\n');
    if (end === start) return { bytes: Buffer.concat(chunks), length: end + 2 };
    chunks.push(bytes.subarray(start, end));
    position = end + 2;
  }
}
