import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { plain, RED, svg } from './images.ts';

/** Small files that take 70 to 200 MB to decode, by the cause: many components of pixels, texts, and elements. */
export const BOMBS: Readonly<Record<string, () => Promise<Buffer> | Buffer>> = {
  'JPEG, progressive': () => plain(RED, 3500, 3500).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
  'PNG with compressed texts': async () => withTexts(await plain(RED).png().toBuffer(), 20),
  SVG: () => svg('<g/>'.repeat(30_000)),
};

/** Small files that take at least 500 MB to decode, by the cause. */
export const LARGE_BOMBS: typeof BOMBS = {
  'JPEG, progressive': () => plain(RED, 9000, 9000).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
  'PNG with compressed texts': async () => withTexts(await plain(RED).png().toBuffer(), 40),
  SVG: () => svg('<g/>'.repeat(200_000)),
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
