import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, setGlobalProxyFromEnv } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createAddressPolicy } from '../../src/webhooks/address-policy.ts';
import { type Resolve, Sender, type SenderOptions } from '../../src/webhooks/sender.ts';
import { webhookAt } from './webhook-at.ts';

const MESSAGE = { id: 'msg_1', body: '{}' };
const LOOPBACK = createAddressPolicy(['127.0.0.0/8']);

/** Starts an endpoint. Returns its port, and the number of connections so far. */
async function startEndpoint(
  t: TestContext,
  respond: RequestListener,
): Promise<{ port: number; connections(): number }> {
  let connections = 0;
  const server = createServer(respond).on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const send = (url: string, options: Partial<SenderOptions> = {}) =>
  new Sender({ addresses: LOOPBACK, ...options }).send(webhookAt(url), MESSAGE);

/** Resolves every host to the next list of addresses, and to the last one from then on. */
function resolveTo(...answers: readonly (readonly string[])[]): Resolve & { calls: number } {
  const resolve: Resolve & { calls: number } = (_host, callback) => {
    const addresses = answers[Math.min(resolve.calls++, answers.length - 1)] ?? [];
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  resolve.calls = 0;
  return resolve;
}

describe('A request to a webhook', () => {
  it('is a POST of the message with the headers of the specification', async (t) => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { port } = await startEndpoint(t, ({ method, url, headers }, response) => {
      resolve({ method, url, headers });
      response.writeHead(202).end('accepted');
    });
    const sent = await send(`http://127.0.0.1:${port}/a%20b?c=d`);
    assert.partialDeepStrictEqual(sent, { response: { status: 202, excerpt: 'accepted' }, retryAfter: undefined });
    assert.equal(sent.error, undefined);
    assert.partialDeepStrictEqual(await promise, {
      method: 'POST',
      url: '/a%20b?c=d',
      headers: {
        host: `127.0.0.1:${port}`,
        'content-type': 'application/json',
        'content-length': '2',
        'webhook-id': 'msg_1',
      },
    });
  });

  it('is not sent if any address of the host is private', async (t) => {
    const { port, connections } = await startEndpoint(t, (_request, response) => response.end());
    for (const [addresses, refused] of [
      [['127.0.0.1'], '127.0.0.1'],
      [['1.1.1.1', '10.0.0.1'], '10.0.0.1'],
      [['2606:4700::1', '::1'], '::1'],
    ] as const) {
      const { error } = await send(`https://hooks.example.org:${port}/`, {
        addresses: createAddressPolicy([]),
        resolve: resolveTo(addresses),
      });
      assert.match(error ?? '', new RegExp(`^The host "hooks.example.org" has the private .* address ${refused},`));
    }
    assert.match(
      (await send(`https://127.0.0.1:${port}/`, { addresses: createAddressPolicy([]) })).error ?? '',
      /private/,
    );
    assert.equal(connections(), 0);
  });

  it('connects to the address that was checked, although the name resolves to another one afterwards', async (t) => {
    const { port } = await startEndpoint(t, (_request, response) => response.end('right'));
    const resolve = resolveTo(['127.0.0.1'], ['127.0.0.2']);
    const sent = await send(`http://rebinding.example.org:${port}/`, { resolve });
    assert.equal(sent.response?.excerpt, 'right');
    assert.equal(resolve.calls, 1);
    // The next request checks the new address. Nothing is remembered.
    const addresses = createAddressPolicy(['127.0.0.1']);
    const next = await send(`http://rebinding.example.org:${port}/`, { resolve, addresses });
    assert.match(next.error ?? '', /address 127\.0\.0\.2, which WEBHOOK_NETWORKS does not allow/);
  });

  it('uses http: only for allowed networks', async () => {
    const { error } = await send('http://hooks.example.org/', { resolve: resolveTo(['1.1.1.1']) });
    assert.equal(
      error,
      'The host "hooks.example.org" is not in WEBHOOK_NETWORKS, so its URL must begin with https://.',
    );
  });

  it('does not follow redirects', async (t) => {
    const { port, connections } = await startEndpoint(t, (_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${port}/other` }).end(),
    );
    const { error } = await send(`http://127.0.0.1:${port}/`);
    assert.equal(error, 'The endpoint responded with 307. Redirects are not followed.');
    assert.equal(connections(), 1);
  });

  it('uses no proxy of the environment', async (t) => {
    const { port } = await startEndpoint(t, (_request, response) => response.end('direct'));
    // As with NODE_USE_ENV_PROXY=1. Nothing listens at this address.
    t.after(setGlobalProxyFromEnv({ HTTP_PROXY: 'http://127.0.0.1:1/' }));
    assert.equal((await send(`http://127.0.0.1:${port}/`)).response?.excerpt, 'direct');
  });

  it('reads only the beginning of an endless response', async (t) => {
    const { port } = await startEndpoint(t, (_request, response) => {
      response.writeHead(500, { 'retry-after': '7' });
      const write = () => {
        while (response.write(`\u0000${'x'.repeat(10_000)}`));
      };
      response.on('drain', write);
      write();
    });
    const { response, error, retryAfter, durationMs } = await send(`http://127.0.0.1:${port}/`);
    assert.deepEqual([response?.status, response?.excerpt.length, retryAfter], [500, 1000, 7]);
    assert.equal(response?.excerpt.slice(0, 3), '\ufffdxx');
    assert.equal(error, 'The endpoint responded with 500.');
    // It did not wait for the timeout.
    assert.ok(durationMs < 10_000);
  });

  it('fails after the timeout, before the connection, the headers or the end of the body', async (t) => {
    const silent = await startEndpoint(t, () => {});
    const trickling = await startEndpoint(t, (_request, response) => void response.writeHead(200).write('x'));
    const timeoutMs = 100;
    const noAnswer: Resolve = () => {};
    for (const [url, resolve] of [
      [`http://127.0.0.1:${silent.port}/`, resolveTo([])],
      ['http://hooks.example.org/', noAnswer],
    ] as const) {
      assert.equal((await send(url, { timeoutMs, resolve })).error, 'No response within 0.1 seconds.');
    }
    // The endpoint has accepted the message.
    const { error, response } = await send(`http://127.0.0.1:${trickling.port}/`, { timeoutMs });
    assert.deepEqual([error, response], [undefined, { status: 200, excerpt: 'x' }]);
  });

  it('fails with the code of the system if nothing listens, the name is unknown, or the response is not HTTP', async (t) => {
    const raw = createTcpServer((socket) => void socket.end('SSH-2.0\r\n')).listen(0, '127.0.0.1');
    await once(raw, 'listening');
    t.after(() => raw.close());
    const { port } = raw.address() as AddressInfo;
    const unknown: Resolve = (_host, callback) =>
      callback(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }), []);
    for (const [url, code, resolve] of [
      ['http://127.0.0.1:1/', 'ECONNREFUSED', unknown],
      ['http://hooks.example.org/', 'ENOTFOUND', unknown],
      [`http://127.0.0.1:${port}/`, 'HPE_INVALID_CONSTANT', unknown],
    ] as const) {
      assert.equal((await send(url, { resolve })).error, `The endpoint could not be reached (${code}).`);
    }
  });

  it('is aborted by the signal', async (t) => {
    const { port } = await startEndpoint(t, () => controller.abort(new Error('lost')));
    const controller = new AbortController();
    const sender = new Sender({ addresses: LOOPBACK });
    const sending = sender.send(webhookAt(`http://127.0.0.1:${port}/`), MESSAGE, controller.signal);
    await assert.rejects(sending, { message: 'lost' });
  });
});
