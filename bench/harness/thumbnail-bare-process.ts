/*
 * The limit of thumbnails: sharp alone, with one concurrent image per core, from a file into memory. Its arguments are
 * the folder, and the number of files for the warm-up. Prints the seconds and the CPU seconds of each other file as
 * JSON.
 */
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';

const [folder = '.', warmUp = '0'] = process.argv.slice(2);

// Like the service: faster here than the defaults, which are meant for one image at a time.
sharp.cache(false);
sharp.concurrency(1);

const files = (await readdir(folder)).toSorted().map((name) => join(folder, name));
await drawAll(files.slice(0, Number(warmUp)));
const measured = files.slice(Number(warmUp));
const cpuBefore = process.cpuUsage();
const began = performance.now();
await drawAll(measured);
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
process.stdout.write(
  JSON.stringify({ perSecond: measured.length / seconds, cpuSeconds: (user + system) / 1e6 / measured.length }),
);

async function drawAll(paths: readonly string[]): Promise<void> {
  const waiting = paths.values();
  const work = async () => {
    for (const path of waiting) {
      await sharp(path, { autoOrient: true })
        .resize(320, 320, { fit: 'cover' })
        .flatten({ background: 'white' })
        .jpeg({ quality: 80 })
        .toBuffer();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}
