import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { assertThumbnail, BLUE, type Colour, GREEN, plain, quarters, RED, YELLOW } from '../../thumbnails/images.ts';
import { assertFailure, send, upload } from '../client.ts';
import { served } from '../service.ts';

/** Tests `GET /thumb/{path}`. `tests/thumbnails` tests the images. */
export function thumbnailsSuite(): void {
  describe('Thumbnails', () => {
    const service = served(memory, {}, async ({ port }) => {
      await upload(port, 'a b/quarters.png', await quarters().png().toBuffer());
    });

    const get = (path: string, headers?: Record<string, string>, method = 'GET') =>
      send(service.port, `/thumb/${path}`, { method, headers });
    const PATH = 'a%20b/quarters.png';

    describe('return a picture', () => {
      it('returns a JPEG of 320×320 pixels that the image fills', async () => {
        const { status, headers, body } = await get(PATH);
        assert.equal(status, 200);
        assert.equal(headers['content-type'], 'image/jpeg');
        assert.equal(headers['content-length'], String(body.length));
        assert.match(String(headers.etag), /^"[^"]+"$/);
        assert.match(String(headers['x-request-id']), /^[\w.:-]+$/);
        await assertThumbnail(body, ...QUARTERS);
      });

      it('of one version of the file during replacements', async () => {
        const images = await Promise.all([RED, BLUE].map((colour) => plain(colour, 640, 640).png().toBuffer()));
        await upload(service.port, 'changing.png', images[0] ?? '');
        for (let round = 0; round < 5; round++) {
          const replacing = upload(service.port, 'changing.png', images[round % 2] ?? '');
          const responses = await Promise.all(Array.from({ length: 4 }, () => get('changing.png')));
          for (const { status, body } of responses) assert.equal(status, 200, body.toString());
          await replacing;
        }
      });

      it('of images over 6 MB', async () => {
        const image = await quarters(1600, 1400).png({ compressionLevel: 0 }).toBuffer();
        assert.ok(image.length > 6 * 1024 * 1024);
        await upload(service.port, 'large.png', image);
        const { status, body } = await get('large.png');
        assert.equal(status, 200);
        await assertThumbnail(body, ...QUARTERS);
      });
    });

    it('returns 404 for a missing file and a folder, and 400 for a file that is no image', async () => {
      await upload(service.port, 'bad/text.png', 'just text');
      for (const path of ['missing.png', 'missing/deep.png', 'a%20b', `${PATH}/x`, 'quarters.png'])
        assertFailure(await get(path), 404, /does not exist/);
      assertFailure(await get('bad/text.png'), 400, /text\.png/);
    });

    describe('follow changes of the image', () => {
      const replaceWith = async (colour: Colour) =>
        upload(service.port, 'changing.png', await plain(colour, 400, 400).png().toBuffer());

      it('returns another ETag and thumbnail for a replaced image', async () => {
        await replaceWith(RED);
        const first = await get('changing.png');
        await assertThumbnail(first.body, [160, 160, RED]);
        await replaceWith(BLUE);
        const second = await get('changing.png', { 'if-none-match': String(first.headers.etag) });
        assert.equal(second.status, 200);
        assert.notEqual(second.headers.etag, first.headers.etag);
        await assertThumbnail(second.body, [160, 160, BLUE]);
      });

      it('returns 404 after the removal of the image', async () => {
        await replaceWith(GREEN);
        assert.equal((await get('changing.png')).status, 200);
        await send(service.port, '/delete/changing.png', { method: 'DELETE' });
        assertFailure(await get('changing.png'), 404, /changing\.png/);
      });
    });
  });
}

/** The positions of the colours of `quarters` on a thumbnail. */
const QUARTERS: [number, number, Colour][] = [
  [60, 60, RED],
  [260, 60, GREEN],
  [60, 260, BLUE],
  [260, 260, YELLOW],
];
