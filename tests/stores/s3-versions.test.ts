import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import type { KeptId } from '../../src/model/kept-ids.ts';
import type { FilePath } from '../../src/model/path.ts';
import type { Store, VersionStore } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd } from '../../testing/holdall.ts';
import { LARGE, MAX_COPY_BYTES, OTHER } from '../../testing/servers/objects.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

type VersioningStore = Store & Required<VersionStore>;

const bytesUpload = (bytes: Buffer) => ({ body: Readable.from([bytes]), type: 'application/octet-stream' });

async function textsOf(store: VersioningStore, path: FilePath): Promise<string[]> {
  const { versions } = await store.listVersions(path);
  return Promise.all(
    versions.map(async ({ id }) => (await buffer((await store.readVersion(path, id)).body)).toString()),
  );
}

async function open(t: TestContext, options: Parameters<typeof openProxied>[1] = {}) {
  const opened = await openProxied(t, options);
  const other = openS3({ ...opened.bucket.settings, warn: () => {} }) as VersioningStore;
  atEnd(t, () => other.close?.());
  return { ...opened, store: opened.store as VersioningStore, other };
}

const A = file('a');

describe('A version in a bucket without object versions', () => {
  it('costs a replacement one copy and one read, and a new file one read', async (t) => {
    const { store, proxy } = await open(t);
    const operations = async (work: () => Promise<unknown>) => {
      proxy.forget();
      await work();
      return proxy.requests.map(({ operation }) => operation);
    };
    const write = (text: string) => () => store.write(A, upload(text), { keep: {} });
    // The store remembers whether the bucket has object versions.
    await store.write(file('b'), upload('1'), { keep: {} });
    assert.deepEqual(await operations(write('1')), ['HeadObject', 'PutObject']);
    // The first write under a condition learns how Ceph expects ETags.
    await write('2')();
    assert.deepEqual(await operations(write('3')), ['HeadObject', 'CopyObject', 'PutObject']);
    assert.deepEqual(await operations(() => store.write(A, upload('4'))), ['PutObject']);
    assert.deepEqual(await textsOf(store, A), ['2', '1']);
  });

  it('keeps large files, which are copied and uploaded in parts', async (t) => {
    const { store } = await open(t, { maxCopyBytes: MAX_COPY_BYTES });
    const large = Buffer.concat([OTHER, OTHER]);
    for (const bytes of [LARGE, large, OTHER]) await store.write(A, bytesUpload(bytes), { keep: {} });
    const texts = await textsOf(store, A);
    assert.ok(texts.length === 2 && texts[0] === large.toString() && texts[1] === LARGE.toString());
    const [, first] = (await store.listVersions(A)).versions;
    assert.ok(first);
    await store.restoreVersion(A, first.id, { keep: {} });
    assert.ok((await textOf(store, 'a')) === LARGE.toString());
    await store.write(file('b'), bytesUpload(large));
    await store.copy?.(file('b'), A, { replace: true, keep: {} });
    assert.ok((await textOf(store, 'a')) === large.toString());
    assert.equal((await store.listVersions(A)).versions.length, 4);
  });

  it('is kept once when several processes replace a file', async (t) => {
    const { store, other } = await open(t);
    await store.write(A, upload('first'));
    const kept: KeptId[] = [];
    const keep = { onKept: (id: KeptId) => void kept.push(id) };
    const texts = Array.from({ length: 16 }, (_, number) => `text ${number}`);
    await Promise.all(texts.map((text, number) => (number % 2 ? store : other).write(A, upload(text), { keep })));
    const all = [await textOf(store, 'a'), ...(await textsOf(store, A))];
    assert.deepEqual([all.toSorted(), new Set(kept).size], [['first', ...texts].toSorted(), texts.length]);
  });

  it('is the content that was replaced if the file changes while it is kept', async (t) => {
    const { store, proxy, other } = await open(t);
    await store.write(A, upload('1'));
    let changes = 0;
    proxy.intercept(async ({ operation }) => {
      if (operation === 'CopyObject' && changes === 0) await other.write(A, upload(`2.${++changes}`), { keep: {} });
      if (operation === 'PutObject' && changes === 1) await other.write(A, upload(`2.${++changes}`), { keep: {} });
      return undefined;
    });
    await store.write(A, upload('3'), { keep: {} });
    assert.deepEqual([await textOf(store, 'a'), await textsOf(store, A)], ['3', ['2.2', '2.1', '1']]);
  });

  it('remains if the outcome of the replacement is unknown', async (t) => {
    const { store, proxy, other } = await open(t);
    await store.write(A, upload('1'));
    let attempts = 0;
    proxy.intercept(({ operation, key }) =>
      operation === 'PutObject' && key === 'a' && ++attempts === 1 ? 'cut when done' : undefined,
    );
    const kept: KeptId[] = [];
    // Holdall finds the new content after a retry.
    await store.write(A, upload('2'), { keep: { onKept: (id) => void kept.push(id) } });
    assert.deepEqual([await textOf(other, 'a'), await textsOf(other, A), kept.length], ['2', ['1'], 1]);
    proxy.intercept(({ operation, key }) =>
      operation === 'PutObject' && key === 'a' ? errorResponse(500, 'InternalError') : undefined,
    );
    await assert.rejects(store.write(A, upload('3'), { keep: {} }), ofKind('unavailable'));
    assert.deepEqual(await textsOf(other, A), ['2', '1']);
    proxy.intercept(({ operation, key }) =>
      operation === 'PutObject' && key === 'a' ? errorResponse(403, 'AccessDenied') : undefined,
    );
    await assert.rejects(store.write(A, upload('3'), { keep: {} }), ofKind('denied'));
    assert.deepEqual(await textsOf(other, A), ['2', '1']);
  });

  it('fails the replacement if it could not be kept', async (t) => {
    const { store, proxy } = await open(t);
    await store.write(A, upload('1'));
    proxy.intercept(({ operation }) => (operation === 'CopyObject' ? errorResponse(403, 'AccessDenied') : undefined));
    await assert.rejects(store.write(A, upload('2'), { keep: {} }), ofKind('denied'));
    assert.equal(await textOf(store, 'a'), '1');
    const long = `${'x'.repeat(490)}/${'y'.repeat(490)}`;
    await store.write(file(long), upload('1'), { keep: {} });
    await assert.rejects(store.write(file(long), upload('2'), { keep: {} }), ofKind('invalid-path'));
    assert.equal(await textOf(store, long), '1');
  });

  it('has no username if its key would be too long', async (t) => {
    const { store } = await open(t);
    const long = file(`${'x'.repeat(490)}/${'y'.repeat(460)}`);
    await store.write(long, upload('1'));
    await store.write(long, upload('2'), { keep: { user: 'a name of thirty-one characters' } });
    await store.write(A, upload('1'));
    await store.write(A, upload('2'), { keep: { user: 'a name of thirty-one characters' } });
    const users = [long, A].map(async (path) => (await store.listVersions(path)).versions[0]?.replacedBy);
    assert.deepEqual(await Promise.all(users), [undefined, 'a name of thirty-one characters']);
  });

  it('belongs to one path, whatever characters its names have', async (t) => {
    const { store } = await open(t);
    const paths = ['~v', '~v/~v', 'a/~v', 'a', '~~v', 'a/~/b', 'a~v', '~/a'].map(file);
    for (const path of paths)
      for (const text of ['old', 'new']) await store.write(path, upload(`${text} ${path}`), { keep: {} });
    for (const path of paths) assert.deepEqual(await textsOf(store, path), [`old ${path}`]);
    await store.purgeVersions(folder('a'));
    await store.purgeVersions(folder('~v'));
    const remaining: string[] = [];
    for (const path of paths) remaining.push(...(await textsOf(store, path)));
    assert.deepEqual(
      remaining,
      ['~v', 'a', '~~v', 'a~v', '~/a'].map((path) => `old ${path}`),
    );
  });

  it('has the media type of its object, or else that of the name', async (t) => {
    const { store } = await open(t);
    const types: string[] = [];
    for (const [name, type] of [
      ['a.csv', 'text/x-own'],
      ['a.csv', 'application/octet-stream'],
    ] as const) {
      await store.write(file(name), { ...upload('1'), type });
      await store.write(file(name), upload('2'), { keep: {} });
      const [version] = (await store.listVersions(file(name))).versions;
      assert.ok(version);
      const content = await store.readVersion(file(name), version.id);
      content.body.destroy();
      types.push(content.file.type);
    }
    assert.deepEqual(types, ['text/x-own', 'text/csv']);
  });
});
