import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { assertSuccess, begin, postJson } from '../http/client.ts';
import { atEnd, type Holdall, startHoldall } from '../process/holdall.ts';
import { until } from '../process/until.ts';
import type { Need } from '../runner/needs.ts';
import { createBucket, type TestBucket } from '../servers/bucket.ts';
import { testObjectStore } from '../servers/object-store.ts';
import { serveProxied } from '../servers/proxied-bucket.ts';
import { type S3Proxy, startS3Proxy } from '../servers/s3-proxy.ts';
import { settingsOf } from '../servers/settings.ts';

export const needs: readonly Need[] = ['bucket'];

/** Names and texts of objects in a folder; no two texts are equal. */
type Tree = ReadonlyMap<string, string>;

const treeOf = (count: number): Tree =>
  new Map(Array.from({ length: count }, (_, index) => [`${index % 7}/object ${index}`, `The text of ${index}.`]));

describe('kill -9 in the middle of a folder operation in a bucket', () => {
  it('leaves a move that was copying to be completed by the same request', async (t) => {
    const tree = treeOf(400);
    const { bucket, proxy, ...stage } = await setUp(t, tree);
    const killed = await stage.start();
    await killWhen(killed, '/move', { 'half of it is copied': () => proxy.count('CopyObject') > 200 });
    await assertNothingLost(bucket, tree);
    assert.ok((await textsIn(bucket, 'to/')).size < tree.size, 'It was in the middle.');

    assertSuccess(await postJson((await stage.start()).port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });

  it('leaves a move that was removing to be completed by the same request', async (t) => {
    const tree = treeOf(1200);
    const { bucket, proxy, ...stage } = await setUp(t, tree);
    // The first batch of a thousand is removed, and no other.
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' && proxy.count(operation) > 1 ? new Promise<undefined>(() => {}) : undefined,
    );
    const killed = await stage.start();
    await killWhen(killed, '/move', {
      'half of it is copied': () => proxy.count('CopyObject') > 600,
      'it removes': () => proxy.count('DeleteObjects') > 0,
      'a thousand are removed': async () => (await textsIn(bucket, 'from/')).size === 200,
    });
    await assertNothingLost(bucket, tree);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));

    proxy.intercept(undefined);
    proxy.forget();
    assertSuccess(await postJson((await stage.start()).port, '/move', MOVE), MOVED);
    assert.equal(proxy.count('CopyObject'), 0, 'What is copied is not copied again.');
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });

  it('leaves a copy to be completed by the same request', async (t) => {
    const tree = treeOf(400);
    const { bucket, proxy, ...stage } = await setUp(t, tree);
    const killed = await stage.start();
    await killWhen(killed, '/copy', { 'half of it is copied': () => proxy.count('CopyObject') > 200 });
    assert.ok((await textsIn(bucket, 'to/')).size < tree.size, 'It was in the middle.');

    const copied = { message: 'Item copied successfully' };
    assertSuccess(await postJson((await stage.start()).port, '/copy', MOVE), copied);
    for (const folder of ['from/', 'to/']) assert.deepEqual(await textsIn(bucket, folder), hashed(tree));
  });
});

describe('The move of a folder in a bucket', () => {
  it('leaves in the source what arrived or changed there meanwhile', async (t) => {
    const opened = await serveProxied(t, { concurrency: 4 });
    const { bucket, proxy, port } = opened;
    const tree = treeOf(20);
    await plant(bucket, tree);
    const [first] = [...tree.keys()].toSorted();
    proxy.intercept(async ({ operation }) => {
      if (operation !== 'CopyObject' || proxy.count(operation) !== tree.size) return undefined;
      await until('the first one is copied', async () => (await bucket.keys()).includes(`to/${first}`));
      await put(bucket, 'from/arrived', 'It came late.');
      await put(bucket, `from/${first}`, 'It was written to.');
      return undefined;
    });
    assertSuccess(await postJson(port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    const left = new Map([
      ['arrived', 'It came late.'],
      [String(first), 'It was written to.'],
    ]);
    assert.deepEqual(await textsIn(bucket, 'from/'), hashed(left));
  });

  it('that is cancelled while it copies leaves the source whole, and is completed by the same request', async (t) => {
    const { bucket, proxy, port, log } = await serveProxied(t, { concurrency: 4 });
    const tree = treeOf(20);
    await plant(bucket, tree);
    const held = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation }) =>
      operation === 'CopyObject' && proxy.count(operation) > 10 ? held.promise : undefined,
    );
    const request = begin(port, '/move', { method: 'POST', headers: NDJSON, body: JSON.stringify(MOVE) });
    await until('some are copied', async () => (await textsIn(bucket, 'to/')).size >= 10);
    request.leave();
    await until('it is noticed', () => log.some(({ path, status }) => path === '/move' && status === 499));
    held.resolve(undefined);
    assert.deepEqual(await textsIn(bucket, 'from/'), hashed(tree));
    assertSuccess(await postJson(port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.equal((await textsIn(bucket, 'from/')).size, 0);
  });

  it('that is left while it removes goes on to its end', async (t) => {
    const { bucket, proxy, port } = await serveProxied(t);
    const tree = treeOf(20);
    await plant(bucket, tree);
    const held = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation }) => (operation === 'DeleteObjects' ? held.promise : undefined));
    const request = begin(port, '/move', { method: 'POST', headers: NDJSON, body: JSON.stringify(MOVE) });
    await until('it removes', () => proxy.count('DeleteObjects') > 0);
    request.leave();
    held.resolve(undefined);
    await until('the source is gone', async () => (await textsIn(bucket, 'from/')).size === 0);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
  });
});

const MOVE = { source: 'from', destination: 'to', is_folder: true };
const MOVED = { message: 'Item moved successfully' };
const NDJSON = { 'content-type': 'application/json', accept: 'application/x-ndjson' };

interface Stage {
  readonly bucket: TestBucket;
  readonly proxy: S3Proxy;
  /** Starts the service on the bucket. */
  start(): Promise<Holdall>;
}

/** A bucket with the tree in the folder `from`. */
async function setUp(t: TestContext, tree: Tree): Promise<Stage> {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  const proxy = await startS3Proxy(testObjectStore());
  atEnd(t, () => proxy.stop());
  await plant(bucket, tree);
  const settings = settingsOf({ settings: { ...bucket.settings, endpoint: proxy.url } });
  return { bucket, proxy, start: () => startHoldall(t, { settings }) };
}

async function put({ client, name }: TestBucket, Key: string, Body: string): Promise<void> {
  await client.send(new PutObjectCommand({ Bucket: name, Key, Body }));
}

async function plant(bucket: TestBucket, tree: Tree): Promise<void> {
  const left = [...tree];
  const worker = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await put(bucket, `from/${next[0]}`, next[1]);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

/** Sends the request and kills the service when the last of these moments has come. */
async function killWhen(
  holdall: Holdall,
  path: string,
  moments: Readonly<Record<string, () => boolean | Promise<boolean>>>,
): Promise<void> {
  const ended = Promise.allSettled([postJson(holdall.port, path, MOVE)]);
  for (const [moment, hasCome] of Object.entries(moments)) await until(moment, hasCome);
  await holdall.kill();
  const [answer] = await ended;
  assert.equal(answer.status, 'rejected', 'It was not done.');
}

/** The objects of a folder: each name, and the hash of its text. */
async function textsIn({ client, name }: TestBucket, folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: name, Prefix: folder, ContinuationToken: token }),
    );
    // The etag of an object that came in one piece is its MD5.
    for (const { Key = '', ETag = '' } of page.Contents ?? []) found.set(Key.slice(folder.length), ETag);
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return found;
}

function hashed(tree: Tree): Map<string, string> {
  const hash = (text: string) => `"${createHash('md5').update(text).digest('hex')}"`;
  return new Map([...tree].map(([name, text]) => [name, hash(text)]));
}

/** Expects every object, as it is, in at least one of the two folders, and nothing else in them. */
async function assertNothingLost(bucket: TestBucket, tree: Tree): Promise<void> {
  const there = new Map([...(await textsIn(bucket, 'to/')), ...(await textsIn(bucket, 'from/'))]);
  assert.deepEqual(there, hashed(tree));
}
