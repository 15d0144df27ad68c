import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { turnedJpeg, turnedOrientation, UnsupportedJpegError } from '../../../web/src/platform/jpeg-orientation.ts';

test('A quarter turn of every orientation shows the photo turned clockwise, and keeps all other bytes', async () => {
  for (let orientation = 1; orientation <= 8; orientation++) {
    const file = await photo()
      .withMetadata({ orientation, exif: { IFD0: { Artist: 'Ada' } } })
      .jpeg()
      .toBuffer();
    const turned = await turn(file, 1);
    assert.deepEqual(await corners(turned), await corners(await turnedPixels(file, 90)));
    assert.equal(turned.length, file.length);
    const changed = [...turned].filter((byte, index) => byte !== file[index]);
    assert.equal(changed.length, 1, `only the orientation ${orientation} changes`);
    assert.deepEqual(await turn(turned, -1), file);
    assert.deepEqual(await turn(await turn(turned, 1), 2), file);
  }
});

test('A photo without Exif data gets an orientation after its JFIF header, also if it is progressive', async () => {
  for (const progressive of [false, true]) {
    const plain = await photo().jpeg({ progressive }).toBuffer();
    const file = Buffer.concat([plain.subarray(0, 2), JFIF, plain.subarray(2)]);
    assert.equal((await sharp(file).metadata()).orientation, undefined);
    const turned = await turn(file, 3);
    assert.deepEqual(await corners(turned), await corners(await turnedPixels(file, 270)));
    const jfifEnd = 2 + JFIF.length;
    assert.deepEqual(turned.subarray(0, jfifEnd), file.subarray(0, jfifEnd));
    assert.deepEqual(turned.subarray(turned.length - file.length + jfifEnd), file.subarray(jfifEnd));
  }
});

test('Exif data without an orientation gets one, and keeps its other properties, in both byte orders', async () => {
  for (const order of ['II', 'MM'] as const) {
    const file = withExif(await photo().jpeg().toBuffer(), exifWithMake(order));
    const turned = await turn(file, 1);
    const { exif, orientation } = await sharp(turned).metadata();
    assert.equal(orientation, 6);
    assert.ok(exif?.includes('Holdall camera'));
    assert.deepEqual(await corners(turned), await corners(await turnedPixels(file, 90)));
    assert.equal((await sharp(await turn(turned, 1)).metadata()).orientation, 3);
  }
});

test('Files that are no JPEG, or have damaged segments or Exif data, are rejected', async () => {
  const file = await photo().jpeg().toBuffer();
  const exif = exifWithMake('II');
  const damaged = [
    Buffer.alloc(0),
    Buffer.from('GIF89a'),
    Buffer.from([0xff, 0xd8]),
    file.subarray(0, 10),
    Buffer.concat([file.subarray(0, 2), Buffer.from([0xff, 0xe1, 0, 0]), file.subarray(2)]),
    withExif(file, exif.subarray(0, 4)),
    withExif(file, Buffer.from('XX*\0\b\0\0\0')),
    // The directory is beyond the end, and has more entries than fit.
    withExif(file, Buffer.from([0x49, 0x49, 42, 0, 255, 255, 255, 127])),
    withExif(file, Buffer.from([0x49, 0x49, 42, 0, 8, 0, 0, 0, 255, 255])),
    // No space for another directory.
    withExif(file, Buffer.concat([exif, Buffer.alloc(65_500 - exif.length)])),
  ];
  for (const bytes of damaged) await assert.rejects(turn(bytes, 1), UnsupportedJpegError);
});

test('Turns of invalid orientations count as turns of an upright photo', () => {
  assert.deepEqual(
    [0, 9, 65_535, 1].map((orientation) => turnedOrientation(orientation, 1)),
    [6, 6, 6, 6],
  );
  assert.equal(turnedOrientation(7, -1), 2);
  assert.equal(turnedOrientation(8, 5), 1);
});

const JFIF = Buffer.from([0xff, 0xe0, 0, 16, ...Buffer.from('JFIF\0'), 1, 1, 0, 0, 1, 0, 1, 0, 0]);

async function turn(file: Buffer, turns: number): Promise<Buffer> {
  const turned = await turnedJpeg(new Blob([Uint8Array.from(file)], { type: 'image/jpeg' }), turns);
  assert.equal(turned.type, 'image/jpeg');
  return Buffer.from(await turned.arrayBuffer());
}

/** Four fields of different grey, in a landscape. */
function photo() {
  const field = (left: number, top: number, grey: number) => ({
    input: { create: { width: 32, height: 16, channels: 3 as const, background: { r: grey, g: grey, b: grey } } },
    left,
    top,
  });
  return sharp({ create: { width: 64, height: 32, channels: 3, background: '#000' } }).composite([
    field(0, 0, 10),
    field(32, 0, 80),
    field(0, 16, 160),
    field(32, 16, 240),
  ]);
}

/** Returns a photo turned by its pixels. */
async function turnedPixels(file: Buffer, degrees: number): Promise<Buffer> {
  return sharp(await sharp(file).rotate().png().toBuffer())
    .rotate(degrees)
    .png()
    .toBuffer();
}

/** Returns the size of an image as users see it, and the grey of its corners in steps. */
async function corners(file: Buffer) {
  const { data, info } = await sharp(file).rotate().greyscale().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => Math.round((data[(y * info.width + x) * info.channels] ?? 0) / 40);
  const [right, bottom] = [info.width - 4, info.height - 4];
  return { width: info.width, height: info.height, greys: [at(3, 3), at(right, 3), at(3, bottom), at(right, bottom)] };
}

/** Inserts an Exif segment as the first one. */
function withExif(file: Buffer, tiff: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length + 2);
  return Buffer.concat([file.subarray(0, 2), Buffer.from([0xff, 0xe1]), length, content, file.subarray(2)]);
}

/** Returns Exif data with a make of the camera, and nothing else. */
function exifWithMake(order: 'II' | 'MM'): Buffer {
  const isLittle = order === 'II';
  const make = Buffer.from('Holdall camera\0', 'latin1');
  const bytes = new DataView(new ArrayBuffer(26));
  bytes.setUint16(0, isLittle ? 0x4949 : 0x4d4d);
  bytes.setUint16(2, 42, isLittle);
  bytes.setUint32(4, 8, isLittle);
  bytes.setUint16(8, 1, isLittle);
  bytes.setUint16(10, 0x010f, isLittle);
  bytes.setUint16(12, 2, isLittle);
  bytes.setUint32(14, make.length, isLittle);
  bytes.setUint32(18, 26, isLittle);
  return Buffer.concat([Buffer.from(bytes.buffer), make]);
}
