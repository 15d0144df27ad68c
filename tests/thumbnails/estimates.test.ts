import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { estimateMemory } from '../../src/thumbnails/limits.ts';
import {
  PREVIEW_WIDTHS,
  type PreviewFormat,
  type PreviewWidth,
  type Rendition,
  THUMBNAIL,
} from '../../src/thumbnails/renditions.ts';

const png = (colour: number, depth: number, interlaced: number, chunks: Buffer[] = []) => {
  const header = Buffer.alloc(33);
  header.write('\x89PNG\r\n\x1a\n', 'latin1');
  header.writeUInt32BE(13, 8);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(1000, 16);
  header.writeUInt32BE(1000, 20);
  header.set([depth, colour, 0, 0, interlaced], 24);
  return Buffer.concat([header, ...chunks]);
};

const webp = (type: string, length = 40) => {
  const bytes = Buffer.alloc(length);
  bytes.write('RIFF\0\0\0\0WEBP', 'latin1');
  bytes.write(type, 12, 'latin1');
  return bytes;
};

/** A JPEG of 1,600 × 1,600 pixels up to its first scan. */
const jpeg = ({
  frame = 0xc0,
  inScan = 3,
  padding = Buffer.alloc(0),
}: {
  frame?: number;
  inScan?: number;
  padding?: Buffer;
}) =>
  Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    padding,
    Buffer.from([0xff, frame, 0, 17, 8, 6, 64, 6, 64, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]),
    Buffer.from([0xff, 0xda, 0, 12, inScan, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]),
  ]);

const estimate = (image: Buffer, rendition: Rendition = THUMBNAIL) => estimateMemory(image, rendition) ?? Number.NaN;

describe('The memory estimate from an image header', () => {
  it('is higher for a PNG with 16 bits, interlacing or compressed metadata', () => {
    const plain = estimate(png(6, 8, 0));
    assert.ok(plain > 0);
    assert.ok(estimate(png(6, 16, 0)) > plain);
    assert.ok(estimate(png(6, 8, 1)) > plain);
    assert.ok(estimate(png(0, 8, 0)) < plain);
    assert.equal(estimate(png(7, 8, 0)), plain);
    const text = Buffer.alloc(112);
    text.writeUInt32BE(100);
    text.write('zTXt', 4, 'latin1');
    assert.equal(estimate(png(6, 8, 0, [text])), plain + 103_200);
    text.write('tEXt', 4, 'latin1');
    assert.equal(estimate(png(6, 8, 0, [text])), plain);
  });

  it('is higher for a JPEG that is progressive or whose first scan lacks components', () => {
    const plain = estimate(jpeg({}));
    assert.ok(plain > 0);
    assert.ok(estimate(jpeg({ frame: 0xc2 })) > plain);
    assert.ok(estimate(jpeg({ inScan: 1 })) > plain);
    // Padding, a marker without a length, and bytes that are no segment.
    assert.equal(estimate(jpeg({ padding: Buffer.from([0xff, 0xff, 0xd0, 1, 2, 0xff, 0]) })), plain);
  });

  it('is zero for a lossy WebP, higher for an animated one and unlimited for an unknown type', () => {
    assert.equal(estimate(webp('VP8 ')), 0);
    assert.ok(estimate(webp('VP8L')) > 0);
    const extended = webp('VP8X');
    const still = estimate(extended);
    extended[20] = 2;
    assert.ok(estimate(extended) > still);
    assert.equal(estimate(webp('VP8?')), Number.POSITIVE_INFINITY);
  });

  it('is zero for an image truncated before the header and unlimited for a scan without a frame', () => {
    assert.equal(estimate(png(6, 8, 0).subarray(0, 20)), 0);
    assert.equal(estimate(webp('VP8X', 24)), 0);
    assert.equal(estimate(jpeg({}).subarray(0, 3)), 0);
    assert.equal(estimate(jpeg({}).subarray(0, 8)), 0);
    assert.equal(estimate(Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 2, 0, 0])), Number.POSITIVE_INFINITY);
  });

  it('is higher for a larger preview, and the same for all that are at least as large as the image', () => {
    const preview = (width: PreviewWidth, format: PreviewFormat = 'webp'): Rendition => ({
      kind: 'preview',
      width,
      format,
    });
    for (const image of [jpeg({}), png(6, 8, 0), webp('VP8X', 60)]) {
      const estimates = PREVIEW_WIDTHS.map((width) => estimate(image, preview(width)));
      assert.deepEqual(
        estimates,
        estimates.toSorted((a, b) => a - b),
      );
      assert.ok((estimates[0] ?? 0) < (estimates[2] ?? 0) || image.toString('latin1', 0, 4) === 'RIFF');
      assert.equal(estimates.at(-1), estimates.at(-2));
    }
    // 1,600 × 1,600 pixels, with 8 bytes each for the encoder.
    assert.ok(estimate(jpeg({}), preview(1600)) >= 8 * 1600 ** 2);
  });

  it('is unlimited for an AVIF preview of any image', () => {
    const avif: Rendition = { kind: 'preview', width: 320, format: 'avif' };
    for (const image of [jpeg({}), png(6, 8, 0), webp('VP8 ')]) {
      assert.equal(estimate(image, avif), Number.POSITIVE_INFINITY);
    }
    assert.equal(estimateMemory(Buffer.from('plain text'), avif), undefined);
  });
});
