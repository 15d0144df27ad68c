import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { allowAllFormats, drawRendition } from '../../src/thumbnails/draw.ts';
import {
  nameOfRendition,
  PREVIEW_FORMATS,
  PREVIEW_WIDTHS,
  type PreviewFormat,
  type PreviewWidth,
  type Rendition,
  renditionOfName,
  THUMBNAIL,
} from '../../src/thumbnails/renditions.ts';
import { renditionEtag } from '../../src/thumbnails/thumbnails.ts';
import { createGallery, temporaryFolder, thumbnailsOf } from './gallery.ts';
import { BLUE, type Colour, GREEN, noise, plain, quarters, RED, svg, YELLOW } from './images.ts';

// As in a drawing process, so that this process can draw and check images of all formats.
allowAllFormats();

const preview = (width: PreviewWidth, format: PreviewFormat = 'webp'): Rendition => ({
  kind: 'preview',
  width,
  format,
});

const draw = (image: Buffer, width: PreviewWidth, format?: PreviewFormat) =>
  drawRendition(image, preview(width, format), 60_000);

/** Returns the dimensions of an image. Fails unless it has the format, and is in sRGB without a profile or metadata. */
async function sizeOf(image: Buffer, format: 'webp' | 'heif' = 'webp'): Promise<string> {
  const metadata = await sharp(image).metadata();
  assert.deepEqual([metadata.format, metadata.space, metadata.hasProfile], [format, 'srgb', false]);
  assert.deepEqual([metadata.exif, metadata.orientation, metadata.xmp], [undefined, undefined, undefined]);
  return `${metadata.width} × ${metadata.height}`;
}

/** Fails unless the quarters of an image have these colours. */
async function assertQuarters(image: Buffer, ...expected: Colour[]): Promise<void> {
  const { data, info } = await sharp(image).raw().toBuffer({ resolveWithObject: true });
  const places = [0.25, 0.75].flatMap((y) => [0.25, 0.75].map((x) => ({ x, y })));
  for (const [index, { x, y }] of places.entries()) {
    const offset = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
    const colour = expected[index] ?? [];
    for (const [channel, value] of colour.entries()) {
      assert.ok(Math.abs((data[offset + channel] ?? Number.NaN) - value) <= 12, `quarter ${index + 1}`);
    }
  }
}

const QUARTERS = [RED, GREEN, BLUE, YELLOW];

test('keeps the aspect ratio within the width and twice the width as height', async () => {
  const sizes: [number, number, PreviewWidth, string][] = [
    [1200, 800, 320, '320 × 213'],
    [800, 1200, 640, '640 × 960'],
    [400, 2000, 320, '128 × 640'],
    [3000, 20, 320, '320 × 2'],
    [30_000, 20, 320, '320 × 1'],
  ];
  for (const [width, height, maxWidth, expected] of sizes) {
    assert.equal(await sizeOf(await draw(await plain(RED, width, height).png().toBuffer(), maxWidth)), expected);
  }
});

test('never enlarges an image, except SVG, which has no pixels', async () => {
  assert.equal(await sizeOf(await draw(await plain(RED, 24, 36).png().toBuffer(), 1024)), '24 × 36');
  assert.equal(await sizeOf(await draw(await plain(RED, 300, 200).jpeg().toBuffer(), 2560)), '300 × 200');
  assert.equal(
    await sizeOf(await draw(svg('<rect width="24" height="12"/>', 'width="24" height="12"'), 640)),
    '640 × 320',
  );
});

test('draws every source format, upright, as WebP and as AVIF', async () => {
  const sources = {
    JPEG: await quarters().jpeg().toBuffer(),
    PNG: await quarters().png().toBuffer(),
    WebP: await quarters().webp().toBuffer(),
    GIF: await quarters().gif().toBuffer(),
    AVIF: await quarters().avif({ effort: 0 }).toBuffer(),
    TIFF: await quarters().tiff().toBuffer(),
  };
  for (const [name, image] of Object.entries(sources)) {
    const drawn = await draw(image, 320);
    assert.equal(await sizeOf(drawn), '320 × 213', name);
    await assertQuarters(drawn, ...QUARTERS);
  }
  const avif = await draw(sources.JPEG, 320, 'avif');
  assert.equal(await sizeOf(avif, 'heif'), '320 × 213');
  await assertQuarters(avif, ...QUARTERS);
});

test('applies the orientation before the limits of width and height', async () => {
  const rotated = await quarters(1200, 400).jpeg().withMetadata({ orientation: 6 }).toBuffer();
  const drawn = await draw(rotated, 320);
  assert.equal(await sizeOf(drawn), '213 × 640');
  await assertQuarters(drawn, BLUE, RED, YELLOW, GREEN);
});

test('keeps transparency, and converts colours of a profile and of 16 bits to sRGB', async () => {
  const transparent = await plain(RED, 300, 200).ensureAlpha(0.5).png().toBuffer();
  const { channels, hasAlpha } = await sharp(await draw(transparent, 320)).metadata();
  assert.deepEqual([channels, hasAlpha], [4, true]);
  const wide = await quarters(600, 400).toColourspace('rgb16').withIccProfile('p3').png().toBuffer();
  const drawn = await draw(wide, 320);
  assert.equal(await sizeOf(drawn), '320 × 213');
  await assertQuarters(drawn, ...QUARTERS);
});

test('draws the readable part of a truncated JPEG, and rejects an unreadable one', async () => {
  const whole = await noise(1, 1000).jpeg().toBuffer();
  assert.equal(await sizeOf(await draw(whole.subarray(0, whole.length / 2), 640)), '640 × 640');
  await assert.rejects(draw(whole.subarray(0, 100), 640), { fault: 'damaged' });
});

test('caches each width and format by itself, in memory and on disk', async (t) => {
  const options = { cacheFolder: await temporaryFolder(t), cacheSize: 2 ** 20 };
  const gallery = createGallery();
  const before = thumbnailsOf(t, gallery, options);
  const file = gallery.put('image', await quarters(1200, 800).png().toBuffer());
  const renditions = [THUMBNAIL, preview(320), preview(640), preview(320, 'avif')];
  const drawn: Buffer[] = [];
  for (const rendition of renditions) drawn.push(await before.get(file, { rendition }));
  assert.deepEqual(await Promise.all(drawn.slice(1, 3).map((image) => sizeOf(image))), ['320 × 213', '640 × 427']);
  assert.equal(await sizeOf(drawn[3] ?? Buffer.alloc(0), 'heif'), '320 × 213');
  for (const [index, rendition] of renditions.entries()) {
    assert.equal(before.peek(file, rendition), drawn[index]);
    assert.equal(await before.get(file, { rendition }), drawn[index]);
  }
  assert.equal(before.peek(file, preview(1024)), undefined);
  assert.equal(gallery.reads.length, renditions.length);
  await before.close();
  const after = thumbnailsOf(t, gallery, options);
  for (const [index, rendition] of renditions.entries()) {
    assert.deepEqual(await after.get(file, { rendition }), drawn[index]);
  }
  assert.equal(gallery.reads.length, renditions.length);
});

test('has a name and an ETag for each rendition', () => {
  const all = [
    THUMBNAIL,
    ...PREVIEW_WIDTHS.flatMap((width) => PREVIEW_FORMATS.map((format) => preview(width, format))),
  ];
  const file = createGallery().put('image', Buffer.from('one'));
  assert.equal(new Set(all.map((rendition) => renditionEtag(file, rendition))).size, all.length);
  for (const rendition of all) assert.deepEqual(renditionOfName(nameOfRendition(rendition)), rendition);
  for (const name of ['', 'preview1-257-webp', 'constructor']) assert.throws(() => renditionOfName(name), TypeError);
});

test('rejects videos and PDFs without reading them if the server has no programs for them', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { stills: ['pdf'] });
  const put = (path: string, type: string) => ({ ...gallery.put(path, Buffer.from('x')), type });
  const refused = { code: 'unsupported-image', message: /"a\.mp4" is a video\. This server has no ffmpeg/ };
  await assert.rejects(thumbnails.get(put('a.mp4', 'video/mp4')), refused);
  await assert.rejects(thumbnails.get({ ...put('a.mp4', 'application/octet-stream'), size: 2 ** 40 }), refused);
  await assert.rejects(thumbnails.get({ ...put('a.pdf', 'application/pdf'), size: 2 ** 40 }), {
    code: 'image-too-large',
  });
  assert.deepEqual(gallery.reads, []);
  // TypeScript has the media type of a video.
  await assert.rejects(thumbnails.get(put('a.ts', 'video/mp2t')), { message: /not a readable image/ });
  assert.deepEqual(gallery.reads, ['a.ts']);
});
