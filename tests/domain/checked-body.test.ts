import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { checkedBody } from '../../src/domain/checked-body.ts';
import { isStoreError } from '../../src/domain/error.ts';

const isTooLarge = (error: unknown) => isStoreError(error, 'too-large');
const pieces = () => Readable.from([Buffer.from('four'), Buffer.from('five5')], { objectMode: false });

test('a body of just as many bytes as the limit passes whole', async () => {
  assert.equal((await buffer(checkedBody(pieces(), { limit: 9 }))).toString(), 'fourfive5');
});

test('a body with one byte more than the limit fails, is given up, and never comes to its end', async () => {
  const body = pieces();
  const atEnd = () => assert.fail('the end was reached');
  await assert.rejects(buffer(checkedBody(body, { limit: 8, atEnd })), isTooLarge);
  assert.ok(body.destroyed);
});

test('a body ends when what is done at its end is done, and fails as that does', async () => {
  const done: string[] = [];
  const atEnd = async () => void done.push('at the end');
  assert.equal((await buffer(checkedBody(pieces(), { atEnd }))).toString(), 'fourfive5');
  assert.deepEqual(done, ['at the end']);
  const failing = async () => {
    throw new Error('a second file');
  };
  await assert.rejects(buffer(checkedBody(pieces(), { atEnd: failing })), /a second file/);
});

test('the failure of a body reaches its reader, also one who comes after it', async () => {
  const body = new PassThrough();
  const read = buffer(checkedBody(body, { limit: 9 }));
  body.write('four');
  body.destroy(new Error('cut off'));
  await assert.rejects(read, /cut off/);

  const late = new PassThrough();
  const unread = checkedBody(late, { limit: 9 });
  late.destroy(new Error('cut off'));
  await new Promise((resolve) => unread.once('close', resolve));
  await assert.rejects(buffer(unread), /cut off/);

  const before = new PassThrough();
  before.on('error', () => {});
  before.destroy(new Error('cut off'));
  await assert.rejects(buffer(checkedBody(before, { limit: 9 })), /cut off/);
});

test('a body that is given up without a word fails, and is never taken for whole', async () => {
  const body = new PassThrough();
  const read = buffer(checkedBody(body, { atEnd: async () => assert.fail('the end was reached') }));
  body.write('four');
  body.destroy();
  await assert.rejects(read, /cut short/);
});

test('a body ends with its reader', async () => {
  const body = new PassThrough();
  const checked = checkedBody(body, { limit: 9 });
  checked.destroy();
  await new Promise((resolve) => body.once('close', resolve));
  assert.ok(body.destroyed);
});

test('a body waits for its reader', async () => {
  let given = 0;
  const endless = new Readable({
    read() {
      given += 1;
      this.push(Buffer.alloc(64 * 1024));
    },
  });
  const checked = checkedBody(endless, { limit: 2 ** 40 });
  await new Promise((resolve) => checked.once('readable', resolve));
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(given < 10, `${given} pieces were taken though none was read`);
  checked.destroy();
});
