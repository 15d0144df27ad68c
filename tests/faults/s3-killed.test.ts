import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { atEnd, type Holdall, startHoldall } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { type Interceptor, type S3Proxy, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { assertSuccess, begin, postJson } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

/** The names and texts of the objects in a folder. Each text is different. */
type Tree = ReadonlyMap<string, string>;

const treeOf = (count: number): Tree =>
  new Map(Array.from({ length: count }, (_, index) => [`${index % 7}/object ${index}`, `The text of ${index}.`]));

/** The number of objects in a folder that is moved or copied. */
const OBJECTS = 28;

describe('A folder operation in a bucket, interrupted by kill -9', () => {
  it('completes a retried move after a kill during the copy', IN_FULL_FORM_ONLY, async (t) => {
    const tree = treeOf(OBJECTS);
    const { bucket, proxy, start } = await setUp(t, tree);
    proxy.intercept(holdAfter('CopyObject', OBJECTS / 2, proxy));
    await killWhen(await start(), '/move', 'half of the objects are copied', async () => {
      return (await textsIn(bucket, 'to/')).size === OBJECTS / 2;
    });
    await assertNothingLost(bucket, tree);

    proxy.intercept(undefined);
    assertSuccess(await postJson((await start()).port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });

  it('completes a retried move after a kill during the removal', async (t) => {
    const tree = treeOf(OBJECTS);
    const { bucket, proxy, start } = await setUp(t, tree);
    // Holdall removes the last object in a batch of its own.
    proxy.intercept(holdAfter('DeleteObjects', 1, proxy));
    await killWhen(await start(), '/move', 'the first batch is removed', async () => {
      return (await textsIn(bucket, 'from/')).size === 1;
    });
    await assertNothingLost(bucket, tree);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));

    proxy.intercept(undefined);
    proxy.forget();
    assertSuccess(await postJson((await start()).port, '/move', MOVE), MOVED);
    assert.equal(proxy.count('CopyObject'), 0, 'Copied objects are not copied again.');
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });

  // A move copies files like a copy does.
  if (isFullForm) {
    it('completes a retried copy after a kill', async (t) => {
      const tree = treeOf(OBJECTS);
      const { bucket, proxy, start } = await setUp(t, tree);
      proxy.intercept(holdAfter('CopyObject', OBJECTS / 2, proxy));
      await killWhen(await start(), '/copy', 'half of the objects are copied', async () => {
        return (await textsIn(bucket, 'to/')).size === OBJECTS / 2;
      });

      proxy.intercept(undefined);
      const copied = { message: 'Item copied successfully' };
      assertSuccess(await postJson((await start()).port, '/copy', MOVE), copied);
      for (const folder of ['from/', 'to/']) assert.deepEqual(await textsIn(bucket, folder), hashed(tree));
    });
  }
});

describe('A folder move in a bucket', () => {
  // One that changes during the removal: tests/stores/s3-moves.test.ts.
  if (isFullForm) {
    it('leaves objects in the source that were created or changed during the move', async (t) => {
      const opened = await serveProxied(t, { concurrency: 4 });
      const { bucket, proxy, port } = opened;
      const tree = treeOf(20);
      await plant(bucket, tree);
      const [first] = [...tree.keys()].toSorted();
      proxy.intercept(async ({ operation }) => {
        if (operation !== 'CopyObject' || proxy.count(operation) !== tree.size) return undefined;
        await until('the first object is copied', async () => (await bucket.keys()).includes(`to/${first}`));
        await put(bucket, 'from/new', 'created during the move');
        await put(bucket, `from/${first}`, 'changed during the move');
        return undefined;
      });
      assertSuccess(await postJson(port, '/move', MOVE), MOVED);
      assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
      const left = new Map([
        ['new', 'created during the move'],
        [String(first), 'changed during the move'],
      ]);
      assert.deepEqual(await textsIn(bucket, 'from/'), hashed(left));
    });
  }

  it('keeps the source when the client disconnects during the copy and completes when retried', async (t) => {
    const { bucket, proxy, port, log } = await serveProxied(t, { concurrency: 4 });
    const tree = treeOf(20);
    await plant(bucket, tree);
    const held = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation }) =>
      operation === 'CopyObject' && proxy.count(operation) > 10 ? held.promise : undefined,
    );
    const request = begin(port, '/move', { method: 'POST', headers: NDJSON, body: JSON.stringify(MOVE) });
    await until('some objects are copied', async () => (await textsIn(bucket, 'to/')).size >= 10);
    request.disconnect();
    await until('the disconnect is logged', () => log.some(({ path, status }) => path === '/move' && status === 499));
    held.resolve(undefined);
    assert.deepEqual(await textsIn(bucket, 'from/'), hashed(tree));
    assertSuccess(await postJson(port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.equal((await textsIn(bucket, 'from/')).size, 0);
  });

  it('completes when the client disconnects during the removal', IN_FULL_FORM_ONLY, async (t) => {
    const { bucket, proxy, port } = await serveProxied(t);
    const tree = treeOf(20);
    await plant(bucket, tree);
    const held = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation }) => (operation === 'DeleteObjects' ? held.promise : undefined));
    const request = begin(port, '/move', { method: 'POST', headers: NDJSON, body: JSON.stringify(MOVE) });
    await until('objects are removed', () => proxy.count('DeleteObjects') > 0);
    request.disconnect();
    held.resolve(undefined);
    await until('the source is removed', async () => (await textsIn(bucket, 'from/')).size === 0);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
  });
});

const MOVE = { source: 'from', destination: 'to', is_folder: true };
const MOVED = { message: 'Item moved successfully' };
const NDJSON = { 'content-type': 'application/json', accept: 'application/x-ndjson' };

interface Fixture {
  readonly bucket: TestBucket;
  readonly proxy: S3Proxy;
  /** Starts the service on the bucket. */
  start(): Promise<Holdall>;
}

/** Creates a bucket with the tree in the folder `from`, behind a proxy. */
async function setUp(t: TestContext, tree: Tree): Promise<Fixture> {
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

/** Holds the requests of an operation after the first `count`: they never reach the store. */
function holdAfter(operation: string, count: number, proxy: S3Proxy): Interceptor {
  return (request) =>
    request.operation === operation && proxy.count(operation) > count ? new Promise<undefined>(() => {}) : undefined;
}

/** Sends the request and kills the service when the condition holds. */
async function killWhen(holdall: Holdall, path: string, what: string, holds: () => Promise<boolean>): Promise<void> {
  const ended = Promise.allSettled([postJson(holdall.port, path, MOVE)]);
  await until(what, holds);
  await holdall.kill();
  const [response] = await ended;
  assert.equal(response.status, 'rejected', 'The request was interrupted.');
}

/** Returns the MD5 of each object in a folder, by name. */
async function textsIn({ client, name }: TestBucket, folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let token: string | undefined;
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: name, Prefix: folder, ContinuationToken: token }),
    );
    // The ETag of an object that was not uploaded in parts is its MD5.
    for (const { Key = '', ETag = '' } of page.Contents ?? []) found.set(Key.slice(folder.length), ETag);
    token = page.NextContinuationToken;
  } while (token !== undefined);
  return found;
}

function hashed(tree: Tree): Map<string, string> {
  const hash = (text: string) => `"${createHash('md5').update(text).digest('hex')}"`;
  return new Map([...tree].map(([name, text]) => [name, hash(text)]));
}

/** Asserts that each object is in at least one of the two folders, and that they hold nothing else. */
async function assertNothingLost(bucket: TestBucket, tree: Tree): Promise<void> {
  const found = new Map([...(await textsIn(bucket, 'to/')), ...(await textsIn(bucket, 'from/'))]);
  assert.deepEqual(found, hashed(tree));
}
