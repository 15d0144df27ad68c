import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { checkedBody } from '../../src/streams/bodies.ts';

const isTooLarge = (error: unknown) => isStoreError(error, 'too-large');
const createBody = () => Readable.from([Buffer.from('four'), Buffer.from('five5')], { objectMode: false });

test('a body of exactly the limit passes unchanged', async () => {
  assert.equal((await buffer(checkedBody(createBody(), { limit: 9 }))).toString(), 'fourfive5');
});

test('a body one byte over the limit fails, is destroyed and never calls atEnd', async () => {
  const body = createBody();
  const atEnd = () => assert.fail('atEnd was called');
  await assert.rejects(buffer(checkedBody(body, { limit: 8, atEnd })), isTooLarge);
  assert.ok(body.destroyed);
});

test('a body waits for atEnd and fails with its error', async () => {
  const done: string[] = [];
  const atEnd = async () => void done.push('at the end');
  assert.equal((await buffer(checkedBody(createBody(), { atEnd }))).toString(), 'fourfive5');
  assert.deepEqual(done, ['at the end']);
  const failing = async () => {
    throw new Error('a second file');
  };
  await assert.rejects(buffer(checkedBody(createBody(), { atEnd: failing })), /a second file/);
});

test('the error of a body reaches its reader, even if it occurred failedBody the read', async () => {
  const body = new PassThrough();
  const read = buffer(checkedBody(body, { limit: 9 }));
  body.write('four');
  body.destroy(new Error('interrupted'));
  await assert.rejects(read, /interrupted/);

  const lateBody = new PassThrough();
  const unread = checkedBody(lateBody, { limit: 9 });
  lateBody.destroy(new Error('interrupted'));
  await new Promise((resolve) => unread.once('close', resolve));
  await assert.rejects(buffer(unread), /interrupted/);

  const failedBody = new PassThrough();
  failedBody.on('error', () => {});
  failedBody.destroy(new Error('interrupted'));
  await assert.rejects(buffer(checkedBody(failedBody, { limit: 9 })), /interrupted/);
});

test('a body destroyed without an error fails as interrupted and never calls atEnd', async () => {
  const body = new PassThrough();
  const read = buffer(checkedBody(body, { atEnd: async () => assert.fail('atEnd was called') }));
  body.write('four');
  body.destroy();
  await assert.rejects(read, /interrupted/);
});

test('destroying the checked body destroys the source', async () => {
  const body = new PassThrough();
  const checked = checkedBody(body, { limit: 9 });
  checked.destroy();
  await new Promise((resolve) => body.once('close', resolve));
  assert.ok(body.destroyed);
});

test('a body applies backpressure when nothing reads it', async () => {
  let chunks = 0;
  const endless = new Readable({
    read() {
      chunks += 1;
      this.push(Buffer.alloc(64 * 1024));
    },
  });
  const checked = checkedBody(endless, { limit: 2 ** 40 });
  await new Promise((resolve) => checked.once('readable', resolve));
  for (let round = 0; round < 100; round++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(chunks < 10, `${chunks} chunks were read from the source without a reader`);
  checked.destroy();
});
