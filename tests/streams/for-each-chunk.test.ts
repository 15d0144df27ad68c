import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { forEachChunk } from '../../src/streams/bodies.ts';

const createBody = () => Readable.from(['one', 'two', 'three'], { objectMode: false });

test('eachPiece handles chunks one after the other and waits for the last one', async () => {
  const events: string[] = [];
  await forEachChunk(createBody(), async (chunk) => {
    events.push(`${chunk.toString()} begins`);
    await turn();
    events.push(`${chunk.toString()} ends`);
  });
  const names = ['one', 'two', 'three'];
  assert.deepEqual(
    events,
    names.flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
});

test('an error in the handler destroys the body, also for the last chunk', async () => {
  for (const failing of ['one', 'three']) {
    const body = createBody();
    const handled: string[] = [];
    const handle = async (chunk: Buffer) => {
      handled.push(chunk.toString());
      await turn();
      if (chunk.toString() === failing) throw new Error('the disk is full');
    };
    await assert.rejects(forEachChunk(body, handle), /the disk is full/);
    assert.ok(body.destroyed);
    assert.equal(handled.at(-1), failing);
  }
});

test('a body fails that is destroyed before or during the read, with or without an error', async () => {
  const failed = new PassThrough();
  failed.on('error', () => {});
  failed.destroy(new Error('interrupted'));
  await assert.rejects(
    forEachChunk(failed, () => {}),
    /interrupted/,
  );

  const failing = new PassThrough();
  const reading = forEachChunk(failing, () => void failing.destroy(new Error('interrupted')));
  failing.write('one');
  await assert.rejects(reading, /interrupted/);

  const silent = new PassThrough();
  const waiting = forEachChunk(silent, () => {});
  silent.destroy();
  await assert.rejects(waiting, /interrupted/);
});

test('a body that was read before has no chunks', async () => {
  const body = createBody();
  await buffer(body);
  await forEachChunk(body, () => assert.fail('the body has a chunk'));
});
