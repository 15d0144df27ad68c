import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

export type Colour = readonly [red: number, green: number, blue: number];

export const RED: Colour = [200, 40, 40];
export const GREEN: Colour = [40, 160, 60];
export const BLUE: Colour = [40, 60, 200];
export const YELLOW: Colour = [220, 200, 40];
export const WHITE: Colour = [255, 255, 255];

/** Returns an image of one colour. */
export function plain([r, g, b]: Colour, width = 600, height = 400): Sharp {
  return sharp({ create: { width, height, channels: 3, background: { r, g, b } } });
}

/** Returns an image of even width and height with a colour in each quarter: red and green above blue and yellow. */
export function quarters(width = 600, height = 400): Sharp {
  const row = (left: Colour, right: Colour) =>
    Buffer.concat([
      Buffer.alloc((width / 2) * 3, Buffer.from(left)),
      Buffer.alloc((width / 2) * 3, Buffer.from(right)),
    ]);
  const rows = [...Array(height / 2).fill(row(RED, GREEN)), ...Array(height / 2).fill(row(BLUE, YELLOW))];
  return sharp(Buffer.concat(rows), { raw: { width, height, channels: 3 } });
}

/** Returns an image that compresses badly. Each `seed` results in another image. */
export function noise(seed: number, side = 400): Sharp {
  const pixels = Buffer.alloc(side * side * 3);
  let state = seed + 1;
  for (let index = 0; index < pixels.length; index++) {
    state = (state * 48271) % 2147483647;
    pixels[index] = state & 0xff;
  }
  return sharp(pixels, { raw: { width: side, height: side, channels: 3 } });
}

export function svg(body: string, attributes = 'width="600" height="400"'): Buffer {
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${body}</svg>`);
}

/** Returns a kilobyte that takes an hour to draw: a blurred square that is used ten thousand times. */
export function endlessSvg(): Buffer {
  const levels = [1, 2, 3, 4, 5].map((level) => `<g id="g${level}">${`<use href="#g${level - 1}"/>`.repeat(10)}</g>`);
  const square = '<rect id="g0" width="600" height="400" fill="red" filter="url(#blur)"/>';
  const blur = '<filter id="blur"><feGaussianBlur stdDeviation="50"/></filter>';
  return svg(`${blur}<defs>${square}${levels.join('')}</defs><use href="#g5"/>`);
}

/** Returns the PNG with another size in its header, which has a valid checksum. */
export function resizedPng(png: Buffer, width: number, height: number): Buffer {
  const changed = Buffer.from(png);
  changed.writeUInt32BE(width, 16);
  changed.writeUInt32BE(height, 20);
  changed.writeUInt32BE(crc32(changed.subarray(12, 29)), 29);
  return changed;
}

/** Asserts that `image` is a thumbnail with these colours at positions in pixels. */
export async function assertThumbnail(image: Buffer, ...places: [x: number, y: number, Colour][]): Promise<void> {
  const { format, width, height, space, channels, hasProfile } = await sharp(image).metadata();
  assert.deepEqual([format, width, height, space, channels, hasProfile], ['jpeg', 320, 320, 'srgb', 3, false]);
  const pixels = await sharp(image).raw().toBuffer();
  for (const [x, y, expected] of places) {
    const offset = (y * 320 + x) * 3;
    assertNear([...pixels.subarray(offset, offset + 3)], expected, `at ${x}, ${y}`);
  }
}

const TOLERANCE = 12;

function assertNear(actual: number[], expected: Colour, where: string): void {
  const near = expected.every((value, index) => Math.abs(value - (actual[index] ?? NaN)) <= TOLERANCE);
  assert.ok(near, `${where}: ${actual.join()} is not near ${expected.join()}`);
}
