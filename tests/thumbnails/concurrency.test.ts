import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import sharp from 'sharp';
import { isStoreError, StoreError } from '../../src/model/error.ts';
import { readSource } from '../../src/thumbnails/render.ts';
import { until } from '../../testing/until.ts';
import { createGallery, type Gallery, settled, thumbnailsOf } from './gallery.ts';
import { assertThumbnail, GREEN, noise, plain, RED } from './images.ts';

const image = await plain(RED).png().toBuffer();

/** The maximum queue length of a process that renders one file at a time. */
const WAITING = 64;

const putMany = (gallery: Gallery, count: number) =>
  Array.from({ length: count }, (_, index) => gallery.put(`image ${index}`, image));

test('renders a file once for concurrent requests', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  const responses = await Promise.all(Array.from({ length: 20 }, () => thumbnails.get(file)));
  assert.equal(gallery.reads.length, 1);
  assert.equal(new Set(responses).size, 1);
});

test('limits concurrent renders and starts them in request order', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 2 });
  const open = gallery.hold();
  const responses = putMany(gallery, 6).map((file) => thumbnails.get(file));
  await settled();
  assert.deepEqual(gallery.reads, ['image 0', 'image 1']);
  open();
  await Promise.all(responses);
  assert.deepEqual(gallery.reads, ['image 0', 'image 1', 'image 2', 'image 3', 'image 4', 'image 5']);
});

test('queues eight requests for each of many concurrent renders', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 9 });
  const open = gallery.hold();
  const [last, ...files] = putMany(gallery, 9 + 9 * 8 + 1);
  assert.ok(last);
  const responses = files.map((file) => thumbnails.get(file));
  await settled();
  await assert.rejects(thumbnails.get(last), { kind: 'unavailable' });
  open();
  await Promise.all(responses);
});

test('queues a full page of tiles and rejects the next request with a retry delay', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const open = gallery.hold();
  const [last, ...files] = putMany(gallery, 1 + WAITING + 1);
  assert.ok(last);
  const responses = files.map((file) => thumbnails.get(file));
  await settled();
  await assert.rejects(thumbnails.get(last), (error: unknown) => {
    assert.ok(isStoreError(error, 'unavailable'));
    assert.equal(error.retryAfter, 1);
    return true;
  });
  open();
  assert.equal((await Promise.all(responses)).length, 1 + WAITING);
  await thumbnails.get(last);
});

test('removes a cancelled request from the queue', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const open = gallery.hold();
  const [first, second, ...others] = putMany(gallery, 1 + WAITING + 1);
  assert.ok(first && second);
  const controller = new AbortController();
  const response = thumbnails.get(first);
  const dropped = thumbnails.get(second, { signal: controller.signal });
  const waiting = others.slice(0, WAITING - 1).map((file) => thumbnails.get(file));
  await settled();
  controller.abort(new Error('left'));
  await assert.rejects(dropped, /left/);
  // The queue was full. The cancelled request freed a place.
  const late = others.slice(WAITING - 1).map((file) => thumbnails.get(file));
  open();
  await Promise.all([response, ...waiting, ...late]);
  assert.ok(!gallery.reads.includes('image 1'));
});

test('closes the source of a cancelled render and starts the next render', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const [first, second] = putMany(gallery, 2);
  assert.ok(first && second);
  const open = gallery.hold();
  const controllers = [new AbortController(), new AbortController()];
  const responses = controllers.map(({ signal }) => thumbnails.get(first, { signal }));
  await until('the file is read', () => gallery.bodies.length === 1);
  controllers[0]?.abort(new Error('left first'));
  await assert.rejects(Promise.resolve(responses[0]), /left first/);
  await settled();
  assert.equal(gallery.bodies[0]?.destroyed, false, 'the other request still waits');
  controllers[1]?.abort(new Error('left last'));
  await assert.rejects(Promise.resolve(responses[1]), /left last/);
  await until('the body is closed', () => gallery.bodies[0]?.destroyed === true);
  open();
  await thumbnails.get(second);
});

test('rejects a cancelled request at once and completes the other requests', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  const open = gallery.hold();
  const controller = new AbortController();
  const other = new AbortController();
  const left = thumbnails.get(file, { signal: controller.signal });
  const others = [thumbnails.get(file), thumbnails.get(file, { signal: other.signal })];
  await until('the file is read', () => gallery.bodies.length === 1);
  const reason = new Error('left');
  controller.abort(reason);
  await assert.rejects(left, (error) => error === reason);
  open();
  for (const thumbnail of await Promise.all(others)) await assertThumbnail(thumbnail, [160, 160, RED]);
  assert.equal(gallery.reads.length, 1);
  for (const { signal } of [controller, other]) assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('starts nothing for a request that is already cancelled', async (t) => {
  const gallery = createGallery();
  const signal = AbortSignal.abort(new Error('left'));
  await assert.rejects(thumbnailsOf(t, gallery).get(gallery.put('image', image), { signal }), /left/);
  await settled();
  assert.deepEqual(gallery.reads, []);
});

test('returns a thumbnail to a request that arrives after all others were cancelled', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const file = gallery.put('image', image);
  const open = gallery.hold();
  const controller = new AbortController();
  const left = thumbnails.get(file, { signal: controller.signal });
  await until('the file is read', () => gallery.bodies.length === 1);
  controller.abort(new Error('left'));
  await assert.rejects(left, /left/);
  const pending = thumbnails.get(file);
  open();
  await assertThumbnail(await pending, [160, 160, RED]);
  assert.equal(gallery.reads.length, 2);
});

test('keeps a drawing in progress when the last request is cancelled', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const file = gallery.put('image', await noise(1, 2500).png({ compressionLevel: 0 }).toBuffer());
  const controller = new AbortController();
  const left = thumbnails.get(file, { signal: controller.signal });
  await until('sharp draws', () => sharp.counters().process + sharp.counters().queue > 0);
  controller.abort(new Error('left'));
  await assert.rejects(left, /left/);
  await assertThumbnail(await thumbnails.get(file));
  assert.equal(gallery.reads.length, 1);
});

test('does not cache a failed render', async (t) => {
  const gallery = createGallery();
  const file = gallery.put('image', image);
  const lost = new StoreError('unavailable', 'The backend is unreachable.', { retryAfter: 1 });
  let failures = 0;
  const flaky: Gallery = {
    ...gallery,
    files: {
      async read(path, options) {
        if (failures++ === 0) throw lost;
        const content = await gallery.files.read(path, options);
        if (failures === 2) content.body.destroy(lost);
        return content;
      },
    },
  };
  const thumbnails = thumbnailsOf(t, flaky);
  const together = await Promise.allSettled([thumbnails.get(file), thumbnails.get(file)]);
  assert.deepEqual(
    together.map((response) => response.status === 'rejected' && response.reason === lost),
    [true, true],
  );
  await assert.rejects(thumbnails.get(file), (error) => error === lost);
  await assertThumbnail(await thumbnails.get(file), [160, 160, RED]);
});

test('rejects an old version with condition-failed and draws the current one', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const old = gallery.put('image', image);
  const present = gallery.put('image', await plain(GREEN).png().toBuffer());
  await assert.rejects(thumbnails.get(old), { kind: 'condition-failed' });
  await assertThumbnail(await thumbnails.get(present), [160, 160, GREEN]);
});

test('rejects and closes a source whose length differs from its announced size', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  for (const size of [image.length - 1, image.length + 1]) {
    await assert.rejects(thumbnails.get({ ...file, size }), { kind: 'unavailable', retryAfter: 1 });
    assert.equal(gallery.bodies.at(-1)?.destroyed, true);
  }
});

test('does not modify buffered content of the store', async (t) => {
  const gallery = createGallery();
  const file = gallery.put('image', image);
  const kept = Buffer.from(image);
  const store: Gallery = {
    ...gallery,
    files: { read: async () => ({ file, bytes: kept, body: new PassThrough() }) },
  };
  await assertThumbnail(await thumbnailsOf(t, store).get(file), [160, 160, RED]);
  assert.deepEqual(kept, image);
});

test('returns a drawn thumbnail from memory until the service closes', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  assert.equal(thumbnails.peek(file), undefined);
  const drawn = await thumbnails.get(file);
  assert.equal(thumbnails.peek(file), drawn);
  assert.equal(thumbnails.peek({ ...file, etag: 'another' }), undefined);
  await thumbnails.close();
  assert.equal(thumbnails.peek(file), undefined);
});

test('times out a source that sends no data', async () => {
  const gallery = createGallery();
  const file = gallery.put('image', image);
  const body = new PassThrough();
  const silent: Gallery['files'] = { read: async () => ({ file, body }) };
  const reading = readSource(silent, file, { signal: new AbortController().signal, timeoutMs: 5 });
  await assert.rejects(reading, { kind: 'unavailable', message: /"image" could not be read within 0.005 seconds/ });
  assert.equal(body.destroyed, true);
});

test('aborts all requests when it closes', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const [first, second, third] = putMany(gallery, 3);
  assert.ok(first && second && third);
  gallery.hold();
  const responses = [first, second].map((file) => thumbnails.get(file));
  const refused = responses.map((response) => assert.rejects(response, { kind: 'unavailable', retryAfter: 1 }));
  await until('the file is read', () => gallery.bodies.length === 1);
  await thumbnails.close();
  await Promise.all(refused);
  assert.equal(gallery.bodies[0]?.destroyed, true);
  assert.deepEqual(gallery.reads, ['image 0']);
  await assert.rejects(thumbnails.get(third), { kind: 'unavailable' });
});

test('closes after the drawing in progress completes', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1 });
  const response = thumbnails.get(gallery.put('image', await noise(1, 2500).png({ compressionLevel: 0 }).toBuffer()));
  const settledResponse = Promise.allSettled([response]);
  await until('sharp draws', () => sharp.counters().process + sharp.counters().queue > 0);
  await thumbnails.close();
  assert.deepEqual(sharp.counters(), { queue: 0, process: 0 });
  await settledResponse;
});
