import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createCache, createDiskCache } from '../../src/thumbnails/cache.ts';
import { decodeFailure, encodeFailure, RenderError, type RenderFault } from '../../src/thumbnails/errors.ts';
import { THUMBNAIL } from '../../src/thumbnails/renditions.ts';
import { renditionEtag } from '../../src/thumbnails/thumbnails.ts';
import { until } from '../../testing/until.ts';
import { atEnd, createGallery, temporaryFolder, thumbnailsOf } from './gallery.ts';
import { assertThumbnail, BLUE, GREEN, noise, plain, RED, svg } from './images.ts';

const MEGABYTE = 1024 * 1024;

/** Fails the test when the cache warns. */
const quiet = (message: string, error: unknown) => assert.fail(`${message} ${String(error)}`);

async function onDisk(t: TestContext, cacheSize = MEGABYTE) {
  const cacheFolder = join(await temporaryFolder(t), 'made', 'thumbnails');
  return { cacheFolder, cacheSize, warn: quiet };
}

/**
 * Returns the names of the cached files, without those that are still being written; none if the folder does not exist
 * yet.
 */
async function cachedFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => !name.endsWith('.tmp'));
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder)) {
    // A file can disappear after the folder was read.
    const { size } = await stat(join(folder, name)).catch(() => ({ size: 0 }));
    bytes += size;
  }
  return bytes;
}

test('returns a cached thumbnail without reading the file', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', await plain(RED).png().toBuffer());
  const first = await thumbnails.get(file);
  assert.equal(await thumbnails.get(file), first);
  assert.deepEqual(gallery.reads, ['image']);
});

test('draws a new thumbnail for another version or another path', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, await onDisk(t));
  const red = await plain(RED).png().toBuffer();
  await thumbnails.get(gallery.put('image', red));
  const changed = gallery.put('image', await plain(BLUE).png().toBuffer());
  await assertThumbnail(await thumbnails.get(changed), [160, 160, BLUE]);
  await thumbnails.get(gallery.put('other', red));
  assert.deepEqual(gallery.reads, ['image', 'image', 'other']);
});

test('caches the failure of an unreadable image across processes', async (t) => {
  const options = await onDisk(t);
  const gallery = createGallery();
  const [one, two] = [thumbnailsOf(t, gallery, options), thumbnailsOf(t, gallery, options)];
  const png = await plain(RED).png().toBuffer();
  const damaged = gallery.put('damaged.png', png.subarray(0, 60));
  const refused = { kind: 'invalid-request', message: /"damaged.png" is damaged/ };
  await assert.rejects(one.get(damaged), refused);
  await assert.rejects(one.get(damaged), refused);
  assert.equal(one.peek(damaged), undefined);
  await until('the thumbnail is cached', async () => (await cachedFiles(options.cacheFolder)).length > 0);
  await assert.rejects(two.get(damaged), refused);
  assert.deepEqual(gallery.reads, ['damaged.png']);
  await assertThumbnail(await one.get(gallery.put('damaged.png', png)), [160, 160, RED]);
});

test('draws an image again when the memory limit was raised', async (t) => {
  const options = await onDisk(t);
  const gallery = createGallery();
  const drawing = gallery.put('red.svg', svg('<rect width="600" height="400" fill="rgb(200,40,40)"/>'));
  const before = thumbnailsOf(t, gallery, { ...options, memoryLimit: 1 });
  await assert.rejects(before.get(drawing), { kind: 'too-large', message: /needs more than 0 MiB of memory/ });
  await before.close();
  await assertThumbnail(await thumbnailsOf(t, gallery, options).get(drawing), [160, 160, RED]);
});

test('caches a failure for a day and a slow render for a minute, but not an overload', () => {
  const now = Date.now();
  const memoryLimit = MEGABYTE;
  const isRemembered = (fault: RenderFault, after: number) => {
    const entry = encodeFailure(new RenderError(fault, 'text', { dimensions: '1 × 2' }), { now, memoryLimit });
    const failure = entry && decodeFailure(entry, { now: now + after, memoryLimit });
    if (failure) assert.deepEqual([failure.fault, failure.dimensions], [fault, '1 × 2']);
    return failure !== undefined;
  };
  const [minute, day] = [60_000, 24 * 60 * 60_000];
  assert.deepEqual([isRemembered('too-much-memory', day - 1), isRemembered('too-much-memory', day)], [true, false]);
  assert.deepEqual([isRemembered('too-slow', minute - 1), isRemembered('too-slow', minute)], [true, false]);
  assert.equal(isRemembered('overloaded', 0), false);
});

test('derives the thumbnail ETag from the source ETag', () => {
  const gallery = createGallery();
  const one = gallery.put('image', Buffer.from('one'));
  const two = gallery.put('image', Buffer.from('two'));
  assert.equal(renditionEtag(one, THUMBNAIL), renditionEtag({ ...one, path: two.path, size: 7 }, THUMBNAIL));
  assert.notEqual(renditionEtag(one, THUMBNAIL), renditionEtag(two, THUMBNAIL));
  assert.notEqual(renditionEtag(one, THUMBNAIL), one.etag);
  assert.doesNotMatch(renditionEtag(one, THUMBNAIL), /"/);
});

test('keeps thumbnails across a restart in a folder readable only by its owner', async (t) => {
  const options = await onDisk(t);
  const gallery = createGallery();
  const file = gallery.put('image', await plain(RED).png().toBuffer());
  const before = thumbnailsOf(t, gallery, options);
  const thumbnail = await before.get(file);
  await before.close();
  assert.deepEqual(await thumbnailsOf(t, gallery, options).get(file), thumbnail);
  assert.deepEqual(gallery.reads, ['image']);
  assert.equal((await stat(options.cacheFolder)).mode & 0o777, 0o700);
  const [name, ...more] = await readdir(options.cacheFolder);
  assert.ok(name && more.length === 0);
  assert.equal((await stat(join(options.cacheFolder, name))).mode & 0o777, 0o600);
});

test('shares the folder between concurrent processes', async (t) => {
  const options = await onDisk(t);
  const gallery = createGallery();
  const file = gallery.put('image', await plain(RED).png().toBuffer());
  const [one, two] = [thumbnailsOf(t, gallery, options), thumbnailsOf(t, gallery, options)];
  await one.get(file);
  await until('the thumbnail is cached', async () => (await cachedFiles(options.cacheFolder)).length > 0);
  await two.get(file);
  assert.deepEqual(gallery.reads, ['image']);
});

test('does not write to disk when the cache size is zero', async (t) => {
  const options = await onDisk(t, 0);
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, options);
  await thumbnails.get(gallery.put('image', await plain(RED).png().toBuffer()));
  await thumbnails.close();
  await assert.rejects(stat(options.cacheFolder), { code: 'ENOENT' });
});

const damages: Record<string, (file: string, other: string) => Promise<void>> = {
  'is truncated': async (file) => truncate(file, (await stat(file)).size - 20),
  'is cut to a few bytes': (file) => truncate(file, 10),
  'is empty': (file) => truncate(file, 0),
  'has one wrong bit': async (file) => {
    const content = await readFile(file);
    content[content.length - 100] = (content[content.length - 100] ?? 0) ^ 1;
    await writeFile(file, content);
  },
  'has more than was written': async (file) => writeFile(file, 'more', { flag: 'a' }),
  'is a JPEG of another program': async (file) => writeFile(file, await plain(GREEN, 320, 320).jpeg().toBuffer()),
  'is another thumbnail': (file, other) => copyFile(other, file),
  'is huge': (file) => truncate(file, 100 * MEGABYTE),
};

for (const [damage, inflict] of Object.entries(damages)) {
  test(`replaces a cache file that ${damage} and does not serve it`, async (t) => {
    const warnings: string[] = [];
    // Larger than any damaged file that the sweep at the start removes before it is read.
    const options = { ...(await onDisk(t, 200 * MEGABYTE)), warn: (message: string) => void warnings.push(message) };
    const gallery = createGallery();
    const file = gallery.put('image', await plain(RED).png().toBuffer());
    const before = thumbnailsOf(t, gallery, options);
    await before.get(file);
    await until('the thumbnail is cached', async () => (await cachedFiles(options.cacheFolder)).length > 0);
    const [cached] = await cachedFiles(options.cacheFolder);
    await before.get(gallery.put('other', await plain(BLUE).png().toBuffer()));
    await before.close();
    const other = (await cachedFiles(options.cacheFolder)).find((name) => name !== cached);
    assert.ok(cached && other);
    await inflict(join(options.cacheFolder, cached), join(options.cacheFolder, other));

    const after = thumbnailsOf(t, gallery, options);
    await assertThumbnail(await after.get(file), [160, 160, RED]);
    await after.close();
    assert.equal(warnings.length, 1, warnings.join());
    await assertThumbnail(await thumbnailsOf(t, gallery, options).get(file), [160, 160, RED]);
    assert.deepEqual(gallery.reads, ['image', 'other', 'image']);
  });
}

test('logs an unusable cache folder and fails no request', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'file'), '');
  const warnings: string[] = [];
  const options = {
    cacheFolder: join(folder, 'file', 'thumbnails'),
    cacheSize: MEGABYTE,
    warn: (message: string) => void warnings.push(message),
  };
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, options);
  await assertThumbnail(await thumbnails.get(gallery.put('image', await plain(RED).png().toBuffer())), [160, 160, RED]);
  await thumbnails.close();
  assert.deepEqual(
    new Set(warnings),
    new Set([
      'Thumbnail cache folder could not be created',
      'Thumbnail cache read failed',
      'Thumbnail cache write failed',
    ]),
  );
});

test('stays within its size limit on disk', async (t) => {
  const gallery = createGallery();
  const size = 200_000;
  const options = await onDisk(t, size);
  const thumbnails = thumbnailsOf(t, gallery, options);
  let given = 0;
  for (let index = 0; index < 12; index++) {
    given += (await thumbnails.get(gallery.put(`image ${index}`, await noise(index).png().toBuffer()))).length;
  }
  assert.ok(given > 1.5 * size, `${given} bytes exceed the limit`);
  await until('the cache is as expected', async () => {
    const bytes = await bytesIn(options.cacheFolder);
    return bytes <= size && bytes > 0.5 * size;
  });
});

test('stays within its size limit under concurrent writes', async (t) => {
  const folder = await temporaryFolder(t);
  const cache = createDiskCache({ folder, size: 50_000, warn: quiet });
  atEnd(t, () => cache.close());
  for (let index = 0; index < 50; index++) cache.set(keyOf(index), Buffer.alloc(10_000));
  await until('the cache is as expected', async () => {
    const names = await readdir(folder);
    const allThere = names.length > 0 && !names.some((name) => name.endsWith('.tmp'));
    return allThere && (await bytesIn(folder)) <= 50_000;
  });
});

test('shrinks an existing folder to a smaller size limit at startup', async (t) => {
  const folder = await temporaryFolder(t);
  const large = createDiskCache({ folder, size: MEGABYTE, warn: quiet });
  for (let index = 0; index < 10; index++) large.set(keyOf(index), Buffer.alloc(10_000));
  await large.close();
  assert.equal((await readdir(folder)).length, 10);
  const small = createDiskCache({ folder, size: 50_000, warn: quiet });
  atEnd(t, () => small.close());
  await until('the cache has the expected files', async () => (await readdir(folder)).length === 4);
});

test('evicts the least recently used thumbnails', async (t) => {
  const folder = await temporaryFolder(t);
  const before = createDiskCache({ folder, size: MEGABYTE, warn: quiet });
  for (let index = 0; index < 5; index++) before.set(keyOf(index), Buffer.alloc(10_000, index));
  await before.close();
  for (let index = 0; index < 5; index++) {
    const used = 1_000_000 + index;
    await utimes(join(folder, keyOf(index)), used, used);
  }

  const reader = createDiskCache({ folder, size: MEGABYTE, warn: quiet });
  assert.deepEqual(await reader.get(keyOf(0)), Buffer.alloc(10_000, 0));
  await reader.close();

  const small = createDiskCache({ folder, size: 34_000, warn: quiet });
  atEnd(t, () => small.close());
  await until('the cache has the expected files', async () => (await readdir(folder)).length <= 3);
  assert.deepEqual((await readdir(folder)).toSorted(), [keyOf(0), keyOf(3), keyOf(4)]);
});

test('removes only orphaned temporary files of killed processes', async (t) => {
  const folder = await temporaryFolder(t);
  const hourAgo = Date.now() / 1000 - 3600;
  const old = ['0f5c.tmp', 'letter.txt', `${keyOf(1)}.jpg`];
  for (const name of old) {
    await writeFile(join(folder, name), 'x'.repeat(5000));
    await utimes(join(folder, name), hourAgo, hourAgo);
  }
  await writeFile(join(folder, '1d2e.tmp'), 'still being written');
  await mkdir(join(folder, keyOf(2)));
  const cache = createDiskCache({ folder, size: 4000, warn: quiet });
  atEnd(t, () => cache.close());
  await until('the temporary file is gone', async () => !(await readdir(folder)).includes('0f5c.tmp'));
  await cache.close();
  assert.deepEqual(
    (await readdir(folder)).toSorted(),
    ['1d2e.tmp', 'letter.txt', `${keyOf(1)}.jpg`, keyOf(2)].toSorted(),
  );
});

test('leaves no temporary file when a write fails', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, keyOf(1), 'occupied'), { recursive: true });
  const warnings: string[] = [];
  const cache = createDiskCache({ folder, size: MEGABYTE, warn: (message) => void warnings.push(message) });
  cache.set(keyOf(1), Buffer.alloc(10));
  assert.equal(await cache.get(keyOf(1)), undefined);
  await cache.close();
  assert.deepEqual(await readdir(folder), [keyOf(1)]);
  assert.equal(warnings.length, 2);
});

test('keeps 16 MiB in memory and evicts the least recently used thumbnails', async () => {
  const cache = createCache({ folder: '/nowhere', size: 0, warn: quiet });
  for (let index = 0; index < 16; index++) cache.set(keyOf(index), Buffer.alloc(MEGABYTE));
  assert.ok(cache.peek(keyOf(0)));
  cache.set(keyOf(16), Buffer.alloc(MEGABYTE));
  assert.deepEqual(
    [0, 1, 2, 16].map((index) => cache.peek(keyOf(index)) !== undefined),
    [true, false, true, true],
  );
});

function keyOf(index: number): string {
  return index.toString(16).padStart(64, '0');
}
