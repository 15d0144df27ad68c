import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { type Interceptor, type S3Proxy, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, begin, postJson } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

/** The names and texts of the objects in a folder. Each text is different. */
type Tree = ReadonlyMap<string, string>;

const treeOf = (count: number): Tree =>
  new Map(Array.from({ length: count }, (_, index) => [`${index % 7}/object ${index}`, `The text of ${index}.`]));

/** The number of objects in a folder that is moved or copied. */
const OBJECTS = 28;

// For a bucket, a process that is killed is one of which no more requests arrive.
describe('A folder move in a bucket of which no more requests arrive', () => {
  it('completes when it is sent to another service, after half of the copies', async (t) => {
    const tree = treeOf(OBJECTS);
    const { bucket, start } = await setUp(t, tree);
    await abandon(await start('CopyObject', OBJECTS / 2), 'half of the objects are copied', async () => {
      return (await textsIn(bucket, 'to/')).size === OBJECTS / 2;
    });
    await assertNothingLost(bucket, tree);

    assertSuccess(await postJson((await start()).port, '/move', MOVE), MOVED);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });

  it('completes when it is sent to another service, after the first batch of removals', async (t) => {
    const tree = treeOf(OBJECTS);
    const { bucket, start } = await setUp(t, tree);
    // Holdall removes the last object in a batch of its own.
    await abandon(await start('DeleteObjects', 1), 'the first batch is removed', async () => {
      return (await textsIn(bucket, 'from/')).size === 1;
    });
    await assertNothingLost(bucket, tree);
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));

    const { port, proxy } = await start();
    assertSuccess(await postJson(port, '/move', MOVE), MOVED);
    assert.equal(proxy.count('CopyObject'), 0, 'Copied objects are not copied again.');
    assert.deepEqual(await textsIn(bucket, 'to/'), hashed(tree));
    assert.deepEqual(await textsIn(bucket, 'from/'), new Map());
  });
});

describe('A folder move in a bucket', () => {
  // One that changes during the removal: tests/stores/s3-moves.test.ts.
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

  it('completes when the client disconnects during the removal', async (t) => {
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
const JSON_BODY = { 'content-type': 'application/json' };
const NDJSON = { ...JSON_BODY, accept: 'application/x-ndjson' };

interface Fixture {
  readonly bucket: TestBucket;
  /** Starts a service on the bucket. Its requests of this operation, after the first `count`, never arrive. */
  start(held?: string, count?: number): Promise<ProxiedService>;
}

interface ProxiedService {
  readonly port: number;
  readonly proxy: S3Proxy;
}

/** Creates a bucket with the tree in the folder `from`. */
async function setUp(t: TestContext, tree: Tree): Promise<Fixture> {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  await plant(bucket, tree);
  return {
    bucket,
    async start(held, count = 0) {
      const proxy = await startS3Proxy(testObjectStore());
      if (held !== undefined) proxy.intercept(holdAfter(held, count, proxy));
      const settings = settingsOf({ settings: { ...bucket.settings, endpoint: proxy.url } });
      const { port } = await startInProcess(t, { settings });
      // Registered after the service, because a service that stops waits for its requests.
      atEnd(t, () => proxy.stop());
      return { port, proxy };
    },
  };
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

/** Sends the move, and waits for the condition. The move then stays as it is. */
async function abandon({ port }: ProxiedService, what: string, holds: () => Promise<boolean>): Promise<void> {
  const request = begin(port, '/move', { method: 'POST', headers: JSON_BODY, body: JSON.stringify(MOVE) });
  request.response.catch(() => {});
  await until(what, holds);
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
