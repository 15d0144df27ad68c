import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { estimateMemory, MAX_INLINE_MEMORY_BYTES } from '../../src/thumbnails/limits.ts';
import { THUMBNAIL } from '../../src/thumbnails/renditions.ts';
import { withScanOfOneComponent, withTexts } from './bombs.ts';
import { noise, plain, RED, resizedPng, svg } from './images.ts';

// The real use of memory: tests/long/image-memory.test.ts.
describe('An image that needs little memory', () => {
  const assertDrawnHere = (image: Buffer) => {
    const estimate = estimateMemory(image, THUMBNAIL);
    assert.ok(estimate !== undefined && estimate <= MAX_INLINE_MEMORY_BYTES, `${estimate} bytes`);
  };

  it('is drawn in the server process: a JPEG photo, a progressive JPEG, a WebP, a screenshot', async () => {
    assertDrawnHere(resizedJpeg(await noise(1).jpeg().withMetadata({ orientation: 6 }).toBuffer(), 10_000, 8000));
    assertDrawnHere(resizedJpeg(await noise(1).jpeg({ progressive: true }).toBuffer(), 5000, 4000));
    assertDrawnHere(await noise(1).webp().toBuffer());
    assertDrawnHere(await plain(RED, 4000, 3000).webp({ effort: 0 }).withMetadata({ orientation: 6 }).toBuffer());
    assertDrawnHere(resizedPng(await plain(RED).png().toBuffer(), 7680, 4320));
    assertDrawnHere(await plain(RED, 1000, 1000).png({ progressive: true }).withIccProfile('p3').toBuffer());
  });

  it('has no estimate if it is not an image', () => {
    for (const text of ['', 'I', 'plain text', 'IIx', '%PDF-1.7']) {
      assert.equal(estimateMemory(Buffer.from(text), THUMBNAIL), undefined, text);
    }
  });

  it('has an estimate for a header truncated at any position', async () => {
    const images = [
      await noise(1, 50).jpeg({ progressive: true }).toBuffer(),
      await noise(1, 50).png().toBuffer(),
      await noise(1, 50).webp({ lossless: true }).toBuffer(),
      await noise(1, 50).webp().withMetadata({ orientation: 6 }).toBuffer(),
    ];
    for (const image of images) {
      for (let length = 12; length < Math.min(image.length, 1000); length++) {
        const estimate = estimateMemory(image.subarray(0, length), THUMBNAIL);
        assert.ok(estimate !== undefined && estimate >= 0, `${length} bytes: ${estimate}`);
      }
    }
  });
});

describe('An image that needs much memory', () => {
  const leaves = (name: string, image: Buffer) => {
    const estimate = estimateMemory(image, THUMBNAIL);
    assert.ok(estimate !== undefined && estimate > MAX_INLINE_MEMORY_BYTES, `${name}: ${estimate} bytes`);
  };

  it('is drawn in another process, whatever its format', async () => {
    const progressive = await noise(1).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer();
    leaves('a progressive JPEG', resizedJpeg(progressive, 3500, 3500));
    const sequential = await noise(1).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer();
    leaves('a scan for each component', resizedJpeg(withScanOfOneComponent(sequential), 3500, 3500));
    leaves('an interlaced PNG', resizedPng(await plain(RED).png({ progressive: true }).toBuffer(), 4900, 4900));
    const png = await plain(RED).png().toBuffer();
    leaves('a very wide PNG', resizedPng(png, 1_250_000, 20));
    leaves('a very tall PNG', resizedPng(png, 320, 80_000));
    leaves('a tall sliver', resizedPng(png, 20, 1_250_000));
    leaves('compressed texts', withTexts(png, 20));
    const webp = await noise(1).webp({ lossless: true }).toBuffer();
    const size = webp.indexOf('VP8L') + 9;
    webp.writeUInt32LE((webp.readUInt32LE(size) & ~0xfffffff) + 4299 + (4299 << 14), size);
    leaves('a lossless WebP', webp);
    for (const format of ['gif', 'tiff', 'avif'] as const)
      leaves(format, await plain(RED, 9, 9).toFormat(format).toBuffer());
    leaves('an SVG', svg(''));
  });
});

/** Returns the JPEG with another size in its header. */
function resizedJpeg(jpeg: Buffer, width: number, height: number): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = [0xc0, 0xc2]
    .map((marker) => changed.indexOf(Buffer.from([0xff, marker, 0, 17])))
    .find((at) => at !== -1);
  assert.ok(frame !== undefined);
  changed.writeUInt16BE(height, frame + 5);
  changed.writeUInt16BE(width, frame + 7);
  return changed;
}
