import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { BenchResponse } from './requests.ts';
import { requireHost } from './requests.ts';

/** Sends requests to one service over keep-alive connections, as a browser does. */
export interface Client extends Disposable {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<BenchResponse>;
  post(path: string, body: object): Promise<BenchResponse>;
  remove(path: string): Promise<BenchResponse>;
  upload(prefix: string, name: string, content: Buffer): Promise<BenchResponse>;
}

export function createClient(base: URL, connections: number, signal: AbortSignal): Client {
  requireHost(base);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string | number>>,
    body?: Buffer,
  ): Promise<BenchResponse> => {
    const url = new URL(path, base);
    requireHost(url);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      httpRequest(url, { method, headers, agent, signal: ends }, resolve).on('error', reject).end(body);
    });
    return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
  };
  return {
    get: (path, headers = {}) => send('GET', path, headers),
    post(path, fields) {
      const body = Buffer.from(JSON.stringify(fields));
      return send('POST', path, { 'content-type': 'application/json', 'content-length': body.length }, body);
    },
    remove: (path) => send('DELETE', path, {}),
    upload(prefix, name, content) {
      const body = formOf(prefix, name, content);
      const type = `multipart/form-data; boundary=${boundary}`;
      return send('POST', '/upload', { 'content-type': type, 'content-length': body.length }, body);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Milliseconds. */
const timeoutMs = 60_000;

const boundary = 'a-boundary-that-no-file-holds';

function formOf(prefix: string, name: string, content: Buffer): Buffer {
  const head = (fields: string) => `--${boundary}\r\nContent-Disposition: form-data; ${fields}\r\n\r\n`;
  return Buffer.concat([
    Buffer.from(`${head('name="prefix"')}${prefix}\r\n${head(`name="file"; filename="${name}"`)}`),
    content,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
}
