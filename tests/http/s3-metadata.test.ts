import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { attributesOf } from '../../testing/servers/objects.ts';
import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { quarters } from '../thumbnails/images.ts';
import { jsonOf, listed, postForm, send } from './client.ts';
import { startService, type TestService } from './service.ts';

export const needs: readonly Need[] = ['bucket'];

describe('Objects that other programs stored', () => {
  let bucket: TestBucket;
  let service: TestService;
  before(async () => {
    bucket = await createBucket();
    const store = openS3({ ...bucket.settings, warn: () => {} });
    const close = async () => {
      await store.close?.();
      await bucket.remove();
    };
    service = await startService({ ...s3, open: async () => ({ store, close }) }, { hasJobs: true });
  });
  after(() => service.stop());

  const put = (Key: string, Body: Buffer, metadata: Partial<ConstructorParameters<typeof PutObjectCommand>[0]>) =>
    bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key, Body, ...metadata }));
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(service.port, path, { method, headers });
  const copy = (source: string, destination: string) =>
    send(service.port, '/copy', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ source, destination, is_folder: false }),
    });
  const metadataOf = async (key: string) => {
    const { attributes } = await attributesOf({ bucket }, key);
    return 'Metadata' in attributes ? (attributes.Metadata as Record<string, string>) : {};
  };

  describe('modification times', () => {
    const TIME = 'Tue, 27 Nov 2012 18:15:05 GMT';

    it('reads the times of rclone and s3fs, and ignores anything else', async () => {
      for (const [mtime, expected] of [
        ['1354040105.123456789', TIME],
        ['1354040105', TIME],
        ['-1.5', 'Wed, 31 Dec 1969 23:59:58 GMT'],
        ['2012-11-27T18:15:05Z', undefined],
        ['999999999999', undefined],
        ['', undefined],
      ] as const) {
        await put('times/a', Buffer.from('text'), { Metadata: { mtime } });
        for (const method of ['GET', 'HEAD']) {
          const { headers } = await get('/file/times/a', {}, method);
          const sent = String(headers['last-modified']);
          if (expected === undefined) assert.ok(Date.parse(sent) > Date.parse('2026-01-01'), `${mtime}: ${sent}`);
          else assert.equal(sent, expected, mtime);
        }
      }
    });

    it('revalidates by the time, but not after a replacement by an older version', async () => {
      await put('times/b', Buffer.from('text'), { Metadata: { mtime: '1354040105.9' } });
      assert.equal((await get('/file/times/b', { 'if-modified-since': TIME })).status, 304);
      await put('times/b', Buffer.from('older'), { Metadata: { mtime: '1354040000' } });
      assert.equal((await get('/file/times/b', { 'if-modified-since': TIME })).status, 200);
      assert.equal((await get('/file/times/b', { range: 'bytes=0-0', 'if-range': TIME })).status, 200);
      // A listing has no metadata.
      const { modified } = await listed(service.port, 'times/b');
      assert.ok(Date.parse(String(modified)) > Date.parse('2026-01-01'));
    });

    it('stores the time of an upload like rclone, on every way, and keeps it', async () => {
      const time = '2014-07-18T05:01:32.500Z';
      const file = { name: 'file', filename: 'form', value: 'x' };
      const stored = await postForm(service.port, [
        { name: 'modified', value: time },
        { ...file, type: 'text/plain' },
      ]);
      assert.equal(stored.headers['x-oc-mtime'], 'accepted');
      const headers = { 'x-oc-mtime': '1405659692.5' };
      for (const path of ['/file/put', '/-/dav/dav'])
        await send(service.port, path, { method: 'PUT', headers, body: 'x' });
      const large = Buffer.alloc(9 * 2 ** 20, 'x');
      await send(service.port, '/file/parts', { method: 'PUT', headers, body: large });
      const encoded = Buffer.from('parts-tus').toString('base64');
      for (const [path, body] of [
        ['tus', 'x'],
        ['parts-tus', large],
      ] as const) {
        const name = path === 'tus' ? Buffer.from(path).toString('base64') : encoded;
        const metadata = `path ${name},modified ${Buffer.from(time).toString('base64')}`;
        const created = await send(service.port, '/-/uploads', {
          method: 'POST',
          headers: {
            'tus-resumable': '1.0.0',
            'upload-length': String(body.length),
            'upload-metadata': metadata,
            'content-type': 'application/offset+octet-stream',
          },
          body,
        });
        assert.equal(created.status, 201);
        assert.equal(created.headers['x-oc-mtime'], 'accepted', path);
      }
      const paths = ['form', 'put', 'dav', 'parts', 'tus', 'parts-tus'];
      for (const path of paths) assert.deepEqual(await metadataOf(path), { mtime: '1405659692.5' }, path);
      assert.equal((await copy('parts', 'copied')).status, 200);
      assert.equal((await get('/file/put', {}, 'HEAD')).headers['last-modified'], 'Fri, 18 Jul 2014 05:01:32 GMT');
      assert.deepEqual(
        await metadataOf('copied').then((found) => found && 'mtime' in found && found.mtime),
        '1405659692.5',
      );
    });
  });

  describe('compressed with gzip', () => {
    const TEXT = Buffer.from('body { color: red }\n'.repeat(20));
    const STORED = gzipSync(TEXT);
    before(() => put('a.css', STORED, { ContentType: 'text/css', ContentEncoding: 'gzip' }));

    it('are sent with their coding, with length, ranges and ETag of the stored bytes', async () => {
      for (const headers of [{}, { 'accept-encoding': 'br, gzip' }, { 'accept-encoding': '*' }] as Record<
        string,
        string
      >[]) {
        for (const path of ['/file/a.css', '/-/dav/a.css']) {
          const response = await get(path, headers);
          assert.equal(response.headers['content-encoding'], 'gzip');
          assert.equal(response.headers['content-length'], String(STORED.length));
          assert.match(String(response.headers.vary), /Accept-Encoding/);
          assert.ok(gunzipSync(response.body).equals(TEXT));
          const head = await get(path, headers, 'HEAD');
          for (const name of ['content-encoding', 'content-length', 'etag', 'vary', 'content-type'])
            assert.equal(head.headers[name], response.headers[name], name);
          const part = await get(path, { ...headers, range: 'bytes=2-5' });
          assert.equal(part.status, 206);
          assert.equal(part.headers['content-range'], `bytes 2-5/${STORED.length}`);
          assert.ok(part.body.equals(STORED.subarray(2, 6)));
          const etag = String(response.headers.etag);
          assert.equal((await get(path, { ...headers, 'if-none-match': etag })).status, 304);
        }
      }
    });

    it('are decoded for a client that does not accept the coding', async () => {
      for (const [coding, Body] of [
        ['gzip', STORED],
        ['aws-chunked,x-gzip', STORED],
        ['br', brotliCompressSync(TEXT)],
      ] as const) {
        await put('b.css', Body, { ContentType: 'text/css', ContentEncoding: coding });
        for (const accepted of ['identity', '', 'gzip;q=0, br;q=0']) {
          const headers = { 'accept-encoding': accepted };
          const whole = await get('/file/b.css', headers);
          assert.ok(whole.body.equals(TEXT), `${coding}: ${accepted}`);
          assert.equal(whole.headers['content-encoding'], undefined);
          assert.equal(whole.headers['content-length'], undefined);
          assert.match(String(whole.headers.etag), /^W\//);
          // Browsers accept only the identity of a range.
          const part = await get('/file/b.css', { ...headers, range: 'bytes=0-3' });
          assert.equal(part.status, 200);
          assert.ok(part.body.equals(TEXT));
          const head = await get('/file/b.css', headers, 'HEAD');
          assert.equal(head.headers['content-length'], undefined);
          assert.equal(head.headers.etag, whole.headers.etag);
          assert.equal(
            (await get('/file/b.css', { ...headers, 'if-none-match': String(whole.headers.etag) })).status,
            304,
          );
        }
      }
    });

    it('are sent as they are if HTTP does not define the coding', async () => {
      await put('c.txt', TEXT, { ContentEncoding: 'utf-8' });
      const { headers, body } = await get('/file/c.txt', { 'accept-encoding': 'identity' });
      assert.equal(headers['content-encoding'], undefined);
      assert.ok(body.equals(TEXT));
    });

    it('have thumbnails, and stay compressed in copies and versions', async () => {
      const png = await quarters().png().toBuffer();
      await put('image.png', gzipSync(png), { ContentType: 'image/png', ContentEncoding: 'gzip' });
      assert.equal((await get('/thumb/image.png')).status, 200);
      await put('broken.png', png, { ContentType: 'image/png', ContentEncoding: 'gzip' });
      assert.equal((await get('/thumb/broken.png')).status, 400);
      await copy('a.css', 'copy.css');
      assert.equal((await get('/file/copy.css')).headers['content-encoding'], 'gzip');
      await send(service.port, '/file/copy.css', { method: 'PUT', body: 'plain' });
      assert.equal((await get('/file/copy.css')).headers['content-encoding'], undefined);
      const { versions } = jsonOf(await get('/-/versions/copy.css')) as { versions: { id: string }[] };
      const version = await get(`/file/copy.css?version=${versions[0]?.id}`);
      assert.equal(version.headers['content-encoding'], 'gzip');
      assert.ok(gunzipSync(version.body).equals(TEXT));
    });
  });
});
