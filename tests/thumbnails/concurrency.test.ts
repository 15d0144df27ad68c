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

/** How many may wait in a process that renders one at a time. */
const WAITING = 64;

const putMany = (gallery: Gallery, count: number) =>
  Array.from({ length: count }, (_, index) => gallery.put(`image ${index}`, image));

test('renders once, however many ask at the same time', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  const answers = await Promise.all(Array.from({ length: 20 }, () => thumbnails.get(file)));
  assert.equal(gallery.reads.length, 1);
  assert.equal(new Set(answers).size, 1);
});

test('renders no more at once than told, in the order of asking', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 2 });
  const open = gallery.hold();
  const answers = putMany(gallery, 6).map((file) => thumbnails.get(file));
  await settled();
  assert.deepEqual(gallery.reads, ['image 0', 'image 1']);
  open();
  await Promise.all(answers);
  assert.deepEqual(gallery.reads, ['image 0', 'image 1', 'image 2', 'image 3', 'image 4', 'image 5']);
});

test('lets eight wait for each render where many are rendered at once', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 9 });
  const open = gallery.hold();
  const [last, ...files] = putMany(gallery, 9 + 9 * 8 + 1);
  assert.ok(last);
  const answers = files.map((file) => thumbnails.get(file));
  await settled();
  await assert.rejects(thumbnails.get(last), { kind: 'unavailable' });
  open();
  await Promise.all(answers);
});

test('lets as many wait as a page full of tiles asks for, and tells the next to come back', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const open = gallery.hold();
  const [last, ...files] = putMany(gallery, 1 + WAITING + 1);
  assert.ok(last);
  const answers = files.map((file) => thumbnails.get(file));
  await settled();
  await assert.rejects(thumbnails.get(last), (error: unknown) => {
    assert.ok(isStoreError(error, 'unavailable'));
    assert.equal(error.retryAfter, 1);
    return true;
  });
  open();
  assert.equal((await Promise.all(answers)).length, 1 + WAITING);
  await thumbnails.get(last);
});

test('drops from the queue what nobody waits for any more', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const open = gallery.hold();
  const [first, second, ...others] = putMany(gallery, 1 + WAITING + 1);
  assert.ok(first && second);
  const leaving = new AbortController();
  const answer = thumbnails.get(first);
  const dropped = thumbnails.get(second, { signal: leaving.signal });
  const waiting = others.slice(0, WAITING - 1).map((file) => thumbnails.get(file));
  await settled();
  leaving.abort(new Error('left'));
  await assert.rejects(dropped, /left/);
  // The queue was full; whoever left made room.
  const late = others.slice(WAITING - 1).map((file) => thumbnails.get(file));
  open();
  await Promise.all([answer, ...waiting, ...late]);
  assert.ok(!gallery.reads.includes('image 1'));
});

test('closes the source of a render that nobody waits for any more, and gives its place to the next', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const [first, second] = putMany(gallery, 2);
  assert.ok(first && second);
  const open = gallery.hold();
  const leaving = [new AbortController(), new AbortController()];
  const answers = leaving.map(({ signal }) => thumbnails.get(first, { signal }));
  await until('the file is read', () => gallery.bodies.length === 1);
  leaving[0]?.abort(new Error('left first'));
  await assert.rejects(Promise.resolve(answers[0]), /left first/);
  await settled();
  assert.equal(gallery.bodies[0]?.destroyed, false, 'the other one still waits');
  leaving[1]?.abort(new Error('left last'));
  await assert.rejects(Promise.resolve(answers[1]), /left last/);
  await until('the body is closed', () => gallery.bodies[0]?.destroyed === true);
  open();
  await thumbnails.get(second);
});

test('an asker who leaves gets the reason at once, and the others get the thumbnail', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  const open = gallery.hold();
  const leaving = new AbortController();
  const staying = new AbortController();
  const left = thumbnails.get(file, { signal: leaving.signal });
  const stayed = [thumbnails.get(file), thumbnails.get(file, { signal: staying.signal })];
  await until('the file is read', () => gallery.bodies.length === 1);
  const reason = new Error('left');
  leaving.abort(reason);
  await assert.rejects(left, (error) => error === reason);
  open();
  for (const thumbnail of await Promise.all(stayed)) await assertThumbnail(thumbnail, [160, 160, RED]);
  assert.equal(gallery.reads.length, 1);
  for (const { signal } of [leaving, staying]) assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('an asker who has left before it asks starts nothing', async (t) => {
  const gallery = createGallery();
  const signal = AbortSignal.abort(new Error('left'));
  await assert.rejects(thumbnailsOf(t, gallery).get(gallery.put('image', image), { signal }), /left/);
  await settled();
  assert.deepEqual(gallery.reads, []);
});

test('an asker who comes when all others have left gets a thumbnail', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const file = gallery.put('image', image);
  const open = gallery.hold();
  const leaving = new AbortController();
  const left = thumbnails.get(file, { signal: leaving.signal });
  await until('the file is read', () => gallery.bodies.length === 1);
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/);
  const came = thumbnails.get(file);
  open();
  await assertThumbnail(await came, [160, 160, RED]);
  assert.equal(gallery.reads.length, 2);
});

test('keeps what was being drawn when the last asker left', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const file = gallery.put('image', await noise(1, 2500).png({ compressionLevel: 0 }).toBuffer());
  const leaving = new AbortController();
  const left = thumbnails.get(file, { signal: leaving.signal });
  await until('sharp draws', () => sharp.counters().process + sharp.counters().queue > 0);
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/);
  await assertThumbnail(await thumbnails.get(file));
  assert.equal(gallery.reads.length, 1);
});

test('a failed render is not kept', async (t) => {
  const gallery = createGallery();
  const file = gallery.put('image', image);
  const lost = new StoreError('unavailable', 'The backend is out of reach.', { retryAfter: 1 });
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
    together.map((answer) => answer.status === 'rejected' && answer.reason === lost),
    [true, true],
  );
  await assert.rejects(thumbnails.get(file), (error) => error === lost);
  await assertThumbnail(await thumbnails.get(file), [160, 160, RED]);
});

test('lets it pass that a file is another version by now', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const old = gallery.put('image', image);
  const present = gallery.put('image', await plain(GREEN).png().toBuffer());
  await assert.rejects(thumbnails.get(old), { kind: 'condition-failed' });
  await assertThumbnail(await thumbnails.get(present), [160, 160, GREEN]);
});

test('a source with another number of bytes than announced is no image, and is closed', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery);
  const file = gallery.put('image', image);
  for (const size of [image.length - 1, image.length + 1]) {
    await assert.rejects(thumbnails.get({ ...file, size }), { kind: 'unavailable', retryAfter: 1 });
    assert.equal(gallery.bodies.at(-1)?.destroyed, true);
  }
});

test('leaves alone what the store has at hand', async (t) => {
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

test('what was drawn is at hand from then on, until it is closed', async (t) => {
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

test('a source that gives nothing is given up', async () => {
  const gallery = createGallery();
  const file = gallery.put('image', image);
  const body = new PassThrough();
  const silent: Gallery['files'] = { read: async () => ({ file, body }) };
  const reading = readSource(silent, file, { signal: new AbortController().signal, timeLimit: 5 });
  await assert.rejects(reading, { kind: 'unavailable', message: /"image" could not be read within 0.005 seconds/ });
  assert.equal(body.destroyed, true);
});

test('ends everything when it is closed', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const [first, second, third] = putMany(gallery, 3);
  assert.ok(first && second && third);
  gallery.hold();
  const answers = [first, second].map((file) => thumbnails.get(file));
  const refused = answers.map((answer) => assert.rejects(answer, { kind: 'unavailable', retryAfter: 1 }));
  await until('the file is read', () => gallery.bodies.length === 1);
  await thumbnails.close();
  await Promise.all(refused);
  assert.equal(gallery.bodies[0]?.destroyed, true);
  assert.deepEqual(gallery.reads, ['image 0']);
  await assert.rejects(thumbnails.get(third), { kind: 'unavailable' });
});

test('closes when what is being drawn is drawn', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { renders: 1 });
  const answer = thumbnails.get(gallery.put('image', await noise(1, 2500).png({ compressionLevel: 0 }).toBuffer()));
  const settledAnswer = Promise.allSettled([answer]);
  await until('sharp draws', () => sharp.counters().process + sharp.counters().queue > 0);
  await thumbnails.close();
  assert.deepEqual(sharp.counters(), { queue: 0, process: 0 });
  await settledAnswer;
});
