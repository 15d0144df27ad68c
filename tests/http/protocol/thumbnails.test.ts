import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import {
  assertThumbnail,
  BLUE,
  type Colour,
  GREEN,
  plain,
  quarters,
  RED,
  resizedPng,
  svg,
  YELLOW,
} from '../../thumbnails/images.ts';
import { assertFailure, escapePath, plant, send, upload } from '../client.ts';
import { served, startService } from '../service.ts';

/** The positions of the colours of `quarters` on a thumbnail. */
const QUARTERS: [number, number, Colour][] = [
  [60, 60, RED],
  [260, 60, GREEN],
  [60, 260, BLUE],
  [260, 260, YELLOW],
];

const rectangle = (x: number, y: number, colour: Colour) =>
  `<rect x="${x}" y="${y}" width="300" height="200" fill="rgb(${colour.join(',')})"/>`;

const SVG = svg(
  rectangle(0, 0, RED) + rectangle(300, 0, GREEN) + rectangle(0, 200, BLUE) + rectangle(300, 200, YELLOW),
);

describe('thumbnails', () => {
  const service = served(memory, {}, async () => {
    await upload(service.port, 'a b/quarters.png', await quarters().png().toBuffer());
  });

  const get = (path: string, headers?: Record<string, string>, method = 'GET') =>
    send(service.port, `/thumb/${path}`, { method, headers });
  const PATH = 'a%20b/quarters.png';

  describe('returns a picture', () => {
    it('crops portrait and landscape images at both ends', async () => {
      const [r, g, b] = BLUE;
      for (const [path, sides] of [
        ['wide.png', { left: 200, right: 200 }],
        ['long.png', { top: 200, bottom: 200 }],
      ] as const) {
        const image = plain(RED, 200, 200).extend({ ...sides, background: { r, g, b } });
        await upload(service.port, path, await image.png().toBuffer());
        await assertThumbnail((await get(path)).body, [10, 10, RED], [310, 10, RED], [10, 310, RED], [310, 310, RED]);
      }
    });

    it('HEAD returns the headers of GET', async () => {
      const [whole, head] = [await get(PATH), await get(PATH, {}, 'HEAD')];
      assert.equal(head.status, 200);
      assert.equal(head.body.length, 0);
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control'] as const) {
        assert.equal(head.headers[name], whole.headers[name], name);
      }
    });

    const formats: Readonly<Record<string, () => Promise<Buffer>>> = {
      JPEG: () => quarters().jpeg().toBuffer(),
      SVG: async () => SVG,
    };
    // tests/thumbnails draws all formats.
    for (const [format, image] of Object.entries(formats)) {
      it(`of ${format}, detected by content and not by name`, async () => {
        const value = await image();
        for (const path of [`formats/x.${format.toLowerCase()}`, `formats/${format}.txt`]) {
          await upload(service.port, path, value);
          const { status, body } = await get(path);
          assert.equal(status, 200, body.toString());
          await assertThumbnail(body, ...QUARTERS);
        }
      });
    }

    it('of files with every name', async () => {
      const image = await plain(RED, 32, 32).png().toBuffer();
      // `/file/`, whose paths have the same parser, is tested with every name.
      for (const name of NAMES.filter((each) => /[%#?\\]|文|^x/.test(each))) {
        await upload(service.port, `names/${name}`, image);
        const { status, headers } = await get(`names/${escapePath(name)}`);
        assert.deepEqual([status, headers['content-type']], [200, 'image/jpeg'], name);
      }
    });

    it('returns the same thumbnail to concurrent requests', async () => {
      await upload(service.port, 'many.png', await quarters(900, 900).png().toBuffer());
      const responses = await Promise.all(Array.from({ length: 12 }, () => get('many.png')));
      const [first] = responses;
      for (const { status, body } of responses) {
        assert.equal(status, 200);
        assert.ok(first?.body.equals(body));
      }
    });
  });

  describe('evaluates preconditions', () => {
    it('returns a stable ETag that differs from that of the image', async () => {
      const [first, second] = [await get(PATH), await get(PATH)];
      assert.equal(first.headers.etag, second.headers.etag);
      assert.notEqual(first.headers.etag, (await send(service.port, `/file/${PATH}`)).headers.etag);
    });

    for (const [what, status, condition] of [
      ['If-None-Match with the ETag', 304, (etag: string) => ({ 'if-none-match': etag })],
      ['If-None-Match with the ETag as a weak one', 304, (etag: string) => ({ 'if-none-match': `W/${etag}` })],
      ['If-None-Match with the ETag in a list', 304, (etag: string) => ({ 'if-none-match': `"other", ${etag}` })],
      ['If-None-Match: *', 304, () => ({ 'if-none-match': '*' })],
      ['If-None-Match with another ETag', 200, () => ({ 'if-none-match': '"other"' })],
      ['If-Match with the ETag', 200, (etag: string) => ({ 'if-match': etag })],
      ['If-Match with another ETag', 412, () => ({ 'if-match': '"other"' })],
    ] as const) {
      it(`${what} returns ${status}`, async () => {
        const etag = String((await get(PATH)).headers.etag);
        const response = await get(PATH, condition(etag));
        assert.equal(response.status, status);
        assert.equal((await get(PATH, condition(etag), 'HEAD')).status, status);
        if (status === 412) return assertFailure(response, 412, /ETag/);
        assert.equal(response.headers.etag, etag);
        // A cache updates its stored headers from a 304 response (RFC 9111, section 3.2).
        assert.equal(response.headers['content-type'], status === 200 ? 'image/jpeg' : undefined);
        assert.equal(response.body.length > 0, status === 200);
      });
    }

    it('ignores the ETag of the image', async () => {
      const { headers } = await send(service.port, `/file/${PATH}`);
      assert.equal((await get(PATH, { 'if-none-match': String(headers.etag) })).status, 200);
    });
  });

  describe('reject', () => {
    before(async () => {
      const png = await quarters().png().toBuffer();
      await plant(service.port, { 'bad/text.txt': 'just text', 'bad/empty.png': '' });
      await upload(service.port, 'bad/broken.svg', SVG.subarray(0, 150));
      await upload(service.port, 'bad/head.png', png.subarray(0, 40));
      await upload(service.port, 'bad/huge.png', resizedPng(png, 20_000, 20_000));
    });

    for (const name of ['text.txt', 'empty.png', 'broken.svg', 'head.png']) {
      it(`bad/${name} is not a readable image and returns 400`, async () => {
        for (const attempt of ['first', 'second']) {
          const response = await get(`bad/${name}`);
          assertFailure(response, 400, new RegExp(`"bad/${name.replace('.', '\\.')}"`));
          assert.equal(response.headers.etag, undefined, attempt);
        }
        const head = await get(`bad/${name}`, {}, 'HEAD');
        assert.deepEqual([head.status, head.body.length], [400, 0]);
      });
    }

    it('returns 400 whatever the preconditions (RFC 9110, section 13.2.1)', async () => {
      for (const [header, value] of [
        ['if-none-match', '*'],
        ['if-match', '"other"'],
      ] as const) {
        assertFailure(await get('bad/text.txt', { [header]: value }), 400, /text\.txt/);
      }
    });

    it('returns 413 over 100 megapixels', async () =>
      assertFailure(await get('bad/huge.png'), 413, /20000.*100 megapixels/));

    it('returns 413 over 50 MB without reading the file', async () => {
      const large = await startService(memory, {
        wrap: (store) => ({
          ...store,
          stat: async (file) => ({ ...(await store.stat(file)), size: 50 * 1024 * 1024 + 1 }),
          read: async () => assert.fail('The file was read.'),
        }),
      });
      try {
        await upload(large.port, 'large.png', 'x');
        assertFailure(await send(large.port, '/thumb/large.png'), 413, /52428801 bytes.*50 MB/);
      } finally {
        await large.stop();
      }
    });

    for (const path of ['missing.png', 'missing/deep.png', 'a%20b', `${PATH}/x`, 'quarters.png']) {
      it(`/thumb/${path} returns 404`, async () => assertFailure(await get(path), 404, /does not exist/));
    }

    for (const [path, error] of [
      ['', /empty/],
      ['a%20b/', /empty segment/],
      [`a%20b//quarters.png`, /empty segment/],
      [`../thumb/${PATH}`, /segment "\.\."/],
      ['a%20b/%2e%2e/quarters.png', /segment "\.\."/],
      ['a%00.png', /control character/],
      ['%ff.png', /UTF-8/],
    ] as const) {
      it(`/thumb/${path} returns 400 with the rule`, async () => assertFailure(await get(path), 400, error));
    }
  });
});
