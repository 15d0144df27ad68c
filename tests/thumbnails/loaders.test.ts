import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sharp from 'sharp';
import { temporaryFolder } from './gallery.ts';
import { plain, RED, svg } from './images.ts';

// `gallery.ts` and `images.ts` are imported before; what is under test blocks loaders when it is first imported.
const formats = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const;
const opens = (source: Buffer | string) => sharp(source).metadata().then(() => true, () => false);

test('only the loaders of the formats named are left', async (t) => {
  const folder = await temporaryFolder(t);
  const native = join(folder, 'image.v');
  const file = join(folder, 'image.png');
  await plain(RED).toFile(native);
  await plain(RED).toFile(file);
  // The loaders are there to begin with, so that their absence later means something.
  sharp.unblock({ operation: ['VipsForeignLoad'] });
  assert.deepEqual([await opens(native), await opens(file), await opens(svg(''))], [true, true, true]);

  await import(`../../src/thumbnails/draw.ts?${formats.length}`);
  for (const format of formats) assert.ok(await opens(await plain(RED).toFormat(format).toBuffer()), format);
  assert.equal(await opens(native), false, 'the native format of libvips');
  assert.equal(await opens(file), false, 'a file by its name, even of a format that is read');
  assert.equal(await opens(svg('')), false, 'SVG in this process');
});

test('only SVG is added where it is drawn', async () => {
  const { allowSvg } = await import('../../src/thumbnails/draw.ts');
  allowSvg();
  assert.equal(await opens(svg('')), true);
  assert.equal(await opens(join(import.meta.dirname, 'missing.v')), false);
});
