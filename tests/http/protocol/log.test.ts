import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import type { Store } from '../../../src/model/store.ts';
import { until } from '../../../testing/until.ts';
import { memory } from '../../contract/backend.ts';
import { begin, plant, send, within } from '../client.ts';
import { linesOf, requestLines } from '../request-log.ts';
import { startService, type TestService } from '../service.ts';

describe('the request log', () => {
  let service: TestService;
  let port: number;

  beforeEach(async () => {
    service = await startService(memory);
    ({ port } = service);
  });
  afterEach(() => service.stop());

  it('has one line for each request, with requestId, method, route, path, status, bytes and milliseconds', async () => {
    await plant(port, { 'f/a': 'x'.repeat(5000) });
    const before = service.log.length;
    const cases = [
      ['GET', '/file/f/a?download=1', '/file/*', '/file/f/a', 200],
      ['HEAD', '/file/f/a', '/file/*', '/file/f/a', 200],
      ['GET', '/file/missing?x=y', '/file/*', '/file/missing', 404],
      ['GET', '/?limit=1', '/', '/', 200],
      ['GET', '/f', '/*', '/f', 200],
      ['PUT', '/f', '/*', '/f', 405],
      ['OPTIONS', '/copy', '/copy', '/copy', 204],
      ['POST', '/copy', '/copy', '/copy', 400],
      ['DELETE', '/delete/missing', '/delete/*', '/delete/missing', 404],
      ['GET', '/-/health/live', '/-/health/live', '/-/health/live', 200],
    ] as const;
    const expected = [];
    for (const [method, url, route, path, status] of cases) {
      const response = await send(port, url, { method });
      expected.push({ requestId: response.headers['x-request-id'], method, route, path, status });
    }
    await until('all requests are logged', () => requestLines(service, before).length >= cases.length);
    const lines = requestLines(service, before);
    assert.deepEqual(
      lines.map(({ requestId, method, route, path, status }) => ({ requestId, method, route, path, status })),
      expected,
    );
    for (const { bytes, milliseconds } of lines) {
      assert.ok(Number(bytes) > 0);
      assert.ok(Number(milliseconds) >= 0);
    }
    assert.ok(Number(lines[0]?.['bytes']) > 5000);
    assert.ok(Number(lines[1]?.['bytes']) < 5000);
  });

  it('has one line for a request without a route', async () => {
    for (const path of ['/-/missing', '/file/%FF', '/%zz']) {
      const before = service.log.length;
      const response = await send(port, path);
      await until(`${path} is logged`, () => requestLines(service, before).length > 0);
      const [line] = requestLines(service, before);
      assert.deepEqual(
        [line?.['requestId'], line?.['method'], line?.['path'], line?.['status']],
        [response.headers['x-request-id'], 'GET', path, response.status],
      );
    }
  });

  it('never contains a query', async () => {
    for (const path of ['/file/a', '/-/signed/a', '/', '/-/missing', '/file/%FF', '/thumb/a']) {
      await send(port, `${path}?expires=1&signature=VERYSECRET`);
      await send(port, `${path}?prefix=VERYSECRET`, { method: 'PUT' });
    }
    await until('they are logged', () => linesOf(service, '/thumb/a').length === 2);
    assert.doesNotMatch(JSON.stringify(service.log), /VERYSECRET|signature/);
  });

  it('logs status 499 when the client disconnects before the response', async (test) => {
    const arrived = Promise.withResolvers<void>();
    const blocked = Promise.withResolvers<void>();
    const slow = await startWith((store) => {
      const list: Store['list'] = async (...args) => {
        arrived.resolve();
        await blocked.promise;
        return store.list(...args);
      };
      return { ...store, list };
    }, test);
    const exchange = begin(slow.port, '/left');
    await within('the request', arrived.promise);
    exchange.disconnect();
    try {
      await until('the request is logged', () => linesOf(slow, '/left').length === 1);
      assert.equal(linesOf(slow, '/left')[0]?.['status'], 499);
    } finally {
      blocked.resolve();
    }
  });
});

/** Starts the service on a memory store that `wrap` changes, until the test ends. */
async function startWith(wrap: (store: Store) => Store, test: TestContext): Promise<TestService> {
  const service = await startService(memory, { wrap });
  test.after(() => service.stop());
  return service;
}
