import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { CopyObjectCommand, DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { openProxied, type ProxiedBucket, serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import { assertFailure, begin, type HttpResponse, send, within } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { BLUE, plain } from '../thumbnails/images.ts';

export const needs: readonly Need[] = ['bucket'];

const LARGE = Buffer.alloc(6 * 2 ** 20, 'large');
const JUST_BELOW = LARGE.subarray(1);

/** Puts an object directly into the bucket, so the service has no cached metadata of it. */
async function put({ bucket }: ProxiedBucket, Key: string, Body: Buffer | string, ContentType?: string): Promise<void> {
  await bucket.client.send(
    new PutObjectCommand({ Bucket: bucket.name, Key, Body, ContentLength: Buffer.byteLength(Body), ContentType }),
  );
}

/** A bucket with `LARGE`, which other buckets get as a copy: that takes a tenth of the time of an upload. */
let large: TestBucket;
before(async () => {
  large = await createBucket();
  await large.client.send(new PutObjectCommand({ Bucket: large.name, Key: 'large', Body: LARGE }));
});
after(() => large.remove());

/** Puts `LARGE` directly into the bucket. */
async function putLarge({ bucket }: ProxiedBucket, Key: string, ContentType?: string): Promise<void> {
  const CopySource = `${large.name}/large`;
  const command = { Bucket: bucket.name, Key, CopySource, MetadataDirective: 'REPLACE', ContentType } as const;
  await bucket.client.send(new CopyObjectCommand(command));
}

type Served = Awaited<ReturnType<typeof serveProxied>>;

/** Sends a request and returns its response with the S3 operations that it caused. */
async function operationsFor({ proxy, port }: Served, path: string, call: Parameters<typeof send>[2] = {}) {
  proxy.forget();
  const response = await send(port, path, call);
  return { response, operations: proxy.requests.map(({ operation }) => operation) };
}

/** Follows a redirect to the store. */
async function follow({ headers }: HttpResponse, method = 'GET', range?: string): Promise<HttpResponse> {
  const { port, pathname, search, host } = new URL(headers.location ?? '');
  return send(Number(port), pathname + search, { method, headers: { host, ...(range !== undefined && { range }) } });
}

describe('GET /file/…', () => {
  it('sends one GetObject for a small file or a range of it', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', 'the text', 'text/plain');
    const whole = await operationsFor(served, '/file/a');
    assert.equal(whole.response.status, 200);
    assert.equal(whole.response.body.toString(), 'the text');
    assert.deepEqual(whole.operations, ['GetObject']);
    const part = await operationsFor(served, '/file/a', { headers: { range: 'bytes=4-' } });
    assert.equal(part.response.status, 206);
    assert.equal(part.response.body.toString(), 'text');
    assert.equal(part.response.headers['content-range'], 'bytes 4-7/8');
    assert.deepEqual(part.operations, ['GetObject']);
  });

  it('requests a 6 MiB range of an unknown file and all of a known small one, and redirects if it has grown', async (t) => {
    const served = await serveProxied(t);
    const { proxy, port } = served;
    await put(served, 'a', 'the text');
    const ranges = () => proxy.requests.map(({ headers }) => headers.range);
    const unknown = await operationsFor(served, '/file/a');
    assert.deepEqual(ranges(), ['bytes=0-6291454']);
    assert.equal(unknown.response.body.toString(), 'the text');
    const known = await operationsFor(served, '/file/a');
    assert.deepEqual(ranges(), [undefined]);
    assert.equal(known.response.body.toString(), 'the text');
    await putLarge(served, 'a');
    const followed = await follow(await send(port, '/file/a'));
    assert.equal(followed.status, 200);
    assert.ok(followed.body.equals(LARGE));
  });

  it('returns the current type, ETag and body after the object changes', async (t) => {
    const served = await serveProxied(t);
    const describeFile = async () => {
      const { headers, body } = await send(served.port, '/file/a');
      return [headers['content-type'], headers.etag, body.toString()];
    };
    await put(served, 'a', 'one', 'text/plain');
    const first = await describeFile();
    assert.deepEqual(await describeFile(), first);
    await put(served, 'a', 'two', 'text/plain');
    const second = await describeFile();
    assert.deepEqual([second[0], second[2]], [first[0], 'two']);
    assert.notEqual(second[1], first[1]);
    await put(served, 'a', 'two', 'text/css');
    const [type, etag] = await describeFile();
    assert.match(type ?? '', /^text\/css/);
    assert.equal(etag, second[1]);
  });

  it('sends one GetObject for a file just below the redirect limit', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', JUST_BELOW);
    const { response, operations } = await operationsFor(served, '/file/a');
    assert.equal(response.status, 200);
    assert.ok(response.body.equals(JUST_BELOW));
    assert.deepEqual(operations, ['GetObject']);
  });

  it('sends at most two requests for an empty file', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', '');
    const { response, operations } = await operationsFor(served, '/file/a');
    assert.equal(response.status, 200);
    assert.equal(response.body.length, 0);
    assert.ok(operations.length <= 2, String(operations));
  });

  it('redirects to a large file after at most one S3 request, or none if it is known', async (t) => {
    const served = await serveProxied(t);
    for (const [source, path] of [
      ['listed', '/'],
      ['requested with HEAD', '/file/a'],
    ] as const) {
      await putLarge(served, 'a');
      const unknown = await operationsFor(served, '/file/a');
      assert.equal(unknown.response.status, 302);
      assert.ok(unknown.operations.length <= 1, String(unknown.operations));
      // A removal through the service drops the cached metadata.
      await send(served.port, '/delete/a', { method: 'DELETE' });
      await putLarge(served, 'a');
      await send(served.port, path, { method: path === '/' ? 'GET' : 'HEAD' });
      const { response, operations } = await operationsFor(served, '/file/a');
      assert.equal(response.status, 302, source);
      assert.deepEqual(operations, [], source);
      const followed = await follow(response);
      assert.equal(followed.status, 200);
      assert.ok(followed.body.equals(LARGE));
      await send(served.port, '/delete/a', { method: 'DELETE' });
    }
  });

  it('sends one HeadObject for a HEAD request', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', 'the text');
    const { response, operations } = await operationsFor(served, '/file/a', { method: 'HEAD' });
    assert.equal(response.headers['content-length'], '8');
    assert.deepEqual(operations, ['HeadObject']);
  });

  it('redirects to a 404 of the store when another client deleted a known large file', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, 'a');
    await send(served.port, '/');
    const { bucket } = served;
    await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'a' }));
    const response = await send(served.port, '/file/a');
    assert.equal(response.status, 302);
    const followed = await follow(response);
    assert.equal(followed.status, 404);
    assert.match(followed.body.toString(), /<Code>NoSuchKey<\/Code>/);
  });
});

describe('The redirect to a large file', () => {
  const name = 'a folder/100 % größer "&+.txt';
  const path = `/file/${encodeURIComponent(name)}`;

  it('returns the file with its stored type', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, name, 'text/csv');
    const followed = await follow(await send(served.port, path));
    assert.equal(followed.status, 200);
    assert.equal(followed.headers['content-type'], 'text/csv; charset=utf-8');
    assert.ok(followed.body.equals(LARGE));
  });

  it('is inline only if both the name and the stored type are safe, otherwise an attachment', async (t) => {
    const served = await serveProxied(t);
    for (const [key, stored, type, disposition] of [
      ['a.txt', 'text/plain; charset=gb18030; x=y', 'text/plain; charset=gb18030', /^inline$/],
      ['a.png', 'image/png', 'image/png', /^inline$/],
      ['a.jpg', undefined, 'image/jpeg', /^inline$/],
      ['a.html', 'image/png', 'image/png', /^attachment; filename="a\.html"/],
      ['a.png', 'text/html', 'text/html; charset=utf-8', /^attachment; filename="a\.png"/],
      ['b.png', 'image/svg+xml', 'application/octet-stream', /^attachment; filename="b\.png"/],
    ] as const) {
      await putLarge(served, key, stored);
      // A listing has no types. Metadata cached from it must not decide the disposition.
      await send(served.port, '/');
      for (const method of ['GET', 'HEAD']) {
        const redirect = await send(served.port, `/file/${key}`, { method });
        const { headers } = await follow(redirect, method, 'bytes=0-9');
        assert.equal(headers['content-type'], type, `${method} ${key}, ${stored}`);
        assert.match(headers['content-disposition'] ?? '', disposition, `${method} ${key}, ${stored}`);
      }
    }
  });

  it('sends HeadObject for the type of a listed file only if its name allows inline display', async (t) => {
    const served = await serveProxied(t);
    for (const [key, query, operations] of [
      ['a.png', '', ['HeadObject']],
      ['b.png', '?download=1', []],
      ['c.html', '', []],
    ] as const) {
      await putLarge(served, key);
      await send(served.port, '/');
      const result = await operationsFor(served, `/file/${key}${query}`);
      assert.equal(result.response.status, 302);
      assert.deepEqual(result.operations, operations, key);
    }
  });

  it('signs the disposition and the type: a changed parameter returns 403', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, 'a.html', 'text/html');
    const { headers } = await send(served.port, '/file/a.html');
    const location = headers.location ?? '';
    const status = async (change: (query: URLSearchParams) => void) => {
      const url = new URL(location);
      change(url.searchParams);
      return (await follow({ status: 302, body: Buffer.alloc(0), headers: { location: url.href } })).status;
    };
    assert.equal(await status(() => {}), 200);
    assert.equal(await status((query) => query.delete('response-content-disposition')), 403);
    assert.equal(await status((query) => query.set('response-content-disposition', 'inline')), 403);
    assert.equal(await status((query) => query.set('response-content-type', 'text/xml')), 403);
  });

  it('is an attachment with its file name for ?download=1', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, name);
    const followed = await follow(await send(served.port, `${path}?download=1`));
    assert.equal(followed.status, 200);
    const { 'content-disposition': disposition = '', 'content-type': type } = followed.headers;
    assert.match(disposition, /^attachment; /);
    assert.ok(disposition.includes(`filename*=UTF-8''${encodeURIComponent('100 % größer "&+.txt')}`), disposition);
    assert.equal(type, 'text/plain; charset=utf-8');
  });

  it('returns the stored type even if only a listing without types was cached', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, 'a.txt', 'text/csv');
    await send(served.port, '/');
    const followed = await follow(await send(served.port, '/file/a.txt'));
    assert.match(followed.headers['content-type'] ?? '', /^text\/csv/);
  });

  it('of a HEAD request is valid for HEAD', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, name, 'text/csv');
    const response = await send(served.port, path, { method: 'HEAD' });
    assert.equal(response.status, 302);
    const followed = await follow(response, 'HEAD');
    assert.equal(followed.status, 200);
    assert.equal(followed.headers['content-length'], String(LARGE.length));
  });

  it('returns 403 for another key', async (t) => {
    const served = await serveProxied(t);
    await putLarge(served, 'a');
    await putLarge(served, 'b');
    const { headers } = await send(served.port, '/file/a');
    const altered = {
      status: 302,
      body: Buffer.alloc(0),
      headers: { location: headers.location?.replace('/a?', '/b?') },
    };
    assert.equal((await follow(altered)).status, 403);
  });
});

describe('A truncated GetObject response', () => {
  it('is requested again by the store, and never returned in part', async (t) => {
    const { store, proxy } = await openProxied(t);
    await store.write(file('a'), upload('the text'));
    let cuts = 1;
    proxy.intercept(({ operation }) => (operation === 'GetObject' && cuts-- > 0 ? { cutAfterBytes: 3 } : undefined));
    assert.equal(await textOf(store, 'a'), 'the text');
    assert.equal(proxy.count('GetObject'), 2);
    cuts = 4;
    await assert.rejects(store.read(file('a')), ofKind('unavailable'));
  });

  it('aborts the response of the service, so it never looks complete', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', JUST_BELOW);
    for (const headers of [{ accept: '*/*' }, { range: 'bytes=10-' }] as Record<string, string>[]) {
      served.proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutAfterBytes: 100_000 } : undefined));
      const response = await begin(served.port, '/file/a', { headers }).response;
      assert.ok(Number(response.headers['content-length']) > 100_000);
      await assert.rejects(within('the end of the response', buffer(response)), { code: 'ECONNRESET' });
    }
  });

  it('returns 503 for a thumbnail, which succeeds later', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a.png', await plain(BLUE).png().toBuffer(), 'image/png');
    served.proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutAfterBytes: 10 } : undefined));
    const response = await send(served.port, '/thumb/a.png');
    assertFailure(response, 503, /./);
    assert.ok(response.headers['retry-after']);
    served.proxy.intercept(undefined);
    assert.equal((await send(served.port, '/thumb/a.png')).status, 200);
  });

  it('fails a copy that reads and writes the object, and leaves no destination', async (t) => {
    const served = await serveProxied(t);
    const { proxy, store, bucket } = served;
    await put(served, 'a', 'the text');
    proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutAfterBytes: 3 } : undefined));
    await assert.rejects(async () => store.copy?.(file('a'), file('b'), { replace: false }), ofKind('unavailable'));
    assert.deepEqual(await bucket.keys(), ['a']);
  });
});
