import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMediaDetails, type MediaDetailsOptions, mediaEtag } from '../../src/media/media.ts';
import type { FileEntry } from '../../src/model/store.ts';
import { atEnd, createGallery, type Gallery, settled, temporaryFolder } from '../thumbnails/gallery.ts';
import { noise, plain, RED } from '../thumbnails/images.ts';

function detailsOf(t: TestContext, { files }: Gallery, options: Partial<MediaDetailsOptions> = {}) {
  const warn = (message: string, error: unknown) => assert.fail(`${message} ${String(error)}`);
  const media = createMediaDetails({ files, cacheFolder: '/nowhere', cacheSize: 0, warn, ...options });
  atEnd(t, () => media.close());
  return media;
}

const put = (gallery: Gallery, path: string, bytes: Buffer, type = 'image/jpeg'): FileEntry => ({
  ...gallery.put(path, bytes),
  type,
});

const jpeg = await plain(RED, 60, 40).jpeg().toBuffer();

test('reads a file once per version, across restarts', async (t) => {
  const options = { cacheFolder: await temporaryFolder(t), cacheSize: 2 ** 20 };
  const gallery = createGallery();
  const first = detailsOf(t, gallery, options);
  const photo = put(gallery, 'photo.jpg', jpeg);
  const broken = put(gallery, 'broken.jpg', Buffer.from('no image'));
  const size = { width: 60, height: 40 };
  assert.deepEqual(await Promise.all([first.get(photo), first.get(photo)]), [size, size]);
  assert.deepEqual([await first.get(photo), await first.get(broken)], [size, undefined]);
  await first.close();
  const second = detailsOf(t, gallery, options);
  assert.deepEqual([await second.get(photo), await second.get(broken)], [size, undefined]);
  assert.deepEqual(gallery.reads, ['photo.jpg', 'broken.jpg']);
  const changed = put(gallery, 'photo.jpg', await plain(RED, 30, 20).jpeg().toBuffer());
  assert.deepEqual(await second.get(changed), { width: 30, height: 20 });
  assert.notEqual(mediaEtag(changed), mediaEtag(photo));
});

test('reads only files that can be images, by their type or else by their name', async (t) => {
  const gallery = createGallery();
  const media = detailsOf(t, gallery);
  for (const type of ['text/plain', 'video/mp4', 'image/x-canon-cr2', 'image/svg+xmlx', 'application/pdf']) {
    assert.equal(await media.get(put(gallery, 'photo.jpg', jpeg, type)), undefined, type);
  }
  assert.equal(await media.get(put(gallery, 'photo.bin', jpeg, 'application/octet-stream')), undefined);
  assert.equal(await media.get(put(gallery, 'empty.jpg', Buffer.alloc(0))), undefined);
  assert.deepEqual(gallery.reads, []);
  for (const [name, type] of [
    ['a', 'IMAGE/JPEG; charset=x'],
    ['b.jpg', 'application/octet-stream'],
  ] as const) {
    assert.deepEqual(await media.get(put(gallery, name, jpeg, type)), { width: 60, height: 40 });
  }
});

test('reads at most 16 files at a time, and nothing for requests that are cancelled', async (t) => {
  const gallery = createGallery();
  const media = detailsOf(t, gallery);
  const open = gallery.hold();
  const controller = new AbortController();
  const files = Array.from({ length: 40 }, (_, index) => put(gallery, `photo ${index}.jpg`, jpeg));
  const cancelled = files.slice(0, 30).map((file) => media.get(file, { signal: controller.signal }));
  const staying = files.slice(30).map((file) => media.get(file));
  await settled();
  assert.equal(gallery.reads.length, 16);
  controller.abort(new Error('left'));
  for (const each of cancelled) await assert.rejects(each, /left/);
  open();
  for (const each of staying) assert.deepEqual(await each, { width: 60, height: 40 });
  assert.equal(gallery.reads.length, 26);
});

test('rejects an old version, and does not cache a failed read', async (t) => {
  const gallery = createGallery();
  const media = detailsOf(t, gallery);
  const old = put(gallery, 'photo.jpg', jpeg);
  const current = put(gallery, 'photo.jpg', await noise(1, 50).jpeg().toBuffer());
  await assert.rejects(media.get(old), { kind: 'condition-failed' });
  assert.deepEqual(await media.get(current), { width: 50, height: 50 });
});

test('rejects requests in progress and later ones with unavailable when it closes', async (t) => {
  const gallery = createGallery();
  const media = detailsOf(t, gallery);
  gallery.hold();
  const file = put(gallery, 'photo.jpg', jpeg);
  const pending = media.get(file);
  await settled();
  const closing = media.close();
  await assert.rejects(pending, { kind: 'unavailable' });
  await closing;
  await assert.rejects(media.get(file), { kind: 'unavailable' });
});
