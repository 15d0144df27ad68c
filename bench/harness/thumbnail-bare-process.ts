/*
 * The limit of thumbnails: sharp by itself, as many at once as there are cores, each from a file and into memory. Its
 * arguments are the folder, and how many of its files are only a warm-up; it says the seconds and the CPU seconds of
 * each of the others as JSON.
 */
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';

const [folder = '.', warmUp = '0'] = process.argv.slice(2);

// As the service does: faster here than with the defaults, which are made for one image at a time.
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
