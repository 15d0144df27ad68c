import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ErrorKind, isStoreError, type StoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { S3ErrorResponse, toStoreError } from '../../src/stores/s3/errors.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import type { TestBucket } from '../../testing/servers/bucket.ts';
import { openProxied, serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, firstOf, type OwnResponse } from '../../testing/servers/s3-proxy.ts';
import { file, folder, textOf, upload } from '../contract/bytes.ts';
import { assertFailure, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

/** Returns this response to the first `times` requests. */
function respondFirst(times: number, response: OwnResponse): () => OwnResponse | undefined {
  let count = 0;
  return () => (count++ < times ? response : undefined);
}

// Concurrent, because these tests mostly wait for retry delays.
describe('A request to a store that is busy or failing', { concurrency: true }, () => {
  const transient = {
    '503 SlowDown': errorResponse(503, 'SlowDown'),
    '429 TooManyRequests': errorResponse(429, 'TooManyRequests'),
    '429 without a body': { status: 429 },
    '500 InternalError': errorResponse(500, 'InternalError'),
    '502 from a proxy': { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' },
    '503 without a body': { status: 503 },
  };
  for (const [name, response] of Object.entries(transient)) {
    it(`is retried after ${name}`, async (t) => {
      const { store, proxy } = await openProxied(t);
      proxy.intercept(respondFirst(1, response));
      await store.write(file('a'), upload('text'));
      assert.equal(proxy.count('PutObject'), 2);
      proxy.intercept(respondFirst(1, response));
      assert.equal(await textOf(store, 'a'), 'text');
      assert.equal(proxy.count('GetObject'), 2);
      proxy.intercept(respondFirst(1, response));
      assert.equal((await store.list(folder(''))).entries.length, 1);
      proxy.intercept(respondFirst(1, response));
      assert.equal((await store.stat(file('a'))).size, 4);
    });
  }

  it('fails after four attempts with retryAfter', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(() => errorResponse(503, 'SlowDown', { 'retry-after': '1' }));
    const [statFailure, listFailure] = await Promise.all([
      failureOf(store.stat(file('a'))),
      failureOf(store.list(folder(''))),
    ]);
    for (const { kind, message, retryAfter } of [statFailure, listFailure]) {
      assert.deepEqual({ kind, message, retryAfter }, { kind: 'unavailable', message: BUSY, retryAfter: 1 });
    }
    assert.equal(proxy.count('HeadObject'), 4);
    assert.equal(proxy.count('ListObjectsV2'), 4);
    proxy.intercept(() => errorResponse(500, 'InternalError'));
    assert.equal((await failureOf(store.stat(file('a')))).retryAfter, 2);
  });

  it('returns 503 with Retry-After and logs the x-amz-request-id', async (t) => {
    const { port, proxy, log } = await serveProxied(t);
    proxy.intercept(() => errorResponse(503, 'ServiceUnavailable', { 'retry-after': '1', 'x-amz-request-id': '1' }));
    const paths = ['/file/a', '/', '/thumb/a', '/-/health/ready'];
    await Promise.all(
      paths.map(async (path) => {
        const response = await send(port, path);
        assertFailure(response, 503, BUSY);
        assert.equal(response.headers['retry-after'], '1', path);
      }),
    );
    const lines = log.filter(({ msg }) => msg === 'A request failed temporarily.');
    assert.equal(lines.length, paths.length);
    for (const line of lines) assert.match(JSON.stringify(line), /503 \w+.*\(the store's request 1\)/);
  });

  it('is retried when a listing response is truncated', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), upload('text'));
    proxy.intercept(firstOf('ListObjectsV2', () => ({ cutAfterBytes: 50 })));
    assert.equal((await store.list(folder(''))).entries.length, 1);
    proxy.intercept(({ operation }) => (operation === 'ListObjectsV2' ? { cutAfterBytes: 50 } : undefined));
    assert.equal((await failureOf(store.list(folder('')))).kind, 'unavailable');
  });

  it('is retried when the connection closes before the response', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), upload('text'));
    for (const cut of ['cut', 'cut when done'] as const) {
      proxy.intercept(firstOf('HeadObject', () => cut));
      assert.equal((await store.stat(file('a'))).size, 4);
    }
    proxy.intercept(() => 'cut');
    const failure = await failureOf(store.stat(file('a')));
    assert.equal(failure.kind, 'unavailable');
    assert.match(failure.message, /closed the connection/);
  });
});

describe('translate', () => {
  const context = { key: undefined, bucket: 'b', endpoint: undefined, accessKey: 'the access key in S3_ACCESS_KEY_ID' };
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  for (const [status, header, seconds] of [
    [503, '30', 30],
    [503, 'Sun, 06 Nov 1994 08:50:07 GMT', 30],
    [429, 'Sunday, 06-Nov-94 08:50:07 GMT', 30],
    [503, '99999999', 3600],
    [429, '-5', 2],
    [503, '0', 2],
  ] as const) {
    it(`returns retryAfter ${seconds} for ${status} with Retry-After: ${header}`, () => {
      const refused = new S3ErrorResponse({ status, headers: { date, 'retry-after': header } });
      const error = toStoreError(refused, context);
      assert.ok(isStoreError(error, 'unavailable'));
      assert.equal(error.retryAfter, seconds);
    });
  }

  for (const [status, parts, message] of [
    [407, {}, /^A proxy in front of the object store requires a username and password \(407\)/],
    [418, {}, /^The object store returned 418 without an S3 error code\. Check S3_ENDPOINT, and any proxy/],
    [499, {}, /returned 499/],
    [521, {}, /busy or failing/],
    [530, { code: 'UnknownError' }, /busy or failing/],
    [600, {}, /busy or failing/],
    [304, {}, /returned 304/],
    [
      302,
      { headers: { location: 'https://login.example.org/in?secret=1' } },
      /requests to "https:\/\/login.example.org\/in"/,
    ],
    [
      301,
      { headers: { location: 'https://files.example.org/' } },
      /redirects requests to "https:\/\/files.example.org\/"/,
    ],
    [301, {}, /^The bucket is in another region/],
    [308, { headers: { location: '/in' } }, /redirects requests \(308\)\. Check S3_ENDPOINT/],
    [400, { code: 'OddError' }, /^The object store returned 400 "OddError"/],
    [0, {}, /returned 0/],
  ] as const) {
    it(`returns unavailable for ${status} ${JSON.stringify(parts)}`, () => {
      const refused = new S3ErrorResponse({ status, headers: {}, ...parts });
      const error = toStoreError(refused, context);
      assert.ok(isStoreError(error, 'unavailable'), String(error));
      assert.match(error.message, message);
      assert.equal(error.cause, refused);
    });
  }
});

describe('An error code of a store', () => {
  const context = { key: 'a', bucket: 'b', endpoint: undefined, accessKey: 'the access key in S3_ACCESS_KEY_ID' };
  const kinds: Readonly<Record<string, readonly [ErrorKind, RegExp]>> = {
    '404 NoSuchKey': ['not-found', /"a"/],
    '404 NoSuchBucket': ['unavailable', /S3_BUCKET/],
    '400 InvalidBucketName': ['unavailable', /S3_BUCKET/],
    '401 Unauthorized': ['unavailable', /S3_ACCESS_KEY_ID/],
    '400 ExpiredToken': ['unavailable', /temporary/],
    '403 RequestExpired': ['unavailable', /clock/],
    '400 AuthorizationHeaderMalformed': ['unavailable', /S3_REGION/],
    '403 AllAccessDisabled': ['denied', /Check the permissions/],
    '507 XMinioStorageFull': ['unavailable', /full/],
    '412 PreconditionFailed': ['condition-failed', /^The file/],
    '416 InvalidRange': ['range-unsatisfiable', /the file/],
    '403 InvalidObjectState': ['denied', /archived/],
    '400 XMinioParentIsObject': ['wrong-kind', /"a"/],
    '400 XMinioInvalidObjectName': ['invalid-path', /does not support this path/],
    '413 EntityTooLarge': ['too-large', /larger/],
    '400 KeyTooLongError': ['invalid-path', /too long/],
    '501 NotImplemented': ['unsupported', /does not support this operation/],
    '403 SomethingElse': ['denied', /SomethingElse/],
    '412 InvalidRequest': ['condition-failed', /^The file/],
  };
  for (const [response, [kind, message]] of Object.entries(kinds)) {
    it(`${response} is reported as ${kind}`, () => {
      const [status, code] = response.split(' ');
      const cause = new S3ErrorResponse({ status: Number(status), headers: {}, code });
      const error = toStoreError(cause, context);
      assert.ok(isStoreError(error, kind), String(error));
      assert.match(error.message, message);
      assert.equal(error.cause, cause);
    });
  }

  it('and the message and request of the store are in the cause, as far as the response has them', () => {
    const headers = { 'x-amz-request-id': 'tx1' };
    const messages = [
      new S3ErrorResponse({ status: 403, headers, code: 'AccessDenied', message: 'No.' }),
      new S3ErrorResponse({ status: 403, headers, code: 'AccessDenied' }),
      new S3ErrorResponse({ status: 404, headers: {} }),
    ].map(({ message }) => message);
    assert.deepEqual(messages, [
      "403 AccessDenied: No. (the store's request tx1)",
      "403 AccessDenied (the store's request tx1)",
      'status 404 without an S3 error code',
    ]);
  });

  it('names the bucket where the request was about no file', () => {
    const ofBucket = { ...context, key: undefined };
    const missing = toStoreError(new S3ErrorResponse({ status: 404, headers: {} }), ofBucket);
    assert.ok(isStoreError(missing, 'unavailable'));
    assert.match(missing.message, /The bucket "b" does not exist/);
    const changed = toStoreError(new S3ErrorResponse({ status: 412, headers: {} }), ofBucket);
    assert.ok(isStoreError(changed, 'condition-failed'));
    assert.match(changed.message, /^The bucket/);
    assert.ok(
      isStoreError(
        toStoreError(new S3ErrorResponse({ status: 400, headers: {}, code: 'XMinioParentIsObject' }), ofBucket),
      ),
    );
  });
});

const BUSY = 'The object store is busy or failing.';

describe('A wrong S3 setting', () => {
  const responses = {
    S3_BUCKET: [errorResponse(404, 'NoSuchBucket'), errorResponse(400, 'InvalidBucketName')],
    S3_ACCESS_KEY_ID: [
      errorResponse(403, 'InvalidAccessKeyId'),
      errorResponse(403, 'AccessDenied'),
      errorResponse(401, 'Unauthorized'),
    ],
    S3_SECRET_ACCESS_KEY: [errorResponse(403, 'SignatureDoesNotMatch')],
    clock: [errorResponse(403, 'RequestTimeTooSkewed')],
    S3_REGION: [
      errorResponse(301, 'PermanentRedirect'),
      errorResponse(400, 'AuthorizationHeaderMalformed'),
      errorResponse(400, 'IllegalLocationConstraintException'),
    ],
    S3_ENDPOINT: [errorResponse(301, 'PermanentRedirect')],
  };
  for (const [setting, refusals] of Object.entries(responses)) {
    it(`is named in the error: ${setting}`, async (t) => {
      const { store, proxy, bucket } = await openProxied(t);
      for (const response of refusals) {
        // A response to HEAD has no body, so it has no error code.
        proxy.intercept(({ method }) => (method === 'HEAD' ? { status: response.status } : response));
        proxy.forget();
        const calls = [() => check(store), () => store.list(folder('')), () => store.write(file('a'), upload('text'))];
        for (const call of calls) {
          const { kind, message } = await failureOf(call());
          assert.ok(kind === 'unavailable' || (kind === 'denied' && response.status === 403), `${kind}: ${message}`);
          assert.match(message, new RegExp(setting), `${response.body}: ${message}`);
          assertNoSecret(message, bucket.settings);
        }
        assert.ok(proxy.requests.length <= 4, 'Configuration errors are not retried.');
      }
    });
  }

  it('is named in the error of the real store: a missing bucket, an invalid key ID or secret', async (t) => {
    const { bucket } = await openProxied(t);
    const { credentials } = bucket.settings;
    const wrong: [Partial<typeof bucket.settings>, RegExp][] = [
      [{ bucket: 'holdall-there-is-none' }, /The bucket "holdall-there-is-none" does not exist\. Check S3_BUCKET/],
      [{ credentials: { ...credentials, accessKeyId: 'AKIANOBODY' } }, /S3_ACCESS_KEY_ID/],
      [{ credentials: { ...credentials, secretAccessKey: 'not-the-secret' } }, /S3_SECRET_ACCESS_KEY/],
    ];
    for (const [wrongSettings, message] of wrong) {
      const settings = { ...bucket.settings, ...wrongSettings };
      const store = openS3({ ...settings, warn: () => {} });
      t.after(() => store.close?.());
      for (const call of [() => check(store), () => store.list(folder('')), () => store.read(file('a'))]) {
        const failure = await failureOf(call());
        assert.equal(failure.kind, 'unavailable');
        assert.match(failure.message, message);
        assertNoSecret(failure.message, settings);
      }
    }
  });
});

async function check(store: Store): Promise<void> {
  assert.ok(store.check);
  await store.check();
}

/** Returns the StoreError that a call rejects with. */
async function failureOf(call: Promise<unknown>): Promise<StoreError> {
  const error: unknown = await call.then(
    () => assert.fail('The call succeeded.'),
    (failure: unknown) => failure,
  );
  if (isStoreError(error)) return error;
  throw error;
}

function assertNoSecret(
  message: string,
  { credentials: { accessKeyId, secretAccessKey } }: TestBucket['settings'],
): void {
  assert.ok(!message.includes(accessKeyId) && !message.includes(secretAccessKey), message);
}

describe('An error response with an unrelated error code', () => {
  const kinds = { 404: 'not-found', 412: 'condition-failed', 413: 'too-large', 416: 'range-unsatisfiable' } as const;
  it('is classified by its status: 404, 412, 413 or 416', async (t) => {
    const { store, proxy } = await openProxied(t);
    for (const [status, kind] of Object.entries(kinds)) {
      proxy.intercept(() => errorResponse(Number(status), 'InvalidRequest'));
      assert.equal((await failureOf(store.read(file('a')))).kind, kind);
    }
  });
});
