import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import type { AccessControl } from '../../src/http/access/authentication.ts';
import { clientNetwork, clientSite } from '../../src/http/limits/connections.ts';
import type { Limits } from '../../src/http/limits/limits.ts';
import { HANG_SECONDS, until } from '../../testing/until.ts';
import { disk, memory } from '../contract/backend.ts';
import { folder } from '../contract/bytes.ts';
import {
  assertFailure,
  assertSuccess,
  begin,
  type Exchange,
  type HttpResponse,
  postBytes,
  postForm,
  postJson,
  responseOf,
  send,
  sendBytes,
  upload,
} from './client.ts';
import { type ServiceOptions, startService } from './service.ts';

/** A request from a proxy is rejected if only this machine may access the service. */
const OPEN: AccessControl = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined };

describe('Requests of one client', () => {
  it('over RATE_LIMIT get 429, on every route', async (t) => {
    const { port } = await serve(t, { limits: { requestsPerMinute: 3 } });
    for (const path of ['/', '/file/missing', '/-/nowhere']) assert.notEqual((await send(port, path)).status, 429);
    const refused = [
      await send(port, '/'),
      await send(port, '/file/missing'),
      await send(port, '/-/nowhere'),
      await send(port, '/file/%ff'),
      await send(port, '/', { method: 'PATCH' }),
      await send(port, '/copy'),
      await postJson(port, '/delete', {}),
      await postForm(port, [{ name: 'file', filename: 'refused', value: 'refused' }]),
    ];
    for (const response of refused) assertTooMany(response, 3);
  });

  it('are counted by the address of the connection, not by their headers', async (t) => {
    const { port } = await serve(t, { access: OPEN, limits: { requestsPerMinute: 2 } });
    const responses = await fromEach(port, ['203.0.113.1', '203.0.113.2', '203.0.113.3']);
    assert.deepEqual(responses.map(statusOf), [200, 200, 429]);
  });

  it('behind a trusted proxy are counted by the address that it forwards', async (t) => {
    const limits = { requestsPerMinute: 1, trustProxy: ['loopback'] };
    const { port } = await serve(t, { access: OPEN, limits });
    const sent = [
      '203.0.113.1',
      '203.0.113.2',
      // What the client itself claimed stands to the left of what the proxy appended.
      '198.51.100.1, 203.0.113.1',
      '127.0.0.1, 203.0.113.2',
      // A network of 64 bits is one client.
      '2001:db8:0:1::1',
      '2001:db8:0:1:ffff::2',
      '2001:db8:0:2::1',
      // Azure and IIS append the port of the client, which is different for each connection.
      '203.0.113.1:50001',
      '203.0.113.3:50002',
      '203.0.113.3:50003',
      '[2001:db8:0:2::9]:50004',
      // A translator (RFC 6052) gives IPv4 clients these addresses.
      '64:ff9b::198.51.100.1',
      '64:ff9b::198.51.100.2',
      '64:ff9b::198.51.100.2',
    ];
    const statuses = [200, 200, 429, 429, 200, 429, 200, 429, 200, 429, 429, 200, 200, 429];
    assert.deepEqual((await fromEach(port, sent)).map(statusOf), statuses);
  });

  it('have a site: the 48-bit IPv6 network, or their IPv4 address', () => {
    const sites = {
      '203.0.113.1:50001': '203.0.113.1',
      '[2001:db8:1:2::9]:50004': '2001:db8:1::',
      '2001:db8:1:ffff::1': '2001:db8:1::',
      '::ffff:203.0.113.1': '203.0.113.1',
      '64:ff9b::203.0.113.1': clientNetwork('64:ff9b::203.0.113.1'),
    };
    assert.deepEqual(Object.keys(sites).map(clientSite), Object.values(sites));
  });

  it('of a peer outside TRUST_PROXY are counted by its own address', async (t) => {
    const limits = { requestsPerMinute: 1, trustProxy: ['10.0.0.0/8', '192.0.2.1'] };
    const { port } = await serve(t, { access: OPEN, limits });
    assert.deepEqual((await fromEach(port, ['203.0.113.1', '203.0.113.2'])).map(statusOf), [200, 429]);
  });

  it('behind two proxies are counted by the address that the outer one forwards', async (t) => {
    const limits = { requestsPerMinute: 1, trustProxy: ['loopback', '10.0.0.0/8'] };
    const { port } = await serve(t, { access: OPEN, limits });
    const sent = ['203.0.113.1, 10.0.0.1', '203.0.113.2, 10.0.0.1', '10.0.0.9, 203.0.113.2, 10.0.0.2'];
    assert.deepEqual((await fromEach(port, sent)).map(statusOf), [200, 200, 429]);
  });

  it('do not count if they are liveness checks', async (t) => {
    const { port } = await serve(t, { limits: { requestsPerMinute: 1 } });
    for (let count = 0; count < 3; count++) assert.equal((await send(port, '/-/health/live')).status, 200);
    assert.equal((await send(port, '/')).status, 200);
    assertTooMany(await send(port, '/'), 1);
    assert.equal((await send(port, '/-/health/live')).status, 200);
  });
});

describe('The host of a request', () => {
  const request = async (port: number, host: string, forwarded: string) =>
    (await send(port, '/', { headers: { host, 'x-forwarded-host': forwarded } })).status;

  it('is read from X-Forwarded-Host only of the nearest trusted proxy', async (t) => {
    const open = { access: OPEN, publicUrl: 'https://localhost' };
    const trusting = await serve(t, { ...open, limits: { trustProxy: ['loopback'] } });
    assert.equal(await request(trusting.port, 'localhost', 'evil.example'), 403);
    assert.equal(await request(trusting.port, 'localhost', 'localhost, evil.example'), 403);
    assert.equal(await request(trusting.port, 'proxied.example', 'evil.example, localhost'), 200);
    for (const trustProxy of [false, ['192.0.2.0/24']] as const) {
      const other = await serve(t, { ...open, limits: { trustProxy } });
      assert.equal(await request(other.port, 'localhost', 'evil.example'), 200);
      assert.equal(await request(other.port, 'evil.example', 'localhost'), 403);
    }
  });
});

describe('A process whose event loop is delayed', () => {
  it('returns 503, except for the liveness check, and serves again later', async (t) => {
    const { port, log } = await serve(t, { limits: { eventLoopDelay: 50 } });
    // The delay of the first two seconds, in which the service starts, does not count.
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + 2000);
    const still = new Int32Array(new SharedArrayBuffer(4));
    let refused: HttpResponse | undefined;
    // Without pauses, which would lower the measured delay.
    for (const deadline = performance.now() + HANG_SECONDS * 1000; !refused && performance.now() < deadline; ) {
      // Blocks the thread, as a long computation does.
      Atomics.wait(still, 0, 0, 200);
      const response = await send(port, '/');
      if (response.status === 503) refused = response;
    }
    assert.ok(refused, 'A request is refused.');
    assertFailure(refused, 503, 'The service is overloaded. Try again in 2 seconds.');
    assert.equal(refused.headers['retry-after'], '2');
    assert.equal((await send(port, '/-/health/live')).status, 200);
    for (let count = 0; count < 5; count++) await send(port, '/');
    assert.equal(log.filter(({ level }) => level === 40).length, 1, 'One warning is logged.');
    await until('requests are served', async () => (await send(port, '/')).status === 200);
  });
});

describe('Concurrent copies of folders', () => {
  it('of one client run in turn, and get 503 with Retry-After beyond the queue', async (t) => {
    const gate = Promise.withResolvers<void>();
    let [now, most] = [0, 0];
    const { port } = await serve(t, {
      hasJobs: true,
      wrap: (store) => ({
        ...store,
        async copyFolder(...parameters) {
          most = Math.max(most, ++now);
          await gate.promise;
          now--;
          return store.copyFolder?.(...parameters);
        },
      }),
    });
    await upload(port, 'a/file', 'content');
    const copy = (number: number) =>
      number % 2 === 0
        ? postJson(port, '/copy', { source: 'a/', destination: `b${number}/`, is_folder: true })
        : send(port, '/-/dav/a/', { method: 'COPY', headers: { destination: `/-/dav/b${number}/` } });
    const copies: Promise<HttpResponse>[] = [];
    const refused = await until('the queue is full', async () => {
      copies.push(copy(copies.length));
      return Promise.race([...copies, settled()]);
    });
    assert.equal(refused.status, 503);
    assert.match(refused.body.toString(), /Too many copies of folders are in progress\./);
    assert.equal(refused.headers['retry-after'], '1');
    gate.resolve();
    const statuses = (await Promise.all(copies)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 503).length, copies.length - 9);
    assert.equal(statuses.filter((status) => status < 300).length, 9);
    assert.equal(most, 1);
  });
});

describe('Concurrent folder listings', () => {
  it('are limited to 32, take turns by client, and get 503 with Retry-After if too many wait', async (t) => {
    const gate = Promise.withResolvers<void>();
    const started: string[] = [];
    let [now, most] = [0, 0];
    const { port } = await serve(t, {
      access: OPEN,
      limits: { trustProxy: ['loopback'] },
      wrap: (store) => ({
        ...store,
        async list(path, options) {
          started.push(path);
          most = Math.max(most, ++now);
          await gate.promise;
          now--;
          return store.list(folder(''), options);
        },
      }),
    });
    const exchanges: Exchange[] = [];
    /** Lists a folder for a client this many times, and until a rejected request proves that the queue is full. */
    const fill = async (path: string, client: string, count: number): Promise<HttpResponse> => {
      const call = { headers: { 'x-forwarded-for': client } };
      for (let sent = 0; sent < count; sent++) exchanges.push(begin(port, path, call));
      let refusal: HttpResponse | undefined;
      await until('the queue is full', async () => {
        const another = begin(port, path, call);
        exchanges.push(another);
        const refused = await Promise.race([another.response.then(({ statusCode }) => statusCode), settled()]);
        if (refused !== undefined) refusal = await send(port, path, call);
        return refusal !== undefined;
      });
      assert.ok(refusal);
      return refusal;
    };
    const refusals = [
      await fill('/one/', '203.0.113.1', 32 + 128),
      await fill('/two/', '203.0.113.2', 128),
      await send(port, '/three/', { headers: { 'x-forwarded-for': '203.0.113.3' } }),
    ];
    for (const refusal of refusals) {
      assertFailure(refusal, 503, /^Too many folder listings are in progress\. Try again in a second\.$/);
      assert.equal(refusal.headers['retry-after'], '1');
    }
    assert.deepEqual(started, Array(32).fill('one/'));
    gate.resolve();
    const statuses = await Promise.all(exchanges.map(async ({ response }) => (await response).resume().statusCode));
    assert.equal(statuses.filter((status) => status === 200).length, 32 + 256);
    assert.equal(most, 32);
    assert.equal(started.slice(32, 64).filter((path) => path === 'two/').length, 16);
  });
});

describe('Connections', () => {
  it('over MAX_CONNECTIONS are closed, with one log line', async (t) => {
    const { port, log } = await serve(t, { limits: { connections: 2 } });
    const held = [1, 2].map(() => sendBytes(port, ''));
    const dropped = () => log.filter(({ msg }) => String(msg).includes('MAX_CONNECTIONS'));
    await until('a connection is closed', async () => {
      await send(port, '/').catch(() => {});
      return dropped().length > 0;
    });
    for (let count = 0; count < 3; count++) await assert.rejects(send(port, '/'));
    assert.equal(dropped().length, 1);
    assert.equal(dropped()[0]?.['connections'], 2);
    t.after(() => Promise.allSettled(held));
  });

  it('of one client over its share are closed, with one log line, while others are served', {
    skip: process.platform === 'linux' ? false : 'other addresses of this machine than 127.0.0.1 are of Linux',
  }, async (t) => {
    const { port, log } = await serve(t, { limits: { connections: 100, connectionsPerClient: 2 } });
    const [held] = await Promise.all([hold(t, port), hold(t, port)]);
    const agent = new Agent({ localAddress: '127.0.0.2' });
    for (let count = 0; count < 3; count++) {
      await assert.rejects(send(port, '/'));
      assert.equal((await send(port, '/', { agent })).status, 200);
    }
    const warnings = () => log.filter(({ msg }) => String(msg).includes('share of MAX_CONNECTIONS'));
    assert.equal(warnings().length, 1);
    assert.deepEqual([warnings()[0]?.['client'], warnings()[0]?.['connectionsPerClient']], ['127.0.0.1', 2]);
    held.destroy();
    await until('the client can connect again', () => send(port, '/').then(Boolean, () => false));
    const further = await Promise.all([hold(t, port), hold(t, port), hold(t, port)]);
    await until('the further connections are closed', () => further.filter(({ closed }) => closed).length >= 2);
  });

  it('of a proxy are limited unless it is in TRUST_PROXY', async (t) => {
    for (const [trustProxy, isServed] of [
      [['10.0.0.0/8', '127.0.0.1'], true],
      [['192.0.2.0/24', 'loopback'], true],
      [['::ffff:127.0.0.0/104'], true],
      [['10.0.0.0/8', '127.0.0.2', '2001:db8::/32'], false],
      [false, false],
    ] as const) {
      const { port } = await serve(t, { limits: { connectionsPerClient: 1, trustProxy } });
      await hold(t, port);
      const { status } = await send(port, '/').catch(() => ({ status: undefined }));
      assert.equal(status, isServed ? 200 : undefined, String(trustProxy));
    }
  });
});

describe('The headers of a request', () => {
  it('get 431 if there are hundreds, or one of 16 KiB', async (t) => {
    const { port } = await serve(t);
    const many = (count: number) => Array.from({ length: count }, (_, index) => `h${index}: v`).join('\r\n');
    const request = async (headers: string) =>
      responseOf(await sendBytes(port, `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n\r\n`));
    assert.equal((await request(many(198))).status, 200);
    assertFailure(await request(many(199)), 431, 'The request has 201 headers. The maximum is 200.');
    assertFailure(await request(`${'a:\r\n'.repeat(3000)}b: c`), 431, /^The request has 3003 headers/);
    assertFailure(await request(many(5000)), 431, 'The URL and the headers are larger than 16 KiB.');
    assertFailure(await request(`h: ${'v'.repeat(16 * 1024)}`), 431, 'The URL and the headers are larger than 16 KiB.');
  });
});

describe('A body', () => {
  it('gets 415 if it has a Content-Encoding', async (t) => {
    const { port } = await serve(t);
    const gzip = { 'content-encoding': 'gzip' };
    const message = 'Content-Encoding "gzip" is not supported for request bodies. Send the body uncompressed.';
    const response = await postJson(port, '/create_folder', { path: 'made' }, gzip);
    assertFailure(response, 415, message);
    assert.equal(response.headers['accept-encoding'], 'identity');
    assertFailure(await postForm(port, [{ name: 'file', filename: 'made', value: 'made' }], gzip), 415, message);
    const chunked = { ...gzip, 'transfer-encoding': 'chunked' };
    assertFailure(await postJson(port, '/create_folder', { path: 'made' }, chunked), 415, message);
    assertSuccess(await send(port, '/'), { prefix: '', entries: [] });

    assert.equal((await send(port, '/', { headers: gzip })).status, 200, 'Without a body it says nothing.');
    const identity = { 'content-encoding': 'Identity' };
    assert.equal((await postJson(port, '/create_folder', { path: 'made' }, identity)).status, 200);
    assertFailure(await send(port, '/file/a', { method: 'PATCH', headers: gzip, body: '{}' }), 405, /not allowed/);
  });

  it('gets 413 if an unknown field exceeds 1 MiB, before or after the file', async (t) => {
    const { port } = await serve(t);
    const file = { name: 'file', filename: 'a', value: 'a' };
    const extra = (bytes: number) => ({ name: 'comment "x"', value: Buffer.alloc(bytes, 'x') });
    const mebibyte = 1024 * 1024;
    assert.equal((await postForm(port, [extra(mebibyte), file, extra(mebibyte)])).status, 200);
    await upload(port, 'kept', 'kept');
    const kept = { ...file, filename: 'kept' };
    for (const parts of [
      [extra(mebibyte + 1), kept],
      [kept, extra(mebibyte + 1)],
    ])
      assertFailure(await postForm(port, parts), 413, /^The field "comment \\"x\\"" is larger than 1 MiB/);
    const unnamed = Buffer.from(
      '--------------------------test-boundary\r\nContent-Disposition: form-data\r\n\r\nx\r\n',
    );
    assert.equal((await postBytes(port, unnamed)).status, 400);
    assert.equal((await send(port, '/file/kept')).body.toString(), 'kept');
  });
});

async function serve(
  t: TestContext,
  { limits, ...options }: Omit<ServiceOptions, 'limits'> & { limits?: Partial<Limits> } = {},
) {
  const service = await startService(options.wrap ? memory : disk, { ...options, ...(limits && { limits }) });
  t.after(() => service.stop());
  return service;
}

/** Opens a connection without a request. The service accepts it before later connections. */
async function hold(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  return socket;
}

/** Sends requests one after the other, each with an `X-Forwarded-For`. */
async function fromEach(port: number, addresses: readonly string[]): Promise<HttpResponse[]> {
  const responses: HttpResponse[] = [];
  for (const address of addresses) responses.push(await send(port, '/', { headers: { 'x-forwarded-for': address } }));
  return responses;
}

const statusOf = ({ status }: HttpResponse) => status;

function assertTooMany(response: HttpResponse, limit: number): void {
  const seconds = String(response.headers['retry-after']);
  assert.match(seconds, /^(?:[1-9]|[1-5]\d|60)$/);
  assertFailure(
    response,
    429,
    `This address has sent more than ${limit} requests in a minute. Try again in ${seconds} seconds.`,
  );
}

/** Resolves to undefined after enough turns of the event loop for all immediate responses. */
async function settled(): Promise<undefined> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
