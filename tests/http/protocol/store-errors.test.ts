import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { type ErrorKind, StoreError } from '../../../src/model/error.ts';
import { parseFile, parseFolder } from '../../../src/model/path.ts';
import type { Store } from '../../../src/model/store.ts';
import { readOnly } from '../../../src/stores/layers/read-only.ts';
import { memory } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  type HttpResponse,
  jsonOf,
  pathsBelow,
  postForm,
  postJson,
  send,
} from '../client.ts';
import { failing } from '../failing-store.ts';
import { startService, type TestService } from '../service.ts';

describe('a read-only service', () => {
  it('returns 403 for every change', async (test) => {
    const inner = Promise.withResolvers<Store>();
    const locked = await startWith((store) => {
      inner.resolve(store);
      return readOnly(store);
    }, test);
    const store = await inner.promise;
    await store.write(parseFile('a'), { body: Readable.from([Buffer.from('1')]), type: 'text/plain' });
    await store.createFolder(parseFolder('f'));
    for (const response of await requestForChanges(locked.port)) {
      assertFailure(response, 403, 'The service is read-only (READ_ONLY=true).');
    }
    assert.equal((await send(locked.port, '/file/a')).body.toString(), '1');
    assert.deepEqual(await pathsBelow(locked.port), ['a', 'f/']);
  });
});

describe('/-/health', () => {
  let service: TestService;
  let port: number;

  beforeEach(async () => {
    service = await startService(memory);
    ({ port } = service);
  });
  afterEach(() => service.stop());

  it('reports a running process and a usable store', async () => {
    assertSuccess(await send(port, '/-/health/live'), { message: 'The service is running.' });
    const response = await send(port, '/-/health/ready');
    // Some backends add their quota.
    const { quota: _, ...ready } = jsonOf(response);
    assert.deepEqual([response.status, ready], [200, { success: true, message: 'The service is ready.' }]);
  });

  it('reports an unreachable store with 503 and Retry-After', async (test) => {
    const wrap = (store: Store): Store => ({
      ...store,
      check: async () => {
        throw new StoreError('unavailable', 'The bucket does not response.', { retryAfter: 9 });
      },
    });
    const faulty = await startWith(wrap, test);
    const response = await send(faulty.port, '/-/health/ready');
    assertFailure(response, 503, 'The bucket does not response.');
    assert.equal(response.headers['retry-after'], '9');
    assert.equal((await send(faulty.port, '/-/health/live')).status, 200);
  });
});

/** Starts the service on a memory store that `wrap` changes, until the test ends. */
async function startWith(wrap: (store: Store) => Store, test: TestContext): Promise<TestService> {
  const service = await startService(memory, { wrap });
  test.after(() => service.stop());
  return service;
}

/** One request to every endpoint that uses the store. */
async function requestEverything(port: number): Promise<HttpResponse[]> {
  return [
    await send(port, '/'),
    await send(port, '/?prefix=f'),
    await send(port, '/file/a'),
    await send(port, '/thumb/a'),
    ...(await requestForChanges(port)),
  ];
}

/** One request to every endpoint that changes something. */
async function requestForChanges(port: number): Promise<HttpResponse[]> {
  const file = { name: 'file', filename: 'a', value: 'x' };
  const prefix = { name: 'prefix', value: 'f' };
  return [
    await send(port, '/delete/a', { method: 'DELETE' }),
    await send(port, '/delete_folder/f', { method: 'DELETE' }),
    await postJson(port, '/rename/a', { newName: 'b' }),
    await postJson(port, '/rename_folder/f', { newName: 'g' }),
    await postJson(port, '/copy', { source: 'a', destination: 'b', is_folder: false }),
    await postJson(port, '/copy', { source: 'f', destination: 'g', is_folder: true }),
    await postJson(port, '/move', { source: 'a', destination: 'b', is_folder: false }),
    await postJson(port, '/move', { source: 'f', destination: 'g', is_folder: true }),
    await postJson(port, '/create_folder', { path: 'f' }),
    await postForm(port, [prefix, file]),
    await postForm(port, [file, prefix]),
  ];
}

describe('errors of the store', () => {
  const STATUSES: Readonly<Record<ErrorKind, number>> = {
    'not-found': 404,
    'already-exists': 409,
    'wrong-kind': 409,
    locked: 409,
    'invalid-path': 400,
    'invalid-request': 400,
    'condition-failed': 412,
    'range-unsatisfiable': 416,
    'too-large': 413,
    denied: 403,
    'other-file-system': 409,
    'not-undoable': 409,
    unsupported: 501,
    unavailable: 503,
  };

  it('returns the status of the error kind, with its code and message', async (test) => {
    let kind: ErrorKind = 'denied';
    const wrap = failing(() => new StoreError(kind, `It is ${kind}.`, { cause: new Error('secret cause') }));
    const faulty = await startWith(wrap, test);
    for (const [each, status] of Object.entries(STATUSES) as [ErrorKind, number][]) {
      kind = each;
      for (const response of await requestEverything(faulty.port)) {
        assertFailure(response, status, new RegExp(`^It is ${kind}\\.`));
        assert.equal(jsonOf(response)['code'], kind);
      }
    }
  });

  it('returns 503 with Retry-After for an unavailable store', async (test) => {
    let retryAfter: number | undefined;
    const wrap = failing(
      () => new StoreError('unavailable', 'The store is unreachable.', retryAfter === undefined ? {} : { retryAfter }),
    );
    const faulty = await startWith(wrap, test);
    for (const [seconds, header] of [
      [undefined, '1'],
      [7, '7'],
      [3600, '3600'],
    ] as const) {
      retryAfter = seconds;
      for (const response of await requestEverything(faulty.port)) {
        assertFailure(response, 503, 'The store is unreachable.');
        assert.equal(response.headers['retry-after'], header);
      }
    }
  });

  it('returns 500 with only the request id for an unexpected error, and logs its details', async (test) => {
    const secrets = [
      new Error('secret /srv/files'),
      Object.assign(new Error('secret'), { code: 'EIO', path: '/srv/secret' }),
      Object.assign(new TypeError('secret'), { statusCode: 404, headers: { secret: 'x' } }),
      'secret text',
      undefined,
      { message: 'secret object' },
    ];
    let secret: unknown;
    const faulty = await startWith(
      failing(() => secret),
      test,
    );
    for (const each of secrets) {
      secret = each;
      for (const response of await requestEverything(faulty.port)) {
        const id = String(response.headers['x-request-id']);
        const error = `Internal error. Search the log of the service for the request ID ${id}.`;
        assertFailure(response, 500, error);
        assert.doesNotMatch(JSON.stringify(response.headers) + response.body.toString(), /secret|srv/);
        const logged = faulty.log.filter((line) => line['requestId'] === id && line['level'] === 50);
        assert.equal(logged.length, 1, JSON.stringify(faulty.log.filter((line) => line['requestId'] === id)));
        if (each !== undefined) assert.match(JSON.stringify(logged), /secret/);
      }
    }
  });

  it('answers the next request after an error', async (test) => {
    let isBroken = true;
    const faulty = await startWith((store) => {
      const broken = failing(() => new Error('secret'))(store);
      return { ...store, list: (...args) => (isBroken ? broken : store).list(...args) };
    }, test);
    assert.equal((await send(faulty.port, '/')).status, 500);
    isBroken = false;
    assert.equal((await send(faulty.port, '/')).status, 200);
  });
});
