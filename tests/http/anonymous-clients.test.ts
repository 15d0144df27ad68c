import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import type { AccessControl } from '../../src/http/access/authentication.ts';
import { readForm } from '../../src/http/multipart.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { EVERYONE, type GuardedService, grant, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, BOUNDARY, formOf, jsonOf, keepConnections, postBytes, send, within } from './client.ts';
import { type ServiceOptions, startService } from './service.ts';

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

const PROXIED: AccessControl = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined };

async function serve(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(memory, options);
  atEnd(t, () => service.stop());
  return service;
}

/**
 * Starts a service, and keeps the connections to it. Otherwise, the service closes them after its response, and a client that
 * is still writing can fail before it reads the response.
 */
async function serveKept(t: TestContext) {
  const service = await serve(t);
  atEnd(t, keepConnections(service.port));
  return service;
}

/** A connection on which a test writes, and waits for expected bytes. */
async function talk(t: TestContext, port: number) {
  const socket = connect(port, '127.0.0.1');
  atEnd(t, () => socket.destroy());
  let received = '';
  socket.on('data', (bytes) => (received += String(bytes)));
  await once(socket, 'connect');
  // The service closes the connection after a refusal, and later writes fail. Tests assert what was received.
  socket.on('error', () => {});
  return {
    write: (text: string | Buffer) => socket.write(text),
    /** Returns all received bytes, up to the end of the first headers after `from`. */
    async headers(from = 0): Promise<string> {
      await until('the headers have arrived', () => received.indexOf('\r\n\r\n', from) !== -1);
      return received.slice(from);
    },
  };
}

function headOf(method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

describe('An upload by a user without any write permission', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory);
  });
  after(() => service.stop());

  it('is rejected before its body', async (t) => {
    service.grant(grant('a/', ['read', 'manage']), grant('public/', ['read'], EVERYONE));
    for (const [requested, status] of [
      [{}, 401],
      [service.authHeaders, 403],
    ] as const) {
      const { write, headers } = await talk(t, service.port);
      write(headOf('POST', '/upload', { ...FORM, ...requested, 'content-length': '100000' }));
      assert.match(await headers(), new RegExp(`^HTTP/1\\.1 ${status} `));
    }
    assert.deepEqual(
      service.events().map(({ event, action, outcome }) => [event, action, outcome]),
      [
        ['refusal', 'upload', 'refused'],
        ['refusal', 'upload', 'refused'],
      ],
    );
  });

  it('is rejected before its body by a read-only service', async (t) => {
    const { port } = await serve(t, { readOnly: true });
    const { write, headers } = await talk(t, port);
    write(headOf('POST', '/upload', { ...FORM, 'content-length': '100000' }));
    assert.match(await headers(), /^HTTP\/1\.1 403 [\s\S]*The service is read-only/);
  });
});

describe('The bytes before the file of an upload', () => {
  const file = formOf([{ name: 'file', filename: 'a', value: 'x' }]);

  it('have the deadline of other bodies, even while bytes keep arriving', async (t) => {
    const { port } = await serve(t, { limits: { bodyTimeout: 0.2 } });
    const { write, headers } = await talk(t, port);
    write(headOf('POST', '/upload', { ...FORM, 'content-length': '100000' }));
    write(file.subarray(0, 20));
    const drip = setInterval(() => write('x'), 20);
    t.after(() => clearInterval(drip));
    assert.match(await headers(), /^HTTP\/1\.1 408 /);
  });

  it('are limited to 4 KiB before the first part', async (t) => {
    const { port } = await serveKept(t);
    assert.equal((await postBytes(port, Buffer.concat([Buffer.from(`${'x'.repeat(4000)}\r\n`), file]))).status, 200);
    const response = await postBytes(port, Buffer.concat([Buffer.from(`${'x'.repeat(5000)}\r\n`), file]));
    assertFailure(response, 400, 'The form has more than 4096 bytes before its first part.');
  });

  it('are limited to 2 MiB for all fields and their headers', async (t) => {
    const { port } = await serveKept(t);
    const field = { name: 'x', value: 'x'.repeat(900_000) };
    const all = formOf([field, field, field, { name: 'file', filename: 'a', value: 'x' }]);
    assertFailure(await postBytes(port, all), 413, 'The form has more than 2 MiB before its file.');
    const header = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"; y="${'x'.repeat(3_000_000)}"\r\n\r\n`;
    assertFailure(
      await postBytes(port, Buffer.concat([Buffer.from(header), file])),
      400,
      /headers of a part of the form are larger than 16 KiB/,
    );
    const large = formOf([{ name: 'file', filename: 'large', value: 'x'.repeat(3_000_000) }]);
    assert.equal((await postBytes(port, large)).status, 200);
  });
});

describe('The bytes after the file of an upload', () => {
  it('are limited to 2 MiB, and beyond that the file is not stored', async (t) => {
    const { port } = await serveKept(t);
    const file = formOf([{ name: 'file', filename: 'a', value: 'x'.repeat(100_000) }]);
    const header = `--${BOUNDARY}\r\nX: ${'x'.repeat(3_000_000)}`;
    const unfinished = file.subarray(0, -`--${BOUNDARY}--\r\n`.length);
    const forms = [
      [Buffer.concat([file, Buffer.alloc(3_000_000)]), 413, 'The form has more than 2 MiB after its file.'],
      [Buffer.concat([unfinished, Buffer.from(header)]), 400, /headers of a part of the form are larger than 16 KiB/],
    ] as const;
    for (const [form, status, message] of forms) assertFailure(await postBytes(port, form), status, message);
    assert.equal((await send(port, '/file/a')).status, 404);
    assert.equal((await postBytes(port, Buffer.concat([file, Buffer.alloc(100_000)]))).status, 200);
  });

  it('are also counted while the file is still being stored', async () => {
    const file = formOf([{ name: 'file', filename: 'a', value: 'x' }]);
    const header = Buffer.from(`--${BOUNDARY}\r\nX: `);
    for (const [start, code] of [
      [file, 'form-too-large'],
      [Buffer.concat([file.subarray(0, -`--${BOUNDARY}--\r\n`.length), header]), 'invalid-form'],
    ] as const) {
      const request = new IncomingMessage(new Socket());
      request.headers = FORM;
      request.push(start);
      const form = await readForm(request);
      const part = await form.next();
      assert.ok(part);
      form.beginFile(part);
      for (let chunk = 0; chunk < 40; chunk++) request.push(Buffer.alloc(64 * 1024));
      await until('the bytes are refused', () => form.problem() !== undefined);
      assert.equal(form.problem()?.code, code);
    }
  });
});

describe('Expect: 100-continue', () => {
  const expect = { expect: '100-continue' };

  it('gets only the error if the headers are sufficient to reject the request', async (t) => {
    const guarded = await startGuardedService(memory);
    atEnd(t, () => guarded.stop());
    const { port } = await serve(t);
    const limited = await serve(t, { limits: { requestsPerMinute: 1 } });
    await send(limited.port, '/');
    const json = { 'content-type': 'application/json' };
    const refused = [
      [guarded.port, 'POST', '/upload', FORM, 401],
      [guarded.port, 'POST', '/upload', { ...FORM, ...guarded.authHeaders }, 403],
      [port, 'POST', '/upload', json, 400],
      [port, 'POST', '/-/missing', json, 404],
      [port, 'PUT', '/copy', json, 405],
      [port, 'POST', '/copy', json, 413],
      [port, 'POST', '/copy', { 'content-type': 'text/plain' }, 400],
      [port, 'POST', '/upload', { ...FORM, 'content-encoding': 'gzip' }, 415],
      [limited.port, 'POST', '/upload', FORM, 429],
    ] as const;
    for (const [at, method, path, headers, status] of refused) {
      const connection = await talk(t, at);
      const length = status === 413 ? 100_000 : 1000;
      connection.write(headOf(method, path, { ...headers, ...expect, 'content-length': String(length) }));
      assert.match(await connection.headers(), new RegExp(`^HTTP/1\\.1 ${status} `), `${method} ${path}`);
    }
  });

  it('gets 100 when the body is read, and then the response', async (t) => {
    const { port } = await serve(t);
    const json = JSON.stringify({ path: 'folder' });
    for (const [path, body, headers] of [
      ['/upload', formOf([{ name: 'file', filename: 'a', value: 'x' }]), FORM],
      ['/create_folder', Buffer.from(json), { 'content-type': 'application/json' }],
    ] as const) {
      const connection = await talk(t, port);
      connection.write(headOf('POST', path, { ...headers, ...expect, 'content-length': String(body.length) }));
      const first = await connection.headers();
      assert.equal(first, 'HTTP/1.1 100 Continue\r\n\r\n');
      connection.write(body);
      assert.match(await connection.headers(first.length), /^HTTP\/1\.1 200 /);
    }
  });
});

describe('/-/health/ready', () => {
  it('checks the store once for concurrent requests, and again after two seconds', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    let checks = 0;
    const gate = Promise.withResolvers<void>();
    const { port } = await serve(t, {
      wrap: (store) => ({
        ...store,
        async check() {
          checks++;
          await gate.promise;
        },
      }),
    });
    const request = async () => (await send(port, '/-/health/ready')).status;
    const requested = Array.from({ length: 20 }, request);
    await until('the first check has arrived', () => checks > 0);
    gate.resolve();
    assert.deepEqual(new Set(await within('all responses', Promise.all(requested))), new Set([200]));
    assert.equal(await request(), 200);
    assert.equal(checks, 1);
    t.mock.timers.setTime(Date.now() + 2000);
    assert.equal(await request(), 200);
    assert.equal(checks, 2);
  });
});

describe('The log', () => {
  it('has the path of a request up to 1,024 characters', async (t) => {
    const { port, log } = await serve(t);
    await send(port, `/file/${'x'.repeat(12_000)}`);
    await until('the request is logged', () => log.some(({ msg }) => msg === 'request'));
    const path = String(log.find(({ msg }) => msg === 'request')?.['path']);
    assert.equal(path, `/file/${'x'.repeat(1018)}… (truncated from 12006 characters)`);
    assert.ok(JSON.stringify(log).length < 4000);
  });

  it('has one line for many requests that get 429', async (t) => {
    const service = await startService(memory, {
      access: PROXIED,
      limits: { requestsPerMinute: 1, trustProxy: ['loopback'] },
    });
    t.after(() => service.stop());
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      for (let count = 0; count < 10; count++) {
        await send(service.port, '/', { headers: { 'x-forwarded-for': address } });
      }
    }
    await service.stop();
    const requests = service.log.filter(({ msg }) => msg === 'request');
    assert.deepEqual(
      requests.map(({ status }) => status),
      [200, 200],
    );
    const refused = service.log.filter(({ status }) => status === 429);
    assert.deepEqual(
      refused.map(({ requests: count, clients }) => [count, clients]),
      [
        [1, ['192.0.2.1']],
        [17, ['192.0.2.1', '192.0.2.2']],
      ],
    );
  });
});

describe('X-Request-Id', () => {
  it('is that of the request if a trusted proxy sent one that is safe in a log and a header', async (t) => {
    const { port, log } = await serve(t, { access: PROXIED, limits: { trustProxy: ['loopback'] } });
    const idOf = async (path: string, id: string) =>
      (await send(port, path, { headers: { 'x-request-id': id } })).headers['x-request-id'];
    for (const id of ['a', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'trace:1.2_3-4', 'x'.repeat(128)]) {
      for (const path of ['/', '/missing', '/file/%FF']) assert.equal(await idOf(path, id), id);
      assert.ok(log.some((line) => line['requestId'] === id));
    }
    for (const id of ['', 'a b', 'a,b', '{}', 'é', 'x'.repeat(129)]) {
      assert.match(String(await idOf('/', id)), /^[\w-]{36}$/, JSON.stringify(id));
    }
  });
});

describe('Prefer: quota', () => {
  it('is only for signed-in users if there is an access file', async (t) => {
    const quota = { limit: 5000, remaining: 4987, reset: new Date() };
    const service = await startGuardedService({
      ...memory,
      async open() {
        const opened = await memory.open();
        return { ...opened, store: { ...opened.store, quota: () => quota } };
      },
    });
    t.after(() => service.stop());
    service.grant(grant('', ['read'], EVERYONE));
    const call = { headers: { prefer: 'quota' } };
    const anonymous = await service.asAnonymous('/', call);
    assert.deepEqual([anonymous.status, anonymous.headers['x-store-quota']], [200, undefined]);
    const signedIn = await service.asAnn('/', call);
    assert.match(String(signedIn.headers['x-store-quota']), /^limit=5000, remaining=4987/);
    assert.equal(jsonOf(signedIn)['success'], true);
  });
});
