import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { noise, plain, RED, svg } from './images.ts';

/** Small files that take 70 to 200 MB to decode. */
export const BOMBS: Readonly<Record<string, () => Promise<Buffer> | Buffer>> = {
  AVIF: () => plain(RED, 2300, 2300).avif({ effort: 0, chromaSubsampling: '4:2:0' }).toBuffer(),
  'JPEG, progressive': () => plain(RED, 3500, 3500).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
  'JPEG, sequential with a scan for each component': async () => {
    const jpeg = await plain(RED, 3500, 3500).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer();
    return withScanOfOneComponent(jpeg);
  },
  'PNG, interlaced': () => plain(RED, 4900, 4900).png({ progressive: true, compressionLevel: 1 }).toBuffer(),
  'PNG, very wide': () => plain(RED, 1_250_000, 20).png({ compressionLevel: 1 }).toBuffer(),
  'PNG, very tall, to be turned': () =>
    plain(RED, 320, 80_000).png({ compressionLevel: 1 }).withMetadata({ orientation: 6 }).toBuffer(),
  'PNG, a tall sliver, to be turned': () =>
    plain(RED, 20, 1_250_000).png({ compressionLevel: 1 }).withMetadata({ orientation: 6 }).toBuffer(),
  'PNG with compressed texts': async () => withTexts(await plain(RED).png().toBuffer(), 20),
  'WebP, lossless': async () => {
    const pixels = noise(1, 500).resize(4300, 4300, { kernel: 'nearest' });
    return pixels.webp({ lossless: true, effort: 0 }).toBuffer();
  },
  GIF: () => plain(RED, 4300, 4300).gif({ effort: 1 }).toBuffer(),
  'GIF of a million frames': async () => {
    const gif = await plain(RED, 2, 2).gif().toBuffer();
    const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0]);
    return Buffer.concat([gif.subarray(0, -1), Buffer.alloc(1_000_000 * frame.length, frame), gif.subarray(-1)]);
  },
  'TIFF, tiles': () => {
    const tiles = { tile: true, tileWidth: 4096, tileHeight: 4096 };
    return plain(RED, 4096, 4096)
      .tiff({ compression: 'lzw', ...tiles })
      .toBuffer();
  },
  SVG: () => svg('<g/>'.repeat(30_000)),
  SVGZ: () => gzipSync(svg('<g/>'.repeat(30_000))),
};

/**
 * Returns the JPEG with a first scan that claims to contain one of three components. libjpeg then expects more scans.
 */
export function withScanOfOneComponent(jpeg: Buffer): Buffer {
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  const header = Buffer.from([0xff, 0xda, 0, 8, 1, jpeg[scan + 5] ?? 1, jpeg[scan + 6] ?? 0, 0, 63, 0]);
  return Buffer.concat([jpeg.subarray(0, scan), header, jpeg.subarray(scan + 2 + jpeg.readUInt16BE(scan + 2))]);
}

/** Returns the PNG with texts of 7.9 MB each, compressed to 8 kB. */
export function withTexts(png: Buffer, count: number): Buffer {
  const data = Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(Buffer.alloc(7_900_000, 'a'))]);
  const chunk = Buffer.concat([Buffer.from([0, 0, 0, 0]), Buffer.from('zTXt'), data, Buffer.from([0, 0, 0, 0])]);
  chunk.writeUInt32BE(data.length);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4);
  // After the signature of 8 bytes and the header of 25.
  return Buffer.concat([png.subarray(0, 33), ...Array.from({ length: count }, () => chunk), png.subarray(33)]);
}

/** Returns a compressed SVG of 50 kB whose size is 51 MB after decompression. */
export function largePackedSvg(): Buffer {
  return gzipSync(svg(' '.repeat(51 * 1024 * 1024)));
}
