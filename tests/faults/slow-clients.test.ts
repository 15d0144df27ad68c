import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import type { Limits } from '../../src/http/limits/limits.ts';
import type { Store } from '../../src/model/store.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { disk, memory } from '../contract/backend.ts';
import { plant } from '../contract/bytes.ts';
import {
  assertFailure,
  assertSuccess,
  BOUNDARY,
  begin,
  formOf,
  pathsBelow,
  postJson,
  responseOf,
  send,
  upload,
  within,
} from '../http/client.ts';
import { startService } from '../http/service.ts';
import { contentsOf, untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { ORDERS, type Order, openDownload, openUpload, signedPath } from '../process/transfers.ts';
import type { Need } from '../runner/needs.ts';
import { connectSlowClients } from './slow-clients.ts';

export const needs: readonly Need[] = ['open-files'];

const CLIENTS = 200;

it(`closes ${CLIENTS} connections with unfinished request headers and serves other clients`, async (t) => {
  const { port } = await startInProcess(t, { settings: { HEADERS_TIMEOUT: '2', MAX_CONNECTIONS: '20000' } });
  const before = openSockets();
  const clients = await connectSlowClients(t, port, CLIENTS);
  await until('all of them are closed', async () => {
    assertSuccess(await send(port, '/-/health/ready'), { message: 'The service is ready.', database: 'available' });
    return clients.open() === 0;
  });
  // A byte that arrives after the end of a connection can discard the response of that connection.
  for (const status of clients.statuses()) assert.equal(status, '408');
  // The clients don't close their sides.
  await until('the service has closed all of them', () => openSockets() < before + CLIENTS + 20);
});

describe('A client that stalls', { concurrency: CONCURRENT_TESTS }, () => {
  it('receives 408 with a JSON error when it stalls in the request headers', async (t) => {
    const { port } = await serve(t, { headersTimeout: 0.2 });
    const { socket, received } = slowClient(t, port);
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX: ');
    assertFailure(responseOf(await received), 408, 'The headers of the request took too long to arrive.');
  });

  it('receives 408 after the response in progress when it stalls in the next request headers', async (t) => {
    const content = new PassThrough();
    // Long enough for headers that are sent completely, also on a slow machine.
    const { port } = await serve(t, { headersTimeout: 4, wrap: readsFrom(content) });
    await upload(port, 'any', 'any bytes');
    const { socket, received } = slowClient(t, port);
    socket.write('GET /file/any HTTP/1.1\r\nHost: localhost\r\n\r\n');
    content.write('any');
    // The timeout starts with the first byte of the next headers.
    await once(socket, 'data');
    socket.write('GET / HT');
    const later = slowClient(t, port);
    later.socket.write('GET / HT');
    assert.equal(responseOf(await later.received).status, 408, 'The timeout of the earlier request has also passed.');
    content.end(' bytes');
    const responses = (await received).split(/(?=HTTP\/1\.1 )/).map(responseOf);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 408],
    );
    assert.equal(responses[0]?.body.toString(), 'any bytes');
  });

  for (const order of ORDERS)
    it(`receives 408 for an upload, and nothing is stored (${order})`, async (t) => {
      const { port, store } = await serve(t, { idleTimeout: 0.5 });
      await plant(store, { 'a/kept': 'the old bytes' });
      const response = responseOf(await stallUpload(t, port, order));
      assertFailure(response, 408, 'The request body stalled for 0.5 seconds.');
      assert.equal(response.headers.connection, 'close');
      assert.deepEqual(await pathsBelow(port), ['a/', 'a/kept']);
      assert.equal((await send(port, '/file/a/kept')).body.toString(), 'the old bytes');
    });

  it('receives 408 for a JSON body, and nothing changes', async (t) => {
    const { port } = await serve(t, { idleTimeout: 0.2 });
    const { socket, received } = slowClient(t, port);
    const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    socket.write(`${head}Content-Length: 20\r\n\r\n{"path": "made"`);
    assertFailure(responseOf(await received), 408, /^The request body stalled/);
    assert.deepEqual(await pathsBelow(port), []);
  });

  it('is disconnected after the response when it stalls in an unread body', async (t) => {
    const { port, store } = await serve(t, { idleTimeout: 0.2 });
    await plant(store, { any: 'any' });
    const { socket, received } = slowClient(t, port);
    socket.write('GET /file/any HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\nx');
    assert.equal(responseOf(await received).status, 200);
  });

  it('leaves no temporary file and no open file after a stalled upload or download', async (t) => {
    const { port, root } = await startInProcess(t, { settings: { IDLE_TIMEOUT: '1' } });
    await writeFile(join(root, 'large'), '');
    await truncate(join(root, 'large'), 1024 ** 3);
    const signed = await signedPath(port, 'large');
    const downloads = await Promise.all([1, 2, 3].map(() => openDownload(port, signed)));
    const uploads = ORDERS.map((order) => stallUpload(t, port, order));
    await until('no file is open', () => openFiles(root) === 0);
    for (const download of downloads) await assert.rejects(buffer(download), { code: 'ECONNRESET' });
    for (const response of await Promise.all(uploads))
      assertFailure(responseOf(response), 408, /stalled for 1 seconds/);
    await untilNoTemporaryFiles(root);
    assert.deepEqual(await contentsOf(root), ['large']);
  });
});

describe('A client that sends one byte at a time', { concurrency: CONCURRENT_TESTS }, () => {
  it('receives 408 for a JSON body while a concurrent upload continues', async (t) => {
    // Long enough for the first byte of the upload, also on a slow machine.
    const { port } = await serve(t, { bodyTimeout: 3 });
    const sending = await openUpload(port, 'slow');
    // The deadline applies until the first byte of the file arrives.
    await sending.send(Buffer.from('x'));
    const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const response = responseOf(
      await sendSlowly(t, port, `${head}Content-Length: 60000\r\n\r\n{"path": "made", "x": "`),
    );
    assertFailure(response, 408, 'The request body did not arrive within 3 seconds.');
    assert.equal(response.headers.connection, 'close');
    assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: 'slow' });
    assert.deepEqual(await pathsBelow(port), ['slow']);
  });

  for (const [what, head] of [
    ['that the route does not read', 'GET / HTTP/1.1\r\nHost: localhost\r\n'],
    ['in chunks', 'GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n'],
    ['to a malformed URL', 'GET /%zz HTTP/1.1\r\nHost: localhost\r\n'],
    ['of a rejected upload', 'POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n'],
  ] as const)
    it(`receives the response and is disconnected: a body ${what}`, async (t) => {
      const { port } = await serve(t, { bodyTimeout: 0.2 });
      const framing = head.includes('chunked') ? '\r\nea60\r\n' : 'Content-Length: 60000\r\n\r\n';
      assert.match(await sendSlowly(t, port, head + framing), /^HTTP\/1\.1 (?:200|400) /);
    });

  /** Sends one byte at a time until the service closes the connection. Returns all received bytes. */
  async function sendSlowly(t: TestContext, port: number, beginning: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    // A byte that is sent after the end of the connection resets it.
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const timer = setInterval(() => socket.write('x'), 20);
    atEnd(t, () => {
      clearInterval(timer);
      socket.destroy();
    });
    socket.write(beginning);
    await within('the end of the connection', closed);
    return String(Buffer.concat(chunks));
  }
});

describe('A client that waits for the service', { concurrency: CONCURRENT_TESTS }, () => {
  // Long enough that a slow machine does not count as a stalled client.
  const idleTimeout = 2;

  it('receives the response of a folder copy that outlasts the idle timeout', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { port } = await serve(t, {
      idleTimeout,
      wrap: (store) => ({
        ...store,
        async copyFolder(...parameters) {
          await gate.promise;
          await store.copyFolder?.(...parameters);
        },
      }),
    });
    await upload(port, 'from/a', 'a');
    const copying = postJson(port, '/copy', { source: 'from', destination: 'to', is_folder: true });
    await waitForTimeouts(t, port).finally(() => gate.resolve());
    assert.equal((await copying).status, 200);
    assert.equal((await send(port, '/file/to/a')).body.toString(), 'a');
  });

  it('completes an upload whose bytes the service does not read for a while', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { port } = await serve(t, {
      idleTimeout,
      wrap: (store) => ({
        ...store,
        async write(file, content, options) {
          if (file === 'slow') await gate.promise;
          return store.write(file, content, options);
        },
      }),
    });
    const sending = await openUpload(port, 'slow');
    const bytes = Buffer.alloc(16 * 1024 * 1024, 'slow');
    const sent = sending.send(bytes);
    await waitForTimeouts(t, port).finally(() => gate.resolve());
    await sent;
    assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: 'slow' });
    const head = await send(port, '/file/slow', { method: 'HEAD' });
    assert.equal(head.status, 413, 'It exists, and is too large for a download from this store.');
  });

  it('receives the rest of a download that pauses', async (t) => {
    const gate = Promise.withResolvers<void>();
    const { port } = await serve(t, {
      idleTimeout,
      wrap: (store) => ({
        ...store,
        async read(...parameters) {
          const { file, body } = await store.read(...parameters);
          const slow = new PassThrough();
          slow.write((await buffer(body)).subarray(0, 4));
          void gate.promise.then(() => slow.end('late'));
          return { file, body: slow };
        },
      }),
    });
    await upload(port, 'slow', 'sometimes'.slice(0, 8));
    const response = await begin(port, '/file/slow').response;
    await waitForTimeouts(t, port).finally(() => gate.resolve());
    assert.equal(String(await buffer(response)), 'somelate');
  });

  /** Waits until the idle timeout has ended other connections twice. */
  async function waitForTimeouts(t: TestContext, port: number): Promise<void> {
    for (let times = 0; times < 2; times++)
      assert.equal(responseOf(await stallUpload(t, port, 'prefix first')).status, 408);
  }
});

/** Starts a service in this process, on a disk, or on a wrapped memory store. */
async function serve(t: TestContext, { wrap, ...limits }: { wrap?: (store: Store) => Store } & Partial<Limits>) {
  const service = await startService(wrap ? memory : disk, { limits, ...(wrap && { wrap }) });
  t.after(() => service.stop());
  return service;
}

/** Opens a connection that never closes its side. `received` has all bytes until the service closes the other one. */
function slowClient(t: TestContext, port: number): { socket: Socket; received: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  atEnd(t, () => socket.destroy());
  return { socket, received: buffer(socket).then(String) };
}

/** Starts an upload of `a/kept` that stalls. Returns the response. */
function stallUpload(t: TestContext, port: number, order: Order): Promise<string> {
  const prefix = { name: 'prefix', value: 'a/' };
  const file = { name: 'file', filename: 'kept', value: Buffer.alloc(256 * 1024, 'new') };
  const form = formOf(order === 'prefix first' ? [prefix, file] : [file, prefix]);
  const { socket, received } = slowClient(t, port);
  const head = `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`;
  socket.write(`${head}Content-Length: ${form.length}\r\n\r\n`);
  socket.write(form.subarray(0, form.length - 10));
  return received;
}

/** Wraps a store, so that all files have the bytes of a stream. */
function readsFrom(content: PassThrough): (store: Store) => Store {
  return (store) => ({
    ...store,
    async read(...parameters) {
      const { file, body } = await store.read(...parameters);
      body.destroy();
      return { file, body: content };
    },
  });
}

/** Returns the number of sockets of this process. */
const openSockets = () => openDescriptors().filter((target) => target.startsWith('socket:')).length;

/** Returns the number of open file descriptors of this process for the large file in the root. */
const openFiles = (root: string) =>
  openDescriptors().filter((target) => target.startsWith(root) && target.endsWith('large')).length;

function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}
