import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { beginUpload, escapePath, formOf, type HttpResponse, send } from '../http/client.ts';

/** The two orders of the parts of an upload. */
export const ORDERS = ['prefix first', 'file first'] as const;
export type Order = (typeof ORDERS)[number];

/** An upload whose form has begun. The test sends the bytes of the file. */
export interface OpenUpload {
  /** Resolves when the system has accepted the bytes. Rejects if the connection is broken. */
  send(bytes: Buffer): Promise<void>;
  /** Ends the form. Rejects if the connection ends without a response. */
  finish(): Promise<HttpResponse>;
  /** Closes the connection in its current state. */
  disconnect(): void;
}

/** Begins to upload a file to `path`: sends everything that precedes its bytes. */
export async function openUpload(port: number, path: string, order: Order = 'prefix first'): Promise<OpenUpload> {
  const [head, tail] = frameOf(path, order);
  const { write, finish, disconnect } = beginUpload(port);
  await write(head);
  return {
    send: write,
    disconnect,
    async finish() {
      // A request that was rejected before the end still gets a response.
      await write(tail).catch(() => {});
      return finish();
    },
  };
}

/** Returns the bytes of a form before and after those of its file. */
function frameOf(path: string, order: Order): [head: Buffer, tail: Buffer] {
  const slash = path.lastIndexOf('/') + 1;
  const prefix = { name: 'prefix', value: path.slice(0, slash) };
  const file = { name: 'file', filename: path.slice(slash), value: MARK };
  const form = formOf(order === 'prefix first' ? [prefix, file] : [file, prefix]);
  const at = form.indexOf(MARK);
  return [form.subarray(0, at), form.subarray(at + MARK.length)];
}

const MARK = '\0the bytes of the file\0';

/** Requests `path` and returns the response. Its body is not read until the test does. */
export async function openDownload(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const request = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Returns the path and query of the URL to which `/file/` redirects requests for a large file. */
export async function signedPath(port: number, path: string): Promise<string> {
  const requested = `/file/${escapePath(path)}`;
  const { status, headers } = await send(port, requested);
  if (status !== 302) throw new Error(`GET ${requested} returned ${status} instead of a redirect.`);
  const { pathname, search } = new URL(headers.location ?? '', `http://127.0.0.1${requested}`);
  return pathname + search;
}
