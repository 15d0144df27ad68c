import { randomBytes } from 'node:crypto';
import { link, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';

/** The number of generated photographs. Each takes half a second. */
const PHOTOGRAPHS = 12;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** 6 megapixels. A photograph has about 1.1 MB. */
const SIZE: Size = { width: 3000, height: 2000 };

/**
 * Fills a new folder with one JPEG for each of `names`. Their content repeats after 12. Each name is a separate file for
 * thumbnails. At the default size, the folder uses 14 MB.
 */
export async function makePhotographs(folder: string, names: readonly string[], size = SIZE): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [index, name] of names.entries()) {
    const original = names[index % PHOTOGRAPHS];
    if (original === undefined || original === name) await drawPhotograph(join(folder, name), size);
    else await link(join(folder, original), join(folder, name));
  }
}

/** Draws surfaces, shapes, texture and grain, which makes a file as large as a photograph of that size. */
async function drawPhotograph(file: string, size: Size): Promise<void> {
  const pixels = new Float32Array(size.width * size.height * 3);
  for (const [cells, weight] of [
    [6, 0.55],
    [48, 0.22],
    [300, 0.15],
    [1500, 0.08],
  ] as const) {
    const layer = await randomLayer(cells, size);
    for (let index = 0; index < pixels.length; index++) {
      pixels[index] = (pixels[index] ?? 0) + weight * (layer[index] ?? 0);
    }
  }
  const raw = { ...size, channels: 3 } as const;
  await sharp(Uint8Array.from(pixels), { raw }).jpeg({ quality: 88 }).toFile(file);
}

/** Draws a number of random colours across, with soft edges. */
async function randomLayer(cells: number, { width, height }: Size): Promise<Buffer> {
  const rows = Math.round((cells * height) / width);
  const raw = { width: cells, height: rows, channels: 3 } as const;
  return sharp(randomBytes(cells * rows * 3), { raw })
    .resize(width, height, { fit: 'fill', kernel: 'cubic' })
    .raw()
    .toBuffer();
}
