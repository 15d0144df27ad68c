import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { plain, RED, svg } from './images.ts';

// Importing `draw.ts` blocks loaders for the whole process. The test imports it after it has seen that they exist.

const formats = ['jpeg', 'png', 'webp'] as const;
const drawnApart = ['gif', 'avif', 'tiff'] as const;

async function opens(source: Buffer | string): Promise<boolean> {
  try {
    await sharp(source).metadata();
    return true;
  } catch {
    return false;
  }
}

test('enables only JPEG, PNG and WebP in the server process, and all formats in a drawing process', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-loaders-'));
  t.after(() => rm(folder, { recursive: true }));
  const native = join(folder, 'image.v');
  const file = join(folder, 'image.png');
  await plain(RED).toFile(native);
  await plain(RED).toFile(file);
  assert.deepEqual([await opens(native), await opens(file), await opens(svg(''))], [true, true, true]);

  const { allowAllFormats } = await import('../../src/thumbnails/draw.ts');
  for (const format of formats) assert.ok(await opens(await plain(RED).toFormat(format).toBuffer()), format);
  assert.equal(await opens(native), false, 'the native format of libvips');
  assert.equal(await opens(file), false, 'a file by its name, even of a format that is read');
  assert.equal(await opens(svg('')), false, 'SVG in this process');
  for (const format of drawnApart)
    assert.equal(await opens(await plain(RED).toFormat(format).toBuffer()), false, format);

  allowAllFormats();
  assert.equal(await opens(svg('')), true, 'SVG in a drawing process');
  for (const format of drawnApart) assert.ok(await opens(await plain(RED).toFormat(format).toBuffer()), format);
  assert.equal(await opens(native), false, 'the native format of libvips in a drawing process');
});

test('does not load libvips before the first drawing', async () => {
  const service = join(import.meta.dirname, '../../src/thumbnails/thumbnails.ts');
  const libraries = async (module: string) => {
    const script = `await import(${JSON.stringify(module)}); console.log(process.report.getReport().sharedObjects.join())`;
    return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])).stdout;
  };
  assert.doesNotMatch(await libraries(service), /libvips/);
  assert.match(await libraries(import.meta.resolve('sharp')), /libvips/, 'The report lists libraries.');
});
