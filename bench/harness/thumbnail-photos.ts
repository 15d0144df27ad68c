import { randomBytes } from 'node:crypto';
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';

/** The number of generated photographs. Each takes half a second. */
const PHOTOGRAPHS = 12;

const WIDTH = 3000;
const HEIGHT = 2000;

/**
 * Fills a new folder with one JPEG of 6 megapixels for each of `names`. Their content repeats after 12. Each name is a
 * separate file for thumbnails, and the folder uses 14 MB.
 */
export async function makePhotographs(folder: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [index, name] of names.entries()) {
    const original = names[index % PHOTOGRAPHS];
    if (original === undefined || original === name) await drawPhotograph(join(folder, name));
    else await link(join(folder, original), join(folder, name));
  }
}

/** Draws surfaces, shapes, texture and grain: about 1.1 MB, like a photograph of that size. */
async function drawPhotograph(file: string): Promise<void> {
  const pixels = new Float32Array(WIDTH * HEIGHT * 3);
  for (const [cells, weight] of [
    [6, 0.55],
    [48, 0.22],
    [300, 0.15],
    [1500, 0.08],
  ] as const) {
    const layer = await randomLayer(cells);
    for (let index = 0; index < pixels.length; index++) {
      pixels[index] = (pixels[index] ?? 0) + weight * (layer[index] ?? 0);
    }
  }
  const raw = { width: WIDTH, height: HEIGHT, channels: 3 } as const;
  await sharp(Uint8Array.from(pixels), { raw }).jpeg({ quality: 88 }).toFile(file);
}

/** Draws a number of random colours across, with soft edges. */
async function randomLayer(cells: number): Promise<Buffer> {
  const rows = Math.round((cells * HEIGHT) / WIDTH);
  const raw = { width: cells, height: rows, channels: 3 } as const;
  return sharp(randomBytes(cells * rows * 3), { raw })
    .resize(WIDTH, HEIGHT, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer();
}
