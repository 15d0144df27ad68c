import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { parseArchive } from '../../zip/parse-archive.ts';
import { plant, send, upload } from '../client.ts';
import { served } from '../service.ts';

/** The contents of `GET /-/zip/{path}`. `zip.test.ts` tests the protocol. */
export function zipSuite(): void {
  describe('ZIP archives', () => {
    const large = randomBytes(700_000);
    const service = served(memory, {}, async ({ port }) => {
      await plant(port, {
        'f/a.txt': 'first',
        'f/empty/': null,
        'f/zero': '',
        'f/z.txt': 'last',
        ...Object.fromEntries(NAMES.map((name) => [`f/names/${name}`, name])),
      });
      await upload(port, 'f/large', large);
      await upload(port, 'f/medium', large.subarray(0, 100_000));
    });

    it('contain every file, and are the same in each range', async () => {
      const whole = await send(service.port, '/-/zip/f/');
      assert.equal(whole.status, 200);
      assert.equal(whole.headers['content-length'], String(whole.body.length));
      const entries = new Map(parseArchive(whole.body).map(({ name, content }) => [name, content]));
      assert.deepEqual(entries.get('f/large'), large);
      assert.equal(entries.get('f/medium')?.length, 100_000);
      assert.deepEqual(
        ['f/a.txt', 'f/empty/', 'f/zero', 'f/z.txt'].map((name) => entries.get(name)?.toString()),
        ['first', '', '', 'last'],
      );
      const texts = [...entries].filter(([name]) => name.startsWith('f/names/')).map(([, content]) => String(content));
      assert.deepEqual(texts.toSorted(), NAMES.toSorted());
      const size = whole.body.length;
      for (const start of [1, Math.floor(size / 3), Math.floor(size / 2), size - 2000, size - 1]) {
        const headers = { range: `bytes=${start}-`, 'if-range': String(whole.headers.etag) };
        const rest = await send(service.port, '/-/zip/f/', { headers });
        assert.equal(rest.status, 206, String(start));
        assert.ok(rest.body.equals(whole.body.subarray(start)), String(start));
      }
    });

    it('are other archives after a file has changed', async () => {
      const etag = (await send(service.port, '/-/zip/f/', { method: 'HEAD' })).headers.etag;
      await upload(service.port, 'f/medium', large.subarray(1, 100_001));
      const headers = { range: 'bytes=100-', 'if-range': String(etag) };
      const next = await send(service.port, '/-/zip/f/', { headers });
      assert.equal(next.status, 200);
      assert.notEqual(next.headers.etag, etag);
    });
  });
}
