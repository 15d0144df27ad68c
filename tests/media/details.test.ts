import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import sharp, { type Exif, type Sharp } from 'sharp';
import { bufferSource, fileSource } from '../../src/media/byte-source.ts';
import { readExif } from '../../src/media/exif.ts';
import { readImageDetails } from '../../src/media/image-details.ts';
import { plain, RED, svg } from '../thumbnails/images.ts';
import { rational, tiff } from './exif-data.ts';

const EXIF: Exif = {
  IFD0: { Make: 'Canon', Model: 'Canon EOS R6' },
  IFD2: {
    DateTimeOriginal: '2026:11:01 20:41:00',
    OffsetTimeOriginal: '+01:00',
    ExposureTime: '1/250',
    FNumber: '28/10',
    ISOSpeedRatings: '400',
    FocalLength: '50/1',
    LensModel: 'RF50mm F1.8 STM',
  },
  IFD3: {
    GPSLatitudeRef: 'S',
    GPSLatitude: '52/1 30/1 36/1',
    GPSLongitudeRef: 'E',
    GPSLongitude: '13/1 22/1 30/1',
  },
};

/** The same details as tags. */
const PHOTO_TAGS = {
  0x829a: rational([1, 250]),
  0x829d: rational([28, 10]),
  0x8827: rational([400, 1]),
  0x9003: '2026:11:01 20:41:00',
  0x9011: '+01:00',
  0x920a: rational([50, 1]),
  0xa434: 'RF50mm F1.8 STM',
};
const GPS_TAGS = { 1: 'S', 2: rational([52, 1], [30, 1], [36, 1]), 3: 'E', 4: rational([13, 1], [22, 1], [30, 1]) };

const DETAILS = {
  takenAt: '2026-11-01T20:41:00+01:00',
  camera: 'Canon EOS R6',
  lens: 'RF50mm F1.8 STM',
  focalLength: 50,
  aperture: 2.8,
  exposureTime: 0.004,
  iso: 400,
  location: { latitude: -52.51, longitude: 13.375 },
};

const detailsOf = (image: Buffer) => readImageDetails(bufferSource(image));

test('reads the upright size and the EXIF data of a photo in each format that has it', async () => {
  const photo = (): Sharp => plain(RED, 60, 40).withExif(EXIF).withMetadata({ orientation: 6 });
  const images = {
    JPEG: await photo().jpeg().toBuffer(),
    PNG: await photo().png().toBuffer(),
    WebP: await photo().webp().toBuffer(),
    TIFF: tiff({
      image: { 0x100: [60], 0x101: [40], 0x10f: 'Canon', 0x110: 'Canon EOS R6', 0x112: [6] },
      photo: PHOTO_TAGS,
      gps: GPS_TAGS,
    }),
  };
  for (const [format, image] of Object.entries(images)) {
    assert.deepEqual(await detailsOf(image), { width: 40, height: 60, ...DETAILS }, format);
  }
});

test('reads the size that libvips draws, in every format and orientation', async () => {
  const formats = ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const;
  for (const format of formats) {
    for (const orientation of format === 'gif' ? [1] : [1, 3, 6, 8]) {
      const image = await plain(RED, 60, 40).withMetadata({ orientation }).toFormat(format).toBuffer();
      const { autoOrient } = await sharp(image).metadata();
      assert.deepEqual(await detailsOf(image), autoOrient, `${format}, orientation ${orientation}`);
    }
  }
  const variants = {
    'progressive JPEG': await plain(RED, 60, 40).jpeg({ progressive: true }).toBuffer(),
    'lossless WebP': await plain(RED, 60, 40).webp({ lossless: true }).toBuffer(),
    'WebP with transparency': await plain(RED, 60, 40).ensureAlpha(0.5).webp().toBuffer(),
    'JPEG with a profile': await plain(RED, 60, 40).withIccProfile('p3').jpeg().toBuffer(),
  };
  for (const [name, image] of Object.entries(variants)) {
    assert.deepEqual(await detailsOf(image), { width: 60, height: 40 }, name);
  }
});

test('reads EXIF data of an AVIF, whose own rotation replaces the orientation', async () => {
  const image = await plain(RED, 60, 40).withExif(EXIF).avif({ effort: 0 }).toBuffer();
  const { autoOrient } = await sharp(image).metadata();
  assert.deepEqual(await detailsOf(image), { ...autoOrient, ...DETAILS });
});

test('reads the size of an SVG from its attributes or its view box', async () => {
  const sizes: [attributes: string, size: { width: number; height: number } | undefined][] = [
    ['width="600" height="400"', { width: 600, height: 400 }],
    ["width='60.4px' height='1in' viewBox='0 0 1 1'", { width: 60, height: 96 }],
    ['viewBox="0 0 24 12"', { width: 24, height: 12 }],
    ['viewBox="0,0,24,12" width="48"', { width: 48, height: 24 }],
    ['width="100%" height="100%" viewBox="0 0 24 12"', { width: 24, height: 12 }],
    ['width="100%"', undefined],
    ['data-width="5" data-height="6" width="7" height="8"', { width: 7, height: 8 }],
    ['width="0" height="8"', undefined],
    ['width="1e99" height="8"', undefined],
  ];
  for (const [attributes, size] of sizes) assert.deepEqual(await detailsOf(svg('<g/>', attributes)), size, attributes);
});

test('reads the size of a compressed SVG, also of one that is larger than the part that is read', async () => {
  const noise = Array.from({ length: 20_000 }, (_, index) => `<!--${(index * 7919) % 9973}-->`).join('');
  const image = gzipSync(svg(noise));
  assert.ok(image.length > 8192);
  assert.deepEqual(await detailsOf(image), { width: 600, height: 400 });
  assert.deepEqual(await detailsOf(gzipSync(svg('<g/>'))), { width: 600, height: 400 });
  assert.equal(await detailsOf(Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3])), undefined);
  assert.equal(await detailsOf(gzipSync(Buffer.alloc(1e8))), undefined);
});

test('has no details of other files and damaged headers', async () => {
  const jpeg = await plain(RED, 60, 40).withExif(EXIF).jpeg().toBuffer();
  const avif = await plain(RED, 60, 40).withExif(EXIF).avif({ effort: 0 }).toBuffer();
  for (const text of [
    '',
    'x',
    'plain text',
    '%PDF-1.7',
    '\xff\xd8',
    'RIFF    WEBP',
    'GIF8',
    'II*\0',
    '\0\0\0\x18ftyp',
  ]) {
    assert.equal(await detailsOf(Buffer.from(text, 'latin1')), undefined, text);
  }
  const video = Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isomiso2\0\0\0\x10moov', 'latin1');
  assert.equal(await detailsOf(video), undefined);
  // Truncated or changed anywhere, it returns details or nothing.
  for (const image of [jpeg, avif]) {
    for (let length = 0; length < Math.min(image.length, 1000); length += 7) await detailsOf(image.subarray(0, length));
    for (let position = 0; position < Math.min(image.length, 1000); position += 3) {
      const changed = Buffer.from(image);
      changed[position] = 0xff;
      await detailsOf(changed);
    }
  }
});

test('reads the offset from UTC that some programs append to the time', async () => {
  const takenAt = async (time: string, offset = '') =>
    (await readExif(bufferSource(tiff({ photo: { 0x9003: time, 0x9011: offset } }))))?.details.takenAt;
  assert.equal(await takenAt('2025:01:14 18:31:30+0000'), '2025-01-14T18:31:30+00:00');
  assert.equal(await takenAt('2025-01-14T18:31:30.25-09:30'), '2025-01-14T18:31:30-09:30');
  assert.equal(await takenAt('2025:01:14 18:31:30Z'), '2025-01-14T18:31:30+00:00');
  assert.equal(await takenAt('2025:01:14 18:31:30+0000', '+02:00'), '2025-01-14T18:31:30+02:00');
  assert.equal(await takenAt('2025:01:14 18:31:30+9900'), undefined);
});

test('omits values of EXIF data that can not be true', async () => {
  const read = async (...parts: Parameters<typeof tiff>) => (await readExif(bufferSource(tiff(...parts))))?.details;
  for (const time of [
    '0000:00:00 00:00:00',
    '2026:02:31 10:00:00',
    '2026:13:01 10:00:00',
    '2026:01:01 24:00:00',
    'today',
  ]) {
    assert.deepEqual(await read({ photo: { 0x9003: time } }), {}, time);
  }
  const time = '2026:11:01 20:41:00';
  for (const offset of ['', '   :  ', '+1:00', '+25:00', 'Z']) {
    assert.deepEqual(await read({ photo: { 0x9003: time, 0x9011: offset } }), { takenAt: '2026-11-01T20:41:00' });
  }
  assert.deepEqual(await read({ photo: { 0x9004: time, 0x9012: '-09:30' } }), { takenAt: '2026-11-01T20:41:00-09:30' });
  const numbers = { 0x829a: rational([1, 0]), 0x829d: rational([0, 0]), 0x920a: rational([0, 5]) };
  assert.deepEqual(await read({ photo: numbers }), {});
  const position = { 1: 'N', 2: rational([0, 1], [0, 1], [0, 1]), 3: 'E', 4: rational([0, 1], [0, 1], [0, 1]) };
  assert.deepEqual(await read({ gps: position }), {});
  assert.deepEqual(await read({ gps: { ...position, 2: rational([91, 1], [0, 1], [0, 1]) } }), {});
  assert.deepEqual(await read({ gps: { ...position, 1: 'X', 2: rational([9, 1], [0, 1], [0, 1]) } }), {});
  const north = { ...position, 2: rational([9, 1], [30, 1], [0, 1]), 5: [1], 6: rational([105, 10]) };
  assert.deepEqual(await read({ gps: north }), { location: { latitude: 9.5, longitude: 0, altitude: -10.5 } });
});

test('cleans up names, and joins the maker with the model', async () => {
  const camera = async (make: string, model: string) =>
    (await readExif(bufferSource(tiff({ image: { 0x10f: make, 0x110: model } }))))?.details.camera;
  assert.equal(await camera('NIKON CORPORATION', 'NIKON D850'), 'NIKON D850');
  assert.equal(await camera('SONY', 'ILCE-7M4'), 'SONY ILCE-7M4');
  assert.equal(await camera('Apple', 'iPhone 15 Pro '), 'Apple iPhone 15 Pro');
  assert.equal(await camera('Größe', '\u202ex\u0007'), 'Größe x');
  assert.equal(await camera(' \0', '\0'), undefined);
  assert.equal((await camera('M', 'x'.repeat(5000)))?.length, 258);
});

test('takes little time and memory for hostile EXIF data', async () => {
  // As many entries as possible, each with all bytes as its value; and directories that contain each other.
  const bomb = Buffer.alloc(65_536, 0);
  bomb.write('II*\0', 'latin1');
  bomb.writeUInt32LE(8, 4);
  bomb.writeUInt16LE(5000, 8);
  for (let entry = 0; entry < 5000; entry++) {
    const position = 10 + 12 * entry;
    bomb.writeUInt16LE([0x8769, 0x8825, 0x10f, 0x9003, 2][entry % 5] ?? 0, position);
    bomb.writeUInt16LE(entry % 5 < 2 ? 4 : 2, position + 2);
    bomb.writeUInt32LE(entry % 5 < 2 ? 1 : 0xffffffff, position + 4);
    bomb.writeUInt32LE(8, position + 8);
  }
  let bytes = 0;
  const source = bufferSource(bomb);
  await readExif({
    bytes: async (offset, length) => {
      const part = await source.bytes(offset, length);
      bytes += part.length;
      return part;
    },
  });
  assert.ok(bytes < 100_000, `${bytes} bytes were read`);
});

test('reads a bounded part of a file, in few reads', async () => {
  const size = 100 * 2 ** 20;
  const ranges: { start: number; end: number }[] = [];
  // A JPEG of segments only: each says that the next one follows after 65,535 bytes.
  const read = async (range: { start: number; end: number }) => {
    ranges.push(range);
    return Buffer.alloc(range.end - range.start + 1, 0xff).fill(0xe2, 1, 2);
  };
  assert.equal(await readImageDetails(fileSource(read, size)), undefined);
  assert.ok(ranges.length <= 6, `${ranges.length} reads`);
  assert.ok(ranges.every(({ start, end }) => end < size && end - start < 128 * 1024));
});

test('reads photos with large headers, and EXIF data after the pixels', async () => {
  const jpeg = await plain(RED, 60, 40).withExif(EXIF).jpeg().toBuffer();
  const filler = Buffer.concat([Buffer.from([0xff, 0xe2, 0xff, 0xff]), Buffer.alloc(0xffff - 2)]);
  const exifEnd = 4 + 2 + jpeg.readUInt16BE(4) - 2;
  const large = Buffer.concat([jpeg.subarray(0, exifEnd), filler, filler, filler, jpeg.subarray(exifEnd)]);
  const noisy = await sharp({
    create: {
      width: 900,
      height: 900,
      channels: 3,
      background: 'red',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .webp({ quality: 100 })
    .withExif(EXIF)
    .toBuffer();
  for (const image of [large, noisy]) {
    assert.ok(image.length > 192 * 1024);
    let bytes = 0;
    const read = async ({ start, end }: { start: number; end: number }) => {
      bytes += end - start + 1;
      return image.subarray(start, end + 1);
    };
    assert.equal((await readImageDetails(fileSource(read, image.length)))?.takenAt, DETAILS.takenAt);
    assert.ok(bytes <= 512 * 1024);
  }
});
