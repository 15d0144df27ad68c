import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { memory } from '../../contract/backend.ts';
import { quarters } from '../../thumbnails/images.ts';
import { assertFailure, jsonOf, plant, send, upload } from '../client.ts';
import { served } from '../service.ts';

async function sizeOf(image: Buffer): Promise<[number, number]> {
  const { width, height } = await sharp(image).metadata();
  return [width, height];
}

describe('GET /-/preview/{path}', () => {
  const service = served(memory, {}, async () => {
    await upload(service.port, 'a b/quarters.jpg', await quarters(1200, 800).jpeg().toBuffer());
    await plant(service.port, { 'text.txt': 'just text', 'empty.jpg': '' });
  });

  const PATH = 'a%20b/quarters.jpg';
  const get = (query = 'width=320', headers: Record<string, string> = {}, method = 'GET') =>
    send(service.port, `/-/preview/${PATH}${query && `?${query}`}`, { method, headers });

  it('returns the whole image in the format that the client prefers', async () => {
    assert.equal((await get()).headers['content-type'], 'image/webp');
    const formats: [accept: string, type: string][] = [
      ['*/*', 'webp'],
      ['image/*', 'webp'],
      ['image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8', 'webp'],
      ['image/webp,image/avif,image/jxl,image/*;q=0.8,*/*;q=0.5', 'webp'],
      ['image/avif', 'avif'],
      ['image/avif,*/*;q=0.5', 'avif'],
      ['image/avif;q=1,image/webp;q=0.9', 'avif'],
      ['image/avif;q=0.8,image/webp', 'webp'],
      ['image/avif;q=0', 'webp'],
      ['text/html', 'webp'],
    ];
    for (const [accept, type] of formats) {
      const { status, headers, body } = await get('width=320', { accept });
      assert.deepEqual([status, headers['content-type'], headers.vary], [200, `image/${type}`, 'Accept'], accept);
      assert.equal(headers['content-length'], String(body.length));
      assert.equal(headers['cache-control'], 'private, no-cache');
      // The service process does not open AVIF files.
      if (type === 'avif') assert.equal(body.toString('latin1', 4, 12), 'ftypavif');
      else assert.deepEqual(await sizeOf(body), [320, 213], accept);
    }
  });

  it('has another ETag for each width and format, which differs from that of the thumbnail', async () => {
    const etags = [
      await get('width=320'),
      await get('width=640'),
      await get('width=320', { accept: 'image/avif' }),
      await send(service.port, `/thumb/${PATH}`),
    ].map(({ headers }) => headers.etag);
    assert.equal(new Set(etags).size, etags.length);
  });

  it('evaluates preconditions, and returns the headers of GET to HEAD', async () => {
    const first = await get();
    const etag = String(first.headers.etag);
    const unchanged = await get('width=320', { 'if-none-match': etag });
    assert.deepEqual([unchanged.status, unchanged.body.length, unchanged.headers.vary], [304, 0, 'Accept']);
    assert.equal((await get('width=640', { 'if-none-match': etag })).status, 200);
    assertFailure(await get('width=320', { 'if-match': '"other"' }), 412, /ETag of the preview is/);
    const head = await get('width=320', {}, 'HEAD');
    assert.deepEqual([head.status, head.body.length], [200, 0]);
    for (const name of ['content-type', 'content-length', 'etag', 'vary', 'cache-control'] as const) {
      assert.equal(head.headers[name], first.headers[name], name);
    }
  });

  it('ignores the parameter that makes URLs of the web UI unique', async () => {
    assert.equal((await get('width=320&v=%22x%22')).status, 200);
  });

  it('returns 400 that names the widths for any other width', async () => {
    assertFailure(await get(''), 400, /lacks "width"/);
    for (const query of ['width=', 'width=0', 'width=321', 'width=640.0', 'width=-320', 'width=1e3', 'width=%2B320']) {
      const response = await get(query);
      assertFailure(response, 400, /width.*320, 640, 1024, 1600, 2560/s);
      assert.equal(jsonOf(response)['code'], 'invalid-parameter');
    }
    assertFailure(await get('width=320&width=640'), 400, /width/);
  });

  it('returns the errors of thumbnails', async () => {
    const of = (path: string) => send(service.port, `/-/preview/${path}?width=320`);
    assertFailure(await of('missing.jpg'), 404, /missing\.jpg/);
    assertFailure(await of('a%20b/'), 400, /empty segment/);
    assertFailure(await of('%2e%2e/x'), 400, /segment "\.\."/);
    for (const path of ['text.txt', 'empty.jpg']) {
      const response = await of(path);
      assert.deepEqual([response.status, jsonOf(response)['code']], [400, 'unsupported-image']);
      assert.equal(response.headers.etag, undefined);
    }
  });
});
