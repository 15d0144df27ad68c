import { randomBytes } from 'node:crypto';
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';

/** How many photographs are drawn, which takes half a second each. */
const PHOTOGRAPHS = 12;

const WIDTH = 3000;
const HEIGHT = 2000;

/**
 * Fills a new folder with JPEGs of 6 megapixels, as many as there are `names`. Their content repeats after 12; each name
 * is a file of its own to whoever draws it, and the folder takes 14 MB.
 */
export async function makePhotographs(folder: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [index, name] of names.entries()) {
    const original = names[index % PHOTOGRAPHS];
    if (original === undefined || original === name) await drawPhotograph(join(folder, name));
    else await link(join(folder, original), join(folder, name));
  }
}

/** Surfaces, shapes, texture and grain: about 1.1 MB, as a photograph of that size has it. */
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

/** Random colours, so many across, with soft edges between them. */
async function randomLayer(cells: number): Promise<Buffer> {
  const rows = Math.round((cells * HEIGHT) / WIDTH);
  const raw = { width: cells, height: rows, channels: 3 } as const;
  return sharp(randomBytes(cells * rows * 3), { raw })
    .resize(WIDTH, HEIGHT, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer();
}
