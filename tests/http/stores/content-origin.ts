import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { followLocation, send, upload } from '../client.ts';
import { served } from '../service.ts';

const LARGE = Buffer.alloc(6 * 1024 * 1024, '<!doctype html><script>alert(1)</script>');

const ORIGIN = 'http://contents.localhost:8080';
const HOST = { host: 'contents.localhost:8080' };

/** A service with CONTENT_ORIGIN, which redirects downloads to that origin, or to the store. */
export function contentOriginSuite(backend: Backend): void {
  describe(`With CONTENT_ORIGIN: ${backend.name}`, () => {
    const options = { contentOrigin: ORIGIN, publicUrl: 'https://files.example.org/below/', presignExpires: 604_800 };
    const service = served(backend, options, ({ port }) => upload(port, 'a b/é.txt', 'the text'));
    const get = (path: string, headers: Record<string, string> = {}) => send(service.port, path, { headers });

    it('serves a small file from there', async () => {
      const { status, headers } = await get('/file/a%20b/%C3%A9.txt');
      assert.equal(status, 302);
      const { origin, pathname, search } = new URL(String(headers.location));
      assert.equal(origin, ORIGIN);
      const response = await get(pathname + search, HOST);
      assert.deepEqual([response.status, response.body.toString()], [200, 'the text']);
    });

    it('redirects a large file to the store or to the content origin', async () => {
      await upload(service.port, 'large.txt', LARGE);
      const { status, headers } = await get('/file/large.txt');
      assert.equal(status, 302);
      const location = String(headers.location);
      const isThere = location.startsWith(ORIGIN) && location.includes('/-/signed/');
      const { pathname, search } = new URL(location);
      const response = isThere ? await get(pathname + search, HOST) : await followLocation(service.port, '/', location);
      assert.equal(response.status, 200);
      assert.ok(response.body.equals(LARGE));
    });
  });
}
