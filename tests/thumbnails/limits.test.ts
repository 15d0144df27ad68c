import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { type ErrorKind, isStoreError, StoreError } from '../../src/model/error.ts';
import type { FileEntry } from '../../src/model/store.ts';
import { allowAllFormats } from '../../src/thumbnails/draw.ts';
import { createGallery, drawnThumbnailOf, thumbnailOf, thumbnailsOf } from './gallery.ts';
import { assertThumbnail, GREEN, noise, plain, quarters, RED, resizedPng, svg } from './images.ts';

// As in a drawing process.
allowAllFormats();

async function refusal(drawing: Promise<Buffer>): Promise<StoreError> {
  try {
    await drawing;
  } catch (error) {
    if (isStoreError(error)) return error;
    throw error;
  }
  return assert.fail('a thumbnail was drawn');
}

async function assertRefused(image: Buffer, kind: ErrorKind, text: RegExp, draw = drawnThumbnailOf): Promise<void> {
  const { kind: actual, message, cause } = await refusal(draw(image, 'in/a file'));
  assert.equal(actual, kind, message);
  assert.match(message, text);
  assert.match(message, /"in\/a file"/);
  assert.doesNotMatch(message, /vips|buffer|header|glib|process/i, 'the text says nothing of internals');
  assert.ok(cause instanceof Error, 'and the cause does');
}

test('rejects a file over 50 MB without opening it', async (t) => {
  const gallery = createGallery();
  const image = gallery.put('large.jpg', await plain(RED).jpeg().toBuffer());
  const claiming = (size: number): FileEntry => ({ ...image, size });
  const thumbnails = thumbnailsOf(t, gallery);
  await assert.rejects(thumbnails.get(claiming(50 * 1024 * 1024 + 1)), (error: unknown) => {
    assert.ok(isStoreError(error, 'too-large'));
    assert.match(error.message, /"large.jpg" has 52428801 bytes.*50 MB/);
    return true;
  });
  assert.deepEqual(gallery.reads, []);
  await assert.rejects(thumbnails.get(claiming(50 * 1024 * 1024)), { kind: 'unavailable' });
  assert.deepEqual(gallery.reads, ['large.jpg'], 'a file of exactly 50 MB is read');
});

test('rejects an empty file', async (t) => {
  const { kind, message } = await refusal(thumbnailOf(t, Buffer.alloc(0), 'empty.png'));
  assert.equal(kind, 'invalid-request');
  assert.match(message, /"empty.png" is empty/);
});

const NOT_AN_IMAGE = /is not a readable image.* JPEG, PNG, WebP, GIF, AVIF, TIFF and SVG/;
const DAMAGED = /is damaged or incomplete/;
const NOT_READABLE = new RegExp(`${NOT_AN_IMAGE.source}|${DAMAGED.source}`);
const TOO_MANY_PIXELS = /too large.*100 megapixels/;

const others: Record<string, Buffer> = {
  'a text': Buffer.from('These are words, and not a picture.\n'),
  'one byte': Buffer.from([0xff]),
  'a text that speaks of <svg': Buffer.from('the element <svg opens a drawing'),
  'a compressed text': Buffer.from('1f8b0800000000000003cb48cdc9c9070086a6103605000000', 'hex'),
  'a PDF': Buffer.from('%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n'),
  numbers: Buffer.from('3 2\n1 2 3\n4 5 6\n'),
  'a PPM': Buffer.from('P6 2 2 255 \0\0\0\0\0\0\0\0\0\0\0\0'),
  'a BMP': Buffer.concat([Buffer.from('BM'), Buffer.alloc(60)]),
};

for (const [name, content] of Object.entries(others)) {
  test(`rejects ${name}`, () => assertRefused(content, 'invalid-request', NOT_READABLE));
}

test('reports that a text file is not an image', () =>
  assertRefused(Buffer.from('These are words.'), 'invalid-request', NOT_AN_IMAGE));

const makers: Record<string, () => Promise<Buffer>> = {
  JPEG: () => quarters().jpeg().toBuffer(),
  PNG: () => quarters().png({ compressionLevel: 0 }).toBuffer(),
  WebP: () => quarters().webp().toBuffer(),
  GIF: () => noise(3, 120).gif().toBuffer(),
  AVIF: () => quarters().avif({ effort: 0 }).toBuffer(),
  TIFF: () => quarters().tiff({ compression: 'none' }).toBuffer(),
};

for (const [format, make] of Object.entries(makers)) {
  test(`rejects a ${format} that contains only its beginning`, async () => {
    const whole = await make();
    for (const length of [20, 60]) {
      await assertRefused(whole.subarray(0, length), 'invalid-request', NOT_READABLE);
    }
  });

  test(`survives a ${format} with corrupted content`, async () => {
    const whole = await make();
    await assertDrawnOrRefused(whole.subarray(0, -10));
    whole.fill(0x5a, Math.floor(whole.length / 3));
    await assertDrawnOrRefused(whole);
  });
}

async function assertDrawnOrRefused(image: Buffer): Promise<void> {
  try {
    await assertThumbnail(await drawnThumbnailOf(image));
  } catch (error) {
    if (!isStoreError(error, 'invalid-request')) throw error;
    assert.match(error.message, NOT_READABLE);
  }
}

test('draws the available part of a truncated image', async () => {
  const jpeg = await quarters(1600, 1200).jpeg({ quality: 100 }).toBuffer();
  const png = await quarters(1600, 1200).png({ compressionLevel: 0 }).toBuffer();
  for (const image of [jpeg, png]) {
    const cut = image.subarray(0, Math.floor(image.length * 0.7));
    await assertThumbnail(await drawnThumbnailOf(cut), [60, 60, RED], [260, 60, GREEN]);
  }
});

test('rejects an image with dimensions but no pixel data', async () => {
  const jpeg = await quarters(1600, 1200).jpeg().toBuffer();
  const startOfScan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  await assertRefused(jpeg.subarray(0, startOfScan + 16), 'invalid-request', DAMAGED);
  const png = await quarters(1600, 1200).png().toBuffer();
  await assertRefused(png.subarray(0, png.indexOf('IDAT') + 8), 'invalid-request', DAMAGED);
});

test('draws an image of a single colour', async () => {
  const white = await plain([255, 255, 255]).jpeg().toBuffer();
  await assertThumbnail(await drawnThumbnailOf(white), [160, 160, [255, 255, 255]]);
});

test('rejects one row more than 100 megapixels', async () => {
  const larger = resizedPng(await plain(RED).png().toBuffer(), 10_000, 10_001);
  await assertRefused(larger, 'too-large', /10000 × 10001 pixels.*100 megapixels/);
});

test('draws only the first of thousands of frames', async () => {
  const gif = await plain(RED).gif().toBuffer();
  // A frame begins with a Graphic Control Extension or an Image Descriptor; the last byte ends the file.
  const begin = [Buffer.from([0x21, 0xf9]), Buffer.from([0x2c, 0, 0, 0, 0])].map((mark) => gif.indexOf(mark));
  const start = Math.min(...begin.filter((index) => index !== -1));
  const frame = gif.subarray(start, -1);
  const count = 5000;
  const animation = Buffer.concat([
    gif.subarray(0, start),
    ...Array.from({ length: count }, () => frame),
    gif.subarray(-1),
  ]);
  const { pages } = await sharp(animation).metadata();
  assert.equal(pages, count);
  await assertThumbnail(await drawnThumbnailOf(animation), [160, 160, RED]);
});

const bombs: Record<string, () => Promise<Buffer> | Buffer> = {
  async JPEG() {
    const jpeg = await plain(RED).jpeg().toBuffer();
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.writeUInt16BE(65_500, frame + 5);
    jpeg.writeUInt16BE(65_500, frame + 7);
    return jpeg;
  },
  PNG: async () => resizedPng(await plain(RED).png().toBuffer(), 1_000_000, 1_000_000),
  async GIF() {
    const gif = await plain(RED).gif().toBuffer();
    for (const offset of [6, 8]) gif.writeUInt16LE(65_535, offset);
    const frame = gif.indexOf(Buffer.from([0x2c, 0, 0, 0, 0]));
    for (const offset of [5, 7]) gif.writeUInt16LE(65_535, frame + offset);
    return gif;
  },
  async WebP() {
    const webp = await plain(RED).webp().toBuffer();
    const frame = webp.indexOf('VP8 ');
    for (const offset of [14, 16]) webp.writeUInt16LE(16_383, frame + offset);
    return webp;
  },
  async AVIF() {
    const avif = await plain(RED).avif().toBuffer();
    const extent = avif.indexOf('ispe');
    for (const offset of [8, 12]) avif.writeUInt32BE(200_000, extent + offset);
    return avif;
  },
  async TIFF() {
    const tiff = await plain(RED).tiff().toBuffer();
    const directory = tiff.readUInt32LE(4);
    for (let entry = 0; entry < tiff.readUInt16LE(directory); entry++) {
      const offset = directory + 2 + 12 * entry;
      // ImageWidth and ImageLength, as LONG.
      if (![256, 257].includes(tiff.readUInt16LE(offset))) continue;
      tiff.writeUInt16LE(4, offset + 2);
      tiff.writeUInt32LE(1_000_000, offset + 8);
    }
    return tiff;
  },
  'SVG by its size': () => svg('', 'width="20000" height="20000"'),
  'SVG by its view box': () => svg('', 'viewBox="0 0 20000 20000"'),
  'SVG in metres': () => svg('', 'width="20000cm" height="20000cm"'),
  'SVG of a size beyond integers': () => svg('', 'width="1e30" height="1e30"'),
  'SVG of a size beyond libvips': () => svg('<path d="M0 0h1v1z"/>', 'width="1e9" height="1e9"'),
  'SVG that is too wide': () => svg('', 'width="40000" height="330"'),
};

test('rejects an AVIF of more than 50 megapixels, in a drawing process', async (t) => {
  const avif = await plain(RED).avif().toBuffer();
  const extent = avif.indexOf('ispe');
  avif.writeUInt32BE(8000, extent + 8);
  avif.writeUInt32BE(6251, extent + 12);
  const apart = (image: Buffer, path: string | undefined) => thumbnailOf(t, image, path);
  await assertRefused(avif, 'too-large', /8000 × 6251 pixels.*AVIF images of up to 50 megapixels/, apart);
});

for (const [format, make] of Object.entries(bombs)) {
  test(`rejects a huge ${format}`, async () => assertRefused(await make(), 'too-large', TOO_MANY_PIXELS));
}

test('asks for a retry after a drawing that does not finish in time, and starts the next one after it ends', async (t) => {
  const gallery = createGallery();
  const withShortDeadline = thumbnailsOf(t, gallery, { maxRenders: 1, deadlineMs: 1 });
  const image = gallery.put('photograph.png', await noise(2, 1500).png().toBuffer());
  for (let time = 0; time < 2; time++) {
    await assert.rejects(withShortDeadline.get(image), (error: unknown) => {
      assert.ok(isStoreError(error, 'unavailable'), String(error));
      assert.deepEqual([error.code, error.retryAfter], ['thumbnail-failed', 5]);
      return true;
    });
  }
  assert.equal(gallery.reads.length, 2, 'nothing is cached');
  await withShortDeadline.close();
  const { queue, process } = sharp.counters();
  assert.deepEqual({ queue, process }, { queue: 0, process: 0 });
});
