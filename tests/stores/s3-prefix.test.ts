import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { readConfig } from '../../src/config/config.ts';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles } from '../../src/files/files.ts';
import { encodeCursor } from '../../src/model/page.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { S3 } from '../../src/stores/s3/backend.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const PREFIX = 'team/files/';

/** Objects outside the prefix, in each place that a confused path could reach. */
const OUTSIDE = [
  'a.txt',
  'b/c.txt',
  'team/a.txt',
  'team/files',
  'team/files.txt',
  'team/files-2/a.txt',
  'team/filet/',
  'zz.txt',
];

async function openPart(t: TestContext): Promise<{ bucket: TestBucket; store: Store; warnings: string[] }> {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  for (const Key of OUTSIDE) await put(bucket, Key, `outside ${Key}`);
  const warnings: string[] = [];
  const store = openS3({ ...bucket.settings, prefix: PREFIX, warn: (message) => void warnings.push(message) });
  atEnd(t, async () => store.close?.());
  return { bucket, store, warnings };
}

const put = (bucket: TestBucket, Key: string, Body: string) =>
  bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key, Body }));

const write = (store: Store, path: string) =>
  store.write(parseFile(path), { body: Readable.from([Buffer.from(path)]), type: 'text/plain' });

const pathsIn = async (store: Store) => (await Array.fromAsync(walk(store, ROOT))).map(({ path }) => path);

async function assertUntouched(bucket: TestBucket): Promise<void> {
  const keys = await bucket.keys();
  assert.deepEqual(
    keys.filter((key) => !key.startsWith(PREFIX)),
    OUTSIDE.toSorted(),
  );
  for (const Key of OUTSIDE) {
    const { Body } = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key }));
    assert.equal(await Body?.transformToString(), `outside ${Key}`);
  }
}

describe('A bucket with a prefix', () => {
  it('contains only the objects below the prefix', async (t) => {
    const { bucket, store, warnings } = await openPart(t);
    assert.deepEqual(await store.list(ROOT), { entries: [], cursor: undefined });
    // The marker that consoles create for a folder.
    await put(bucket, PREFIX, '');
    await put(bucket, `${PREFIX}a.txt`, 'inside');
    await put(bucket, `${PREFIX}b/c.txt`, 'inside');
    assert.deepEqual(
      (await store.list(ROOT)).entries.map(({ path }) => path),
      ['a.txt', 'b/'],
    );
    assert.deepEqual(await pathsIn(store), ['a.txt', 'b/c.txt']);
    assert.deepEqual(warnings, []);
    for (const path of ['team/a.txt', 'zz.txt', 'files', 'team/files']) {
      await assert.rejects(store.stat(parseFile(path)), { code: 'not-found' });
    }
    await assert.rejects(store.list(parseFolder('team/')), { code: 'not-found' });
    const { body } = await store.read(parseFile('a.txt'));
    assert.equal(await text(Readable.from(body)), 'inside');
  });

  it('changes nothing outside the prefix', async (t) => {
    const { bucket, store } = await openPart(t);
    const files = createFiles(store, { presignExpires: 60 });
    for (const path of ['a.txt', 'b/c.txt', 'b/d/e.txt', 'files', 'zz.txt']) await write(store, path);
    await store.createFolder(parseFolder('empty/deep'));
    await files.copyFolder(parseFolder('b'), parseFolder('team'), { replace: false });
    await files.moveFolder(parseFolder('team'), parseFolder('moved'), { replace: false });
    await files.copyFile(parseFile('a.txt'), parseFile('copy.txt'), { replace: false });
    await files.moveFile(parseFile('copy.txt'), parseFile('copy 2.txt'), { replace: false });
    assert.deepEqual(
      (await bucket.keys()).filter((key) => key.startsWith(PREFIX)),
      [
        'a.txt',
        'b/c.txt',
        'b/d/e.txt',
        'copy 2.txt',
        'empty/',
        'empty/deep/',
        'files',
        'moved/c.txt',
        'moved/d/e.txt',
        'zz.txt',
      ].map((path) => PREFIX + path),
    );
    await files.deleteFolder(parseFolder('b'));
    await files.deleteFolder(parseFolder('moved'));
    await files.deleteFolder(parseFolder('empty'));
    for (const path of ['a.txt', 'copy 2.txt', 'files', 'zz.txt']) await store.remove(parseFile(path));
    assert.deepEqual(await pathsIn(store), []);
    await assertUntouched(bucket);
  });

  it('does not leave the prefix through a forged cursor', async (t) => {
    const { bucket, store } = await openPart(t);
    for (const path of ['m.txt', 'n.txt', 'o.txt']) await put(bucket, PREFIX + path, 'inside');
    const whole = openS3({ ...bucket.settings, warn: () => {} });
    atEnd(t, async () => whole.close?.());
    const foreign = (await whole.list(ROOT, { limit: 1 })).cursor;
    const cursors = [foreign, '', '../', 'a.txt', '\u{10ffff}'].map((last) =>
      last === foreign ? String(foreign) : encodeCursor({ last: String(last), token: undefined }),
    );
    for (const cursor of cursors) {
      const listed = await store.list(ROOT, { cursor }).catch((error: { code?: string }) => error);
      if ('entries' in listed) {
        for (const { path } of listed.entries) assert.match(path, /^[mno]\.txt$/);
      } else assert.equal(listed.code, 'invalid-cursor');
    }
  });

  it('presigns URLs of objects below the prefix', async (t) => {
    const { store } = await openPart(t);
    await write(store, 'a.txt');
    const file = await store.stat(parseFile('a.txt'));
    const url = await store.presign?.(file, { expires: 60, download: true, purpose: 'read' });
    assert.equal(await (await fetch(String(url))).text(), 'a.txt');
    assert.ok(new URL(String(url)).pathname.endsWith(`/${PREFIX}a.txt`));
  });

  it('has public URLs with the prefix', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    const publicUrl = 'https://files.example.org';
    const store = openS3({ ...bucket.settings, prefix: 'té & co/', publicUrl, warn: () => {} });
    atEnd(t, async () => store.close?.());
    await write(store, 'a.txt');
    const { publicUrl: url } = await store.stat(parseFile('a.txt'));
    assert.equal(url, 'https://files.example.org/t%C3%A9%20%26%20co/a.txt');
  });
});

describe('The setting S3_PREFIX', () => {
  const BUCKET = { STORAGE_TYPE: 's3', S3_BUCKET: 'b', S3_REGION: 'eu-central-1', SIGNING_KEY: 'k'.repeat(32) };

  it('accepts the path of a folder, with or without slashes around it', () => {
    for (const S3_PREFIX of ['team/files', '/team/files', 'team/files/', '/team/files/']) {
      assert.equal(readConfig({ ...BUCKET, S3_PREFIX }).S3_PREFIX, PREFIX);
    }
    assert.equal(readConfig({ ...BUCKET, S3_PREFIX: 'é & co' }).S3_PREFIX, 'é & co/');
    assert.equal(readConfig(BUCKET).S3_PREFIX, undefined);
  });

  it('rejects paths that are not folders', () => {
    for (const S3_PREFIX of ['/', '//', 'a//b', '.', 'a/../b', '..', 'a\nb', 'x'.repeat(512)]) {
      assert.throws(
        () => readConfig({ ...BUCKET, S3_PREFIX }),
        /S3_PREFIX must be the path of a folder of at most 512 bytes/,
      );
    }
  });

  it('separates the local folders and the name of the store', async (t) => {
    const log = { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} };
    const opened = await Promise.all(
      [{}, { S3_PREFIX: 'a' }, { S3_PREFIX: 'b' }].map((more) => S3.open(readConfig({ ...BUCKET, ...more }), log)),
    );
    atEnd(t, async () => void (await Promise.all(opened.map(async ({ store }) => store.close?.()))));
    assert.deepEqual(
      opened.map(({ name }) => name),
      ['', '/a/', '/b/'].map((path) => `https://s3.eu-central-1.amazonaws.com/b${path}`),
    );
    assert.equal(new Set(opened.map(({ cacheFolder }) => cacheFolder)).size, 3);
  });
});
