import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createFolderOperations } from '../../src/files/folder-operations.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd } from '../../testing/holdall.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { folder, plant, treeOf } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const SOURCE = { 'a/': null, 'a/1': '1', 'a/2': '2', 'a/3': '3', 'a/4': '4' };
const COPY = { 'b/': null, 'b/1': '1', 'b/2': '2', 'b/3': '3', 'b/4': '4' };

const operations = ['copyFolder', 'moveFolder'] as const;

/** Begins a copy whose third of four objects waits, and opens another store on the bucket, like another process. */
async function beginCopy(t: TestContext) {
  const { store, proxy, bucket } = await openProxied(t, { concurrency: 1 });
  const other = openS3({ ...bucket.settings, warn: () => {} });
  atEnd(t, async () => other.close?.());
  await plant(other, SOURCE);
  const waiting = Promise.withResolvers<void>();
  const cancelling = new AbortController();
  const cancelled = new Promise<void>((resolve) => cancelling.signal.addEventListener('abort', () => resolve()));
  let copies = 0;
  proxy.intercept(async ({ operation, key }) => {
    if (!key?.startsWith('b/') || (operation !== 'CopyObject' && operation !== 'PutObject') || ++copies < 3)
      return undefined;
    waiting.resolve();
    await cancelled;
    return undefined;
  });
  const first = createFolderOperations(store).copyFolder(folder('a'), folder('b'), {
    replace: false,
    signal: cancelling.signal,
  });
  // Awaited later.
  first.catch(() => {});
  await waiting.promise;
  return { first, cancel: () => cancelling.abort(), store, other, proxy, folders: createFolderOperations(other) };
}

describe('Two identical operations on a folder of a bucket at the same time', () => {
  for (const name of operations) {
    it(`keep the result of ${name} if a copy is cancelled afterwards`, async (t) => {
      const { first, cancel, other, folders } = await beginCopy(t);
      await folders[name](folder('a'), folder('b'), { replace: false });
      cancel();
      await assert.rejects(first);
      assert.deepEqual(await treeOf(other), name === 'copyFolder' ? { ...SOURCE, ...COPY } : COPY);
    });

    it(`fail in ${name} while a cancelled copy is undone, and complete when repeated`, async (t) => {
      const { first, cancel, other, proxy, folders } = await beginCopy(t);
      const undoing = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      proxy.intercept(async ({ operation, key }) => {
        if (operation.startsWith('DeleteObject') && !key?.startsWith('.holdall/')) {
          undoing.resolve();
          await ended.promise;
        }
        return undefined;
      });
      cancel();
      await undoing.promise;
      const call = () => folders[name](folder('a'), folder('b'), { replace: false });
      await assert.rejects(call, { code: 'store-busy' });
      ended.resolve();
      await assert.rejects(first);
      assert.deepEqual(await treeOf(other), SOURCE);
      await call();
      assert.deepEqual(await treeOf(other), name === 'copyFolder' ? { ...SOURCE, ...COPY } : COPY);
    });
  }
});
