// Only this file measures the memory that images take, here and in drawing processes, against their estimates and limits. Each
// image is large, and decoded in full.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { isStoreError } from '../../src/model/error.ts';
import { estimateMemory, MAX_INLINE_MEMORY_BYTES } from '../../src/thumbnails/limits.ts';
import { type Rendition, THUMBNAIL } from '../../src/thumbnails/renditions.ts';
import { LARGE_BOMBS } from '../thumbnails/bombs.ts';
import { createGallery, thumbnailsOf } from '../thumbnails/gallery.ts';
import { noise, quarters } from '../thumbnails/images.ts';

const MIB = 1024 * 1024;

/** Memory limit of a drawing process here: less than most of the images need. */
const MEMORY_LIMIT = 128 * MIB;

/** The bytes by which a drawing in the serving process can exceed its estimate. */
const MARGIN = 24 * MIB;

/** A drawing process checks its memory only at intervals, so it exceeds its limit. Decoding in full takes twice this much. */
const MAX_APART = 2 * MEMORY_LIMIT;

const MEASURED = Object.keys(LARGE_BOMBS);

const skip = process.platform !== 'linux' && 'only /proc on Linux has the peak memory of another process';

describe('The memory use of a small file with many pixels', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdall-bombs-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

  // Another process creates the images, so that this process does not use the memory that this takes.
  before(async () => {
    const script = `
      import { writeFile } from 'node:fs/promises';
      import { LARGE_BOMBS } from ${JSON.stringify(join(import.meta.dirname, '../thumbnails/bombs.ts'))};
      for (const [index, name] of ${JSON.stringify(MEASURED)}.entries()) await writeFile(String(index), await LARGE_BOMBS[name]());
    `;
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder });
  });

  it('stays below the size of its pixels for a large WebP, which is not fully decoded', async (t) => {
    const image = await quarters(60, 40).resize(6000, 4000, { kernel: 'nearest' }).webp({ effort: 0 }).toBuffer();
    assert.ok(estimateMemory(image, THUMBNAIL) === 0, 'It is drawn here.');
    const { here, outcome } = await peaks(t, image);
    assert.equal(outcome, 'drawn');
    assert.ok(here < 6000 * 4000, `${here} bytes, and ${6000 * 4000 * 3} in full`);
    t.diagnostic(`${here / MIB} MiB here`);
  });

  it('stays below its estimate for the largest previews that are drawn in the serving process', async (t) => {
    const rendition: Rendition = { kind: 'preview', width: 2560, format: 'webp' };
    // All are rotated, so that their rows stay in memory.
    const images = {
      JPEG: () =>
        noise(1, 700).resize(2900, 1900, { kernel: 'cubic' }).jpeg().withMetadata({ orientation: 6 }).toBuffer(),
      PNG: () => noise(1, 700).resize(2000, 1400).ensureAlpha(0.5).png({ compressionLevel: 1 }).toBuffer(),
      WebP: () => noise(1, 700).resize(1900, 1400, { kernel: 'cubic' }).webp({ effort: 0 }).toBuffer(),
    };
    for (const [name, make] of Object.entries(images)) {
      const image = await make();
      const estimate: number = estimateMemory(image, rendition) ?? Number.NaN;
      assert.ok(estimate <= MAX_INLINE_MEMORY_BYTES, `${name}: ${estimate} bytes`);
      const { here, apart, outcome } = await peaks(t, image, rendition);
      assert.deepEqual([outcome, apart], ['drawn', 0], name);
      t.diagnostic(`${name}: ${here / MIB} MiB here, and ${estimate / MIB} MiB by estimate`);
      assert.ok(here <= estimate + MARGIN, `${name}: ${here} bytes, and ${estimate} by estimate`);
    }
  });

  for (const [index, name] of MEASURED.entries()) {
    it(`stays below the limits of both processes: ${name}`, async (t) => {
      const image = readFileSync(join(folder, String(index)));
      const { here, apart, outcome } = await peaks(t, image);
      t.diagnostic(`${image.length} bytes: ${here / MIB} MiB here, ${apart / MIB} MiB apart, ${outcome}`);
      assert.ok(here <= MAX_INLINE_MEMORY_BYTES, `${here} bytes more in the serving process`);
      assert.ok(apart <= MAX_APART, `${apart} bytes in the drawing process`);
      assert.match(outcome, /needs more than 128 MiB of memory/);
    });
  }
});

interface Peaks {
  readonly here: number;
  readonly apart: number;
  readonly outcome: string;
}

/** Draws one image. Returns how far the memory of this process grew, and the peak memory of a drawing process. */
async function peaks(t: TestContext, image: Buffer, rendition = THUMBNAIL): Promise<Peaks> {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { memoryLimit: MEMORY_LIMIT });
  const file = gallery.put('image', image);
  writeFileSync('/proc/self/clear_refs', '5');
  const start = statusOf('self').VmRSS;
  let apart = 0;
  const own = commandOf('self');
  const watch = setInterval(() => {
    for (const child of readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ')) {
      if (child === '') continue;
      const command = commandOf(child);
      // Until it executes its program, a child has the memory of this process and, for a moment, no command line.
      if (command !== '' && command !== own) apart = Math.max(apart, statusOf(child).VmHWM);
    }
  }, 2);
  let outcome = 'drawn';
  try {
    await thumbnails.get(file, { rendition });
  } catch (error) {
    if (!isStoreError(error, 'too-large')) throw error;
    outcome = error.message;
  } finally {
    clearInterval(watch);
  }
  return { here: statusOf('self').VmHWM - start, apart, outcome };
}

/** Returns the command line of a process; empty if it has just ended, or is just executing its program. */
function commandOf(process: string): string {
  try {
    return readFileSync(`/proc/${process}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** Returns memory in bytes; 0 for a process that has just ended. */
function statusOf(process: string): { VmRSS: number; VmHWM: number } {
  try {
    const status = readFileSync(`/proc/${process}/status`, 'utf8');
    const read = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
    return { VmRSS: read('VmRSS'), VmHWM: read('VmHWM') };
  } catch {
    return { VmRSS: 0, VmHWM: 0 };
  }
}
