import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { preferenceOf } from '../../src/http/accept.ts';
import { StoreError } from '../../src/model/error.ts';
import type { Quota, Store } from '../../src/model/store.ts';
import { observe } from '../../src/stores/layers/observe.ts';
import { readOnly } from '../../src/stores/layers/read-only.ts';
import { disk, memory } from '../contract/backend.ts';
import { assertFailure, jsonOf, responseOf, send, sendBytes } from './client.ts';
import { startService } from './service.ts';

/**
 * Starts the service on a store whose backend reports this quota, behind the layers. `members` replace those of the
 * store.
 */
async function start(
  t: TestContext,
  quota: () => Quota | undefined,
  members: (store: Store) => Partial<Store> = () => ({}),
): Promise<number> {
  const service = await startService(memory, {
    wrap: (store) => readOnly(observe({ ...store, ...members(store), quota }, () => {})),
    metrics: {
      token: Buffer.from('metrics-token'),
      requestStarted() {},
      requestCompleted() {},
      format: async () => ({ type: 'text/plain', text: '' }),
    },
  });
  t.after(() => service.stop());
  return service.port;
}

const READER = { headers: { authorization: 'Bearer metrics-token' } };

const QUOTA: Quota = { limit: 5000, remaining: 4987, reset: new Date('2026-11-21T14:00:00.500Z') };

describe('The quota of a store', () => {
  it('is in the readiness response to requests with METRICS_TOKEN', async (t) => {
    const port = await start(t, () => QUOTA);
    const ready = { success: true, message: 'The service is ready.' };
    assert.deepEqual(jsonOf(await send(port, '/-/health/ready')), ready);
    const wrong = { headers: { authorization: 'Bearer another-token' } };
    assert.deepEqual(jsonOf(await send(port, '/-/health/ready', wrong)), ready);
    assert.deepEqual(jsonOf(await send(port, '/-/health/ready', READER)), {
      ...ready,
      quota: { limit: 5000, remaining: 4987, reset: '2026-11-21T14:00:00.500Z' },
    });
  });

  it('is omitted if the backend has none or has not reported one', async (t) => {
    const ports = [await start(t, () => undefined)];
    for (const backend of [memory, disk]) {
      const service = await startService(backend);
      t.after(() => service.stop());
      ports.push(service.port);
    }
    for (const port of ports) {
      const { headers, ...response } = await send(port, '/-/health/ready', { headers: { prefer: 'quota' } });
      assert.deepEqual(jsonOf({ ...response, headers }), { success: true, message: 'The service is ready.' });
      assert.deepEqual([headers['x-store-quota'], headers['preference-applied']], [undefined, undefined]);
    }
  });

  for (const [path, method, status] of [
    ['/', 'GET', 200],
    ['/file/missing', 'GET', 404],
    ['/file/missing', 'HEAD', 404],
    ['/file/missing', 'PATCH', 405],
    ['/-/nothing', 'GET', 404],
    ['/delete_folder/missing', 'DELETE', 403],
  ] as const) {
    it(`is a header of the response to ${method} ${path} if the request prefers it`, async (t) => {
      const port = await start(t, () => QUOTA);
      const response = await send(port, path, { method, headers: { prefer: 'quota' } });
      assert.equal(response.status, status);
      assert.equal(response.headers['x-store-quota'], 'limit=5000, remaining=4987, reset=1795269601');
      assert.equal(response.headers['preference-applied'], 'quota');
      const plain = await send(port, path, { method });
      assert.equal(plain.headers['x-store-quota'], undefined);
    });
  }

  it('includes the cost of the request itself', async (t) => {
    let remaining = 10;
    const port = await start(
      t,
      () => ({ ...QUOTA, remaining }),
      (store) => ({
        check: async () => void remaining--,
        list: async (...args) => {
          const listing = await store.list(...args);
          remaining -= 2;
          return listing;
        },
        async stat() {
          remaining -= 3;
          throw new StoreError('not-found', 'There is none.');
        },
      }),
    );
    const reported: unknown[] = [];
    for (const [path, method] of [
      ['/', 'GET'],
      ['/file/missing', 'HEAD'],
      ['/-/health/ready', 'GET'],
    ] as const) {
      const { headers } = await send(port, path, { method, headers: { prefer: 'quota' } });
      reported.push(/remaining=(\d+)/.exec(String(headers['x-store-quota']))?.[1]);
    }
    assert.deepEqual(reported, ['8', '5', '4']);
    // The service caches the result of the store's check for two seconds, so this costs no request.
    assert.partialDeepStrictEqual(jsonOf(await send(port, '/-/health/ready', READER)), { quota: { remaining: 4 } });
  });

  it('is a header of the failure when it is exhausted', async (t) => {
    const port = await start(
      t,
      () => ({ ...QUOTA, remaining: 0 }),
      () => ({
        async check() {
          throw new StoreError('unavailable', 'No more requests.', { retryAfter: 9 });
        },
      }),
    );
    const response = await send(port, '/-/health/ready', { headers: { prefer: 'quota' } });
    assertFailure(response, 503, 'No more requests.');
    assert.equal(response.headers['retry-after'], '9');
    assert.equal(response.headers['x-store-quota'], 'limit=5000, remaining=0, reset=1795269601');
  });

  it('is in the OpenAPI document', async (t) => {
    const port = await start(t, () => undefined);
    assert.partialDeepStrictEqual(jsonOf(await send(port, '/-/openapi.json')), {
      paths: {
        '/-/health/ready': {
          get: {
            responses: {
              200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Ready' } } } },
            },
          },
        },
      },
      components: {
        schemas: {
          Ready: {
            required: ['success', 'message'],
            properties: { quota: { type: 'object', required: ['limit', 'remaining', 'reset'] } },
          },
        },
      },
    });
  });

  it('is sent with progress lines', async (t) => {
    const port = await start(t, () => QUOTA);
    const headers = { prefer: 'quota', accept: 'application/x-ndjson' };
    const response = await send(port, '/delete_folder/missing', { method: 'DELETE', headers });
    assert.equal(response.headers['x-store-quota'], 'limit=5000, remaining=4987, reset=1795269601');
  });

  it('is requested in any line of the header', async (t) => {
    const port = await start(t, () => QUOTA);
    const request = (...lines: string[]) =>
      sendBytes(port, ['GET / HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines, '\r\n'].join('\r\n'));
    const requested = responseOf(await request('Prefer: respond-async', 'PREFER: wait=5,Quota'));
    assert.equal(requested.headers['preference-applied'], 'quota');
    const other = responseOf(await request('Prefer: respond-async', 'Prefer: wait=5'));
    assert.equal(other.headers['preference-applied'], undefined);
  });

  it('is found among other preferences, in any case, and nowhere else', async (t) => {
    const port = await start(t, () => QUOTA);
    const hasQuota = async (prefer: string) =>
      (await send(port, '/', { headers: { prefer } })).headers['x-store-quota'] !== undefined;
    for (const prefer of PREFERRING) assert.ok(await hasQuota(prefer), prefer);
    for (const prefer of NOT_PREFERRING) assert.ok(!(await hasQuota(prefer)), prefer);
  });

  it('is found in headers of 100,000 parts and more', () => {
    // `npm run check` proves that the regular expressions take linear time.
    for (const part of [' ', '\t', ',', '"', '\\', '\\"', 'x="', 'quota ', 'quota=', '"",', 'a']) {
      for (const prefer of [part.repeat(100_000), `${part.repeat(100_000)}!`, `quota${part.repeat(100_000)}!`]) {
        assert.equal(
          preferenceOf({ prefer }, 'quota') === '',
          prefer.startsWith('quota,'),
          JSON.stringify(prefer.slice(0, 20)),
        );
      }
    }
  });
});

const PREFERRING: readonly string[] = [
  'QUOTA',
  'respond-async, quota',
  'a=1;b="c",\tquota , d',
  'quota=""',
  'quota = ""',
  // Commas, quotes and backslashes within quoted strings have no effect.
  'x="a, b", quota',
  'x="\\"", quota',
  'x="\\\\", quota',
  // The first of two headers applies.
  'quota, quota=1',
  ',,quota,,',
];

const NOT_PREFERRING: readonly string[] = [
  '',
  ',',
  'quotas',
  'quota=0',
  'x="quota"',
  'no quota',
  'quota;x',
  '\u00ff',
  '"quota"',
  'x=quota',
  'x="a, quota, b"',
  'x="\\", quota, b"',
  'x="never closed, quota',
  'x="never closed, quota\\',
  'quota=1, quota',
  'quota; x, quota',
];
