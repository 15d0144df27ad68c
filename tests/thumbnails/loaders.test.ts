import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { plain, RED, svg } from './images.ts';

// Whatever imports `draw.ts` blocks loaders for the whole process. It is imported below, when it has been seen that
// they are there without it.

const formats = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const;

async function opens(source: Buffer | string): Promise<boolean> {
  try {
    await sharp(source).metadata();
    return true;
  } catch {
    return false;
  }
}

test('only the loaders of the formats named are left', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-loaders-'));
  t.after(() => rm(folder, { recursive: true }));
  const native = join(folder, 'image.v');
  const file = join(folder, 'image.png');
  await plain(RED).toFile(native);
  await plain(RED).toFile(file);
  assert.deepEqual([await opens(native), await opens(file), await opens(svg(''))], [true, true, true]);

  const { allowSvg } = await import('../../src/thumbnails/draw.ts');
  for (const format of formats) assert.ok(await opens(await plain(RED).toFormat(format).toBuffer()), format);
  assert.equal(await opens(native), false, 'the native format of libvips');
  assert.equal(await opens(file), false, 'a file by its name, even of a format that is read');
  assert.equal(await opens(svg('')), false, 'SVG in this process');

  allowSvg();
  assert.equal(await opens(svg('')), true, 'SVG where it is drawn');
  assert.equal(await opens(native), false, 'and nothing else there');
});

test('a process that has drawn nothing has not loaded libvips', async () => {
  const service = join(import.meta.dirname, '../../src/thumbnails/thumbnails.ts');
  const libraries = async (module: string) => {
    const script = `await import(${JSON.stringify(module)}); console.log(process.report.getReport().sharedObjects.join())`;
    return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])).stdout;
  };
  assert.doesNotMatch(await libraries(service), /libvips/);
  assert.match(await libraries(import.meta.resolve('sharp')), /libvips/, 'it can be told');
});
