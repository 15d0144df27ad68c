import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { file, ofKind } from '../contract/bytes.ts';
import { type Answer, assertFailure, begin, send, within } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { type ProxiedBucket, serveProxied } from '../servers/proxied-bucket.ts';
import { BLUE, plain } from '../thumbnails/images.ts';

export const needs: readonly Need[] = ['bucket'];

const LARGE = Buffer.alloc(6 * 2 ** 20, 'large');
const JUST_BELOW = LARGE.subarray(1);

/** Puts an object past the service, which has not seen it then. */
async function put({ bucket }: ProxiedBucket, Key: string, Body: Buffer | string, ContentType?: string): Promise<void> {
  await bucket.client.send(
    new PutObjectCommand({ Bucket: bucket.name, Key, Body, ContentLength: Buffer.byteLength(Body), ContentType }),
  );
}

type Served = Awaited<ReturnType<typeof serveProxied>>;

/** What the service asked of the store for a request. */
async function askedFor({ proxy, port }: Served, path: string, call: Parameters<typeof send>[2] = {}) {
  proxy.forget();
  const answer = await send(port, path, call);
  return { answer, operations: proxy.requests.map(({ operation }) => operation) };
}

/** Follows a redirect, to the store itself. */
async function follow({ headers }: Answer, method = 'GET'): Promise<Answer> {
  const { port, pathname, search, host } = new URL(headers.location ?? '');
  return send(Number(port), pathname + search, { method, headers: { host } });
}

describe('Fetching a file asks the store', () => {
  it('once, where it is small: all of it, or a range', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', 'the text', 'text/plain');
    const whole = await askedFor(served, '/file/a');
    assert.equal(whole.answer.status, 200);
    assert.equal(whole.answer.body.toString(), 'the text');
    assert.deepEqual(whole.operations, ['GetObject']);
    const part = await askedFor(served, '/file/a', { headers: { range: 'bytes=4-' } });
    assert.equal(part.answer.status, 206);
    assert.equal(part.answer.body.toString(), 'text');
    assert.equal(part.answer.headers['content-range'], 'bytes 4-7/8');
    assert.deepEqual(part.operations, ['GetObject']);
  });

  it('for the beginning of what was not seen, and for all of what was seen to be small, though it be large by now', async (t) => {
    const served = await serveProxied(t);
    const { proxy, port } = served;
    await put(served, 'a', 'the text');
    const ranges = () => proxy.requests.map(({ headers }) => headers.range);
    const unseen = await askedFor(served, '/file/a');
    assert.deepEqual(ranges(), ['bytes=0-6291455']);
    assert.equal(unseen.answer.body.toString(), 'the text');
    const seen = await askedFor(served, '/file/a');
    assert.deepEqual(ranges(), [undefined]);
    assert.equal(seen.answer.body.toString(), 'the text');
    await put(served, 'a', LARGE);
    const followed = await follow(await send(port, '/file/a'));
    assert.equal(followed.status, 200);
    assert.ok(followed.body.equals(LARGE));
  });

  it('each time anew, and tells what the file is now', async (t) => {
    const served = await serveProxied(t);
    const described = async () => {
      const { headers, body } = await send(served.port, '/file/a');
      return [headers['content-type'], headers.etag, body.toString()];
    };
    await put(served, 'a', 'one', 'text/plain');
    const first = await described();
    assert.deepEqual(await described(), first);
    await put(served, 'a', 'two', 'text/plain');
    const second = await described();
    assert.deepEqual([second[0], second[2]], [first[0], 'two']);
    assert.notEqual(second[1], first[1]);
    await put(served, 'a', 'two', 'text/css');
    const [type, etag] = await described();
    assert.match(type ?? '', /^text\/css/);
    assert.equal(etag, second[1]);
  });

  it('once, where it is just below the limit', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', JUST_BELOW);
    const { answer, operations } = await askedFor(served, '/file/a');
    assert.equal(answer.status, 200);
    assert.ok(answer.body.equals(JUST_BELOW));
    assert.deepEqual(operations, ['GetObject']);
  });

  it('twice at the most, where it is empty', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', '');
    const { answer, operations } = await askedFor(served, '/file/a');
    assert.equal(answer.status, 200);
    assert.equal(answer.body.length, 0);
    assert.ok(operations.length <= 2, String(operations));
  });

  it('once, where it is large and was not seen, and not at all where it was', async (t) => {
    const served = await serveProxied(t);
    for (const [seen, path] of [
      ['listed', '/'],
      ['looked at', '/file/a'],
    ] as const) {
      await put(served, 'a', LARGE);
      const unseen = await askedFor(served, '/file/a');
      assert.equal(unseen.answer.status, 302);
      assert.ok(unseen.operations.length <= 1, String(unseen.operations));
      // A removal through the service forgets what was seen.
      await send(served.port, '/delete/a', { method: 'DELETE' });
      await put(served, 'a', LARGE);
      await send(served.port, path, { method: path === '/' ? 'GET' : 'HEAD' });
      const { answer, operations } = await askedFor(served, '/file/a');
      assert.equal(answer.status, 302, seen);
      assert.deepEqual(operations, [], seen);
      const followed = await follow(answer);
      assert.equal(followed.status, 200);
      assert.ok(followed.body.equals(LARGE));
      await send(served.port, '/delete/a', { method: 'DELETE' });
    }
  });

  it('once for a HEAD', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', 'the text');
    const { answer, operations } = await askedFor(served, '/file/a', { method: 'HEAD' });
    assert.equal(answer.headers['content-length'], '8');
    assert.deepEqual(operations, ['HeadObject']);
  });

  it('and is a 404 of the store itself, where a large file that was seen was removed behind our back', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', LARGE);
    await send(served.port, '/');
    const { bucket } = served;
    await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'a' }));
    const answer = await send(served.port, '/file/a');
    assert.equal(answer.status, 302);
    const followed = await follow(answer);
    assert.equal(followed.status, 404);
    assert.match(followed.body.toString(), /<Code>NoSuchKey<\/Code>/);
  });
});

describe('The URL of a large file', () => {
  const name = 'a folder/100 % größer "&+.txt';
  const path = `/file/${encodeURIComponent(name)}`;

  it('gives it with its type', async (t) => {
    const served = await serveProxied(t);
    await put(served, name, LARGE, 'text/csv');
    const followed = await follow(await send(served.port, path));
    assert.equal(followed.status, 200);
    assert.equal(followed.headers['content-type'], 'text/csv; charset=utf-8');
    assert.ok(followed.body.equals(LARGE));
  });

  it('shows it where it is inert by its name and by the type that is stored, and as that, whatever else is stored', async (t) => {
    const served = await serveProxied(t);
    for (const [key, stored, type, disposition] of [
      ['a.txt', 'text/plain; charset=gb18030; x=y', 'text/plain; charset=gb18030', /^inline$/],
      ['a.png', 'image/png', 'image/png', /^inline$/],
      ['a.jpg', undefined, 'image/jpeg', /^inline$/],
      ['a.html', 'image/png', 'image/png', /^attachment; filename="a\.html"/],
      ['a.png', 'text/html', 'text/html; charset=utf-8', /^attachment; filename="a\.png"/],
      ['b.png', 'image/svg+xml', 'image/svg+xml', /^attachment; filename="b\.png"/],
    ] as const) {
      await put(served, key, LARGE, stored);
      // A listing tells no types: what it makes the service believe of the file does not count.
      await send(served.port, '/');
      for (const method of ['GET', 'HEAD']) {
        const { headers } = await follow(await send(served.port, `/file/${key}`, { method }), method);
        assert.equal(headers['content-type'], type, `${method} ${key}, ${stored}`);
        assert.match(headers['content-disposition'] ?? '', disposition, `${method} ${key}, ${stored}`);
      }
    }
  });

  it('asks the store for the type of what was only listed, where it may be shown by its name, and else not', async (t) => {
    const served = await serveProxied(t);
    for (const [key, query, operations] of [
      ['a.png', '', ['HeadObject']],
      ['b.png', '?download=1', []],
      ['c.html', '', []],
    ] as const) {
      await put(served, key, LARGE);
      await send(served.port, '/');
      const asked = await askedFor(served, `/file/${key}${query}`);
      assert.equal(asked.answer.status, 302);
      assert.deepEqual(asked.operations, operations, key);
    }
  });

  it('has the disposition and the type signed', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a.html', LARGE, 'text/html');
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

  it('gives it as an attachment of its name, with ?download=1', async (t) => {
    const served = await serveProxied(t);
    await put(served, name, LARGE);
    const followed = await follow(await send(served.port, `${path}?download=1`));
    assert.equal(followed.status, 200);
    const { 'content-disposition': disposition = '', 'content-type': type } = followed.headers;
    assert.match(disposition, /^attachment; /);
    assert.ok(disposition.includes(`filename*=UTF-8''${encodeURIComponent('100 % größer "&+.txt')}`), disposition);
    assert.equal(type, 'text/plain; charset=utf-8');
  });

  it('gives the type that is stored, also where a listing that tells no types was seen just before', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a.txt', LARGE, 'text/csv');
    await send(served.port, '/');
    const followed = await follow(await send(served.port, '/file/a.txt'));
    assert.match(followed.headers['content-type'] ?? '', /^text\/csv/);
  });

  it('of a HEAD is good for a HEAD', async (t) => {
    const served = await serveProxied(t);
    await put(served, name, LARGE, 'text/csv');
    const answer = await send(served.port, path, { method: 'HEAD' });
    assert.equal(answer.status, 302);
    const followed = await follow(answer, 'HEAD');
    assert.equal(followed.status, 200);
    assert.equal(followed.headers['content-length'], String(LARGE.length));
  });

  it('serves no more than what was signed', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', LARGE);
    await put(served, 'b', LARGE);
    const { headers } = await send(served.port, '/file/a');
    const altered = {
      status: 302,
      body: Buffer.alloc(0),
      headers: { location: headers.location?.replace('/a?', '/b?') },
    };
    assert.equal((await follow(altered)).status, 403);
  });
});

describe('A store that breaks off in the middle of a file', () => {
  it('breaks the answer off, which never looks complete', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a', JUST_BELOW);
    for (const headers of [{ accept: '*/*' }, { range: 'bytes=10-' }] as Record<string, string>[]) {
      served.proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutBehind: 100_000 } : undefined));
      const response = await begin(served.port, '/file/a', { headers }).answer;
      assert.ok(Number(response.headers['content-length']) > 100_000);
      await assert.rejects(within('the end of the answer', buffer(response)), { code: 'ECONNRESET' });
    }
  });

  it('is a 503 of a thumbnail', async (t) => {
    const served = await serveProxied(t);
    await put(served, 'a.png', await plain(BLUE).png().toBuffer(), 'image/png');
    served.proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutBehind: 10 } : undefined));
    const answer = await send(served.port, '/thumb/a.png');
    assertFailure(answer, 503, /./);
    assert.ok(answer.headers['retry-after']);
    served.proxy.intercept(undefined);
    assert.equal((await send(served.port, '/thumb/a.png')).status, 200);
  });

  it('fails a copy that goes through the service, and nothing is there', async (t) => {
    const served = await serveProxied(t);
    const { proxy, store, bucket } = served;
    await put(served, 'a', 'the text');
    proxy.intercept(({ operation }) => (operation === 'GetObject' ? { cutBehind: 3 } : undefined));
    await assert.rejects(async () => store.copy?.(file('a'), file('b'), { replace: false }), ofKind('unavailable'));
    assert.deepEqual(await bucket.keys(), ['a']);
  });
});
