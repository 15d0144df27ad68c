import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { eachPiece } from '../../src/domain/each-piece.ts';

const pieces = () => Readable.from(['one', 'two', 'three'], { objectMode: false });

test('pieces are taken one after the other, and the last one is waited for', async () => {
  const told: string[] = [];
  await eachPiece(pieces(), async (piece) => {
    told.push(`${piece.toString()} begins`);
    await turn();
    told.push(`${piece.toString()} ends`);
  });
  const names = ['one', 'two', 'three'];
  assert.deepEqual(
    told,
    names.flatMap((name) => [`${name} begins`, `${name} ends`]),
  );
});

test('a piece that fails gives the body up, also the last one', async () => {
  for (const failing of ['one', 'three']) {
    const body = pieces();
    const taken: string[] = [];
    const take = async (piece: Buffer) => {
      taken.push(piece.toString());
      await turn();
      if (piece.toString() === failing) throw new Error('the disk is full');
    };
    await assert.rejects(eachPiece(body, take), /the disk is full/);
    assert.ok(body.destroyed);
    assert.equal(taken.at(-1), failing);
  }
});

test('a body that breaks off fails, before it is read, while it is and without a reason', async () => {
  const before = new PassThrough();
  before.on('error', () => {});
  before.destroy(new Error('cut off'));
  await assert.rejects(
    eachPiece(before, () => {}),
    /cut off/,
  );

  const meanwhile = new PassThrough();
  const reading = eachPiece(meanwhile, () => void meanwhile.destroy(new Error('cut off')));
  meanwhile.write('one');
  await assert.rejects(reading, /cut off/);

  const silent = new PassThrough();
  const waiting = eachPiece(silent, () => {});
  silent.destroy();
  await assert.rejects(waiting, /cut short/);
});

test('a body that was read before has no pieces', async () => {
  const body = pieces();
  await buffer(body);
  await eachPiece(body, () => assert.fail('there was a piece'));
});
