import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditEvent } from '../../src/access/audit.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import {
  assertFailure,
  type HttpResponse,
  pathsBelow,
  postJson,
  responseOf,
  send,
  sendBytes,
  upload,
} from './client.ts';
import { startService, type TestService } from './service.ts';

const refusals: AuditEvent[] = [];
const audit = { write: (event: AuditEvent) => void refusals.push(event), reopen: () => {}, close: () => {} };

/** A service in each of the modes without an access file, with a file to read. */
const services: Record<'local' | 'open' | 'known', TestService> = {} as never;

before(async () => {
  const open = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined } as const;
  services.local = await startService(memory, { audit });
  services.open = await startService(memory, { access: open });
  services.known = await startService(memory, { access: open, publicUrl: 'https://files.example.org/below' });
  for (const { port } of Object.values(services)) await upload(port, 'a.txt', 'a');
});
after(async () => {
  for (const service of Object.values(services)) await service.stop();
});

describe('The Host of a request', () => {
  const OWN = ['localhost', 'LocalHost:8080', 'localhost.', 'files.localhost', '127.0.0.1', '127.8.9.1:1', '[::1]:80'];
  const FOREIGN = [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    '0.0.0.0',
    'localhost@evil.example',
    'evil.example#localhost',
  ];
  const request = (port: number, host: string, path = '/file/a.txt') => send(port, path, { headers: { host } });

  it('must be a loopback name in local mode', async () => {
    for (const host of OWN) assert.equal((await request(services.local.port, host)).status, 200, host);
    for (const host of FOREIGN) {
      assertFailure(await request(services.local.port, host), 403, /^The host .* is not allowed\. .*ACCESS_FILE/);
    }
    // HTTP/1.0 requires no `Host`.
    const without = await sendBytes(services.local.port, 'GET /file/a.txt HTTP/1.0\r\n\r\n');
    assert.match(without, /^HTTP\/1\.1 403 /);
    const last = refusals.at(-1);
    assert.equal(last?.event, 'refusal');
    assert.equal(last.path, '/file/a.txt');
  });

  it('is checked on every route, including unknown ones and the assets of the web UI', async () => {
    for (const path of ['/', '/nothing/', '/-/nothing', '/-/docs/', '/-/openapi.json', '/-/signed/a.txt', '/%']) {
      const response = await request(services.local.port, 'evil.example', path);
      assert.ok(response.status >= 400, `${path}: ${response.status}`);
      assert.ok(!response.body.includes('a.txt'), path);
    }
    const changed = await send(services.local.port, '/delete/a.txt', {
      method: 'POST',
      headers: { host: 'evil.example' },
    });
    assertFailure(changed, 403, /host "evil.example"/);
    assert.deepEqual(await pathsBelow(services.local.port), ['a.txt']);
  });

  it('is checked for malformed URLs, in HTML and JSON responses', async () => {
    for (const accept of ['text/html', 'application/json']) {
      const outcome = async (host: string, path: string) => {
        const { status, headers } = await send(services.known.port, path, { headers: { host, accept } });
        return [status, headers['content-type'], headers['x-content-type-options']];
      };
      assert.deepEqual(await outcome('evil.example', '/%zz'), await outcome('evil.example', '/'));
      assert.equal((await outcome('evil.example', '/%zz'))[0], 403);
      assert.equal((await outcome('files.example.org', '/%zz'))[0], 400);
    }
    const headers = { 'sec-fetch-site': 'cross-site' };
    assertFailure(
      await send(services.open.port, '/%zz', { headers, method: 'POST' }),
      403,
      /^Cross-site request blocked/,
    );
    assertFailure(await send(services.local.port, '/%zz', { headers }), 403, /^Cross-site request blocked/);
    assertFailure(await send(services.open.port, '/-/malformed'), 404, 'There is no route GET /-/malformed.');
  });

  it('must be unique: a request with two is rejected and logged', async () => {
    const { port, log } = services.local;
    for (const [head, message] of [
      ['GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example', /more than one Host header/],
      ['GET http://evil.example/ HTTP/1.1\r\nHost: localhost', /name different hosts/],
      ['GET / HTTP/1.1\r\nAccept: */*', /no Host header/],
    ] as const) {
      const response = responseOf(await sendBytes(port, `${head}\r\n\r\n`));
      assertFailure(response, 400, message);
      const { 'x-request-id': id, 'x-content-type-options': sniffing, connection } = response.headers;
      assert.deepEqual([sniffing, connection], ['nosniff', 'close']);
      assert.equal(response.headers['cross-origin-resource-policy'], 'same-origin');
      await until('the request is logged', () =>
        log.some(({ requestId, status }) => requestId === id && status === 400),
      );
    }
  });

  it('can be any host for health checks', async () => {
    for (const path of ['/-/health/live', '/-/health/ready']) {
      assert.equal((await request(services.local.port, '10.0.0.1:8080', path)).status, 200);
    }
  });

  it('can be any host with ACCESS=open, unless PUBLIC_URL is set', async () => {
    for (const host of [...OWN, 'evil.example', '10.0.0.1']) {
      assert.equal((await request(services.open.port, host)).status, 200, host);
    }
    for (const host of [...OWN, 'files.example.org', 'FILES.example.org:443']) {
      assert.equal((await request(services.known.port, host)).status, 200, host);
    }
    for (const host of ['evil.example', 'a.files.example.org']) {
      assertFailure(await request(services.known.port, host), 403, /^The host .* is not the host of PUBLIC_URL/);
    }
  });
});

describe('A cross-site request from a browser', () => {
  const FOREIGN: readonly Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'something new' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    // A page of an app, such as Electron's.
    { origin: 'app://localhost:8080' },
    // The headers that the browser sets count, not those that a page could add.
    { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:8080' },
  ];
  const headersOf = (more: Record<string, string>) => ({ host: 'localhost:8080', ...more });
  const create = (port: number, headers: Record<string, string>): Promise<HttpResponse> =>
    postJson(port, '/create_folder', { path: 'made' }, headersOf(headers));

  it('changes nothing in any access mode', async () => {
    for (const { port } of [services.local, services.open, services.known]) {
      for (const headers of FOREIGN) assertFailure(await create(port, headers), 403, /^Cross-site request blocked/);
      assert.deepEqual(await pathsBelow(port), ['a.txt']);
    }
  });

  it('reads nothing in local mode, except when a user follows a link', async () => {
    const read = (port: number, headers: Record<string, string>) =>
      send(port, '/file/a.txt', { headers: headersOf(headers) });
    for (const headers of FOREIGN) {
      assertFailure(await read(services.local.port, headers), 403, /^Cross-site request blocked/);
      assert.equal((await read(services.open.port, headers)).status, 200);
    }
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    assert.equal((await read(services.local.port, { ...link, 'sec-fetch-dest': 'document' })).status, 200);
    assert.equal((await read(services.local.port, { ...link, 'sec-fetch-dest': 'iframe' })).status, 403);
  });

  it('is distinguished from requests of the web UI, of programs, and of the web UI behind a proxy with PUBLIC_URL', async () => {
    const own: readonly Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:8080' },
      { 'sec-fetch-site': 'none' },
      { origin: 'http://localhost:8080' },
      // TLS is terminated at a proxy.
      { origin: 'https://localhost:8080' },
      // A proxy can replace the `Host`, so `Sec-Fetch-Site` takes precedence.
      { 'sec-fetch-site': 'same-origin', origin: 'https://files.example.org' },
    ];
    for (const headers of own) assert.equal((await create(services.local.port, headers)).status, 200);
    assert.equal((await create(services.known.port, { origin: 'https://files.example.org' })).status, 200);
    assert.equal((await create(services.open.port, { origin: 'https://files.example.org' })).status, 403);
  });
});
