import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { beginUpload, escapePath, formOf, type Response, send } from '../http/client.ts';

/** The two orders in which the parts of an upload may come. */
export const ORDERS = ['prefix first', 'file first'] as const;
export type Order = (typeof ORDERS)[number];

/** An upload of which the form stands, and whose bytes go out when the test sends them. */
export interface OpenUpload {
  /** Settles when the system has taken the bytes; rejects when the connection is broken. */
  send(bytes: Buffer): Promise<void>;
  /** Ends the form. Rejects when the connection ends without an answer. */
  finish(): Promise<Response>;
  /** Closes the connection as it stands. */
  cut(): void;
}

/** Begins to upload a file at `path`: all that stands before its bytes is sent. */
export async function openUpload(port: number, path: string, order: Order = 'prefix first'): Promise<OpenUpload> {
  const [head, tail] = frameOf(path, order);
  const { write, finish, leave } = beginUpload(port);
  await write(head);
  return {
    send: write,
    cut: leave,
    async finish() {
      // Who was refused before the end has an answer all the same.
      await write(tail).catch(() => {});
      return finish();
    },
  };
}

/** The bytes of a form before and behind those of its file. */
function frameOf(path: string, order: Order): [head: Buffer, tail: Buffer] {
  const slash = path.lastIndexOf('/') + 1;
  const prefix = { name: 'prefix', value: path.slice(0, slash) };
  const file = { name: 'file', filename: path.slice(slash), value: MARK };
  const form = formOf(order === 'prefix first' ? [prefix, file] : [file, prefix]);
  const at = form.indexOf(MARK);
  return [form.subarray(0, at), form.subarray(at + MARK.length)];
}

const MARK = '\0the bytes of the file\0';

/** Asks for `path` and gives the answer before its body is read: nothing of that is, until the test does. */
export async function openDownload(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const request = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Where `/file/` redirects to for a large file, as a path. */
export async function signedPath(port: number, path: string): Promise<string> {
  const requested = `/file/${escapePath(path)}`;
  const { status, headers } = await send(port, requested);
  if (status !== 302) throw new Error(`GET ${requested} answered ${status}, where a redirect was expected.`);
  const { pathname, search } = new URL(headers.location ?? '', `http://127.0.0.1${requested}`);
  return pathname + search;
}
