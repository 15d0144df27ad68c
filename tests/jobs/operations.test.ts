import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { GuardedFiles, type Operation } from '../../src/access/guard.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import type { JobContext } from '../../src/jobs/job.ts';
import { createOperationKinds, jobOf } from '../../src/jobs/operations.ts';
import { StoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { file, folder, plant, treeOf } from '../contract/bytes.ts';
import { ANN } from './contract.ts';

const SOURCE = { 'a/': null, 'a/x': 'one', 'a/sub/': null, 'a/sub/y': 'two' };
const COPY: Operation = { action: 'copy folder', from: folder('a'), to: folder('b'), replace: false };

describe('A job that is resumed after its last step', () => {
  let store: Store;
  let files: Files;
  /** What the attempts of the current job saved. */
  let checkpoint: object | undefined;
  /** What the current job acts on. */
  let target: object | undefined;
  beforeEach(async () => {
    store = createMemoryStore();
    files = createFiles(store, {
      presignExpires: 60,
      signer: undefined,
      contentUrl: undefined,
      retention: { trash: true, versions: true },
    });
    checkpoint = undefined;
    await plant(store, SOURCE);
  });

  const run = async (operation: Operation, { isResumed }: { isResumed: boolean }) => {
    const guarded = () =>
      new GuardedFiles(files, {
        policy: () => OPEN_POLICY,
        user: undefined,
        confirm: async () => {},
        record: () => {},
      });
    const { kind: name, input } = jobOf(operation);
    const kind =
      createOperationKinds(guarded, store, undefined).find((each) => each.name === name) ?? assert.fail(name);
    if (!isResumed) target = await kind.targetOf?.(input);
    await kind.confirm?.(input, ANN);
    const context: JobContext = {
      submitter: ANN,
      target,
      createdAt: new Date(),
      isResumed,
      signal: new AbortController().signal,
      onProgress: () => {},
      checkpoint,
      save: async (saved) => {
        checkpoint = saved;
      },
    };
    return kind.run(input, context);
  };
  /** Runs a job twice, as if its process had ended before the outcome of the first attempt was stored. */
  const runTwice = async (operation: Operation) => {
    const first = await run(operation, { isResumed: false });
    assert.deepEqual(await run(operation, { isResumed: true }), first);
    return first;
  };
  const trash = async (path: string) => {
    await files.deleteFolder(folder(path));
    return (await files.listTrash()).items[0] ?? assert.fail('The trash is empty.');
  };

  it('recognises its own copy', async () => {
    assert.deepEqual(await runTwice(COPY), { path: 'b/' });
    assert.deepEqual(await treeOf(store, 'b/'), { 'b/x': 'one', 'b/sub/': null, 'b/sub/y': 'two' });
  });

  it('recognises a copy of a folder without files', async () => {
    await store.createFolder(folder('empty'));
    assert.deepEqual(await runTwice({ ...COPY, from: folder('empty') }), { path: 'b/' });
  });

  it('does not accept the folder that another client created before the first attempt', async () => {
    await files.copyFolder(folder('a'), folder('b'), { replace: false });
    await assert.rejects(run(COPY, { isResumed: false }), { code: 'already-exists' });
    await assert.rejects(run(COPY, { isResumed: true }), { code: 'already-exists' });
  });

  it('does not accept a folder that is no copy of the source', async () => {
    await run(COPY, { isResumed: false });
    const changes: readonly [change: () => Promise<unknown>, undo: () => Promise<unknown>][] = [
      [() => plant(store, { 'b/extra': 'of another client' }), () => store.remove(file('b/extra'))],
      [() => plant(store, { 'b/x': 'longer' }), () => plant(store, { 'b/x': 'one' })],
    ];
    for (const [change, undo] of changes) {
      await change();
      await assert.rejects(run(COPY, { isResumed: true }), { code: 'job-outdated' });
      await undo();
    }
    await run(COPY, { isResumed: true });
  });

  it('reports a file at the destination like the copy itself', async () => {
    await plant(store, { b: 'a file' });
    const direct = await files.copyFolder(folder('a'), folder('b'), { replace: false }).catch((error) => error);
    await assert.rejects(run(COPY, { isResumed: false }), { code: direct.code, message: direct.message });
  });

  for (const permanent of [false, true]) {
    it(`deletes no folder that takes its path at that moment, ${permanent ? 'permanently' : 'to the trash'}`, async () => {
      const { identify } = store;
      const remove: Operation = { action: 'delete folder', from: folder('a'), permanent };
      target = { source: await identify?.(folder('a')) };
      store.identify = async (path) => {
        const found = await identify?.(path);
        await store.removeTree?.(folder('a'));
        await plant(store, { 'a/x': 'of another client' });
        return found;
      };
      await run(remove, { isResumed: true });
      assert.deepEqual(await treeOf(store), { 'a/': null, 'a/x': 'of another client' });
    });
  }

  it('recognises that it has moved, renamed or deleted the folder', async () => {
    await runTwice({ action: 'move folder', from: folder('a'), to: folder('b'), replace: false });
    await runTwice({ action: 'rename folder', from: folder('b'), to: folder('c'), replace: false });
    await runTwice({ action: 'delete folder', from: folder('c'), permanent: false });
    assert.deepEqual(await treeOf(store), {});
  });

  it('recognises the item that it has restored, also with another name', async () => {
    const item = await trash('a');
    await plant(store, { 'a/x': 'other' });
    const operation = { action: 'restore', id: item.id, from: item.path, to: item.path, rename: true } as const;
    assert.deepEqual(await runTwice(operation), { path: 'a (2)/' });
  });

  it('fails if another client has deleted the item in the trash', async () => {
    const item = await trash('a');
    const operation = { action: 'restore', id: item.id, from: item.path, to: item.path, rename: false } as const;
    await plant(store, { 'a/x': 'other' });
    await assert.rejects(run(operation, { isResumed: false }), { code: 'already-exists' });
    await files.deleteFolder(folder('a'), { permanent: true });
    await files.purgeTrashed(item.id);
    await assert.rejects(run(operation, { isResumed: true }), { code: 'not-found' });
  });

  it('recognises the item that it has deleted, and an empty trash', async () => {
    const item = await trash('a');
    await runTwice({ action: 'delete from trash', id: item.id, from: item.path });
    await plant(store, SOURCE);
    await trash('a');
    const operation = { action: 'empty trash', folder: folder('') } as const;
    assert.deepEqual(await run(operation, { isResumed: false }), { removed: 1 });
    assert.deepEqual(await run(operation, { isResumed: true }), { removed: 1 });
  });

  it('counts the items that earlier attempts removed from the trash', async () => {
    const items = [await trash('a')];
    for (const path of ['c', 'd']) {
      await plant(store, { [`${path}/x`]: 'one' });
      items.push(await trash(path));
    }
    const operation = { action: 'empty trash', folder: folder('') } as const;
    let removed = 0;
    const { purgeTrashed } = store;
    store.purgeTrashed = async (...args) => {
      if (removed++ === 1) throw new StoreError('store-unreachable', 'The store is unreachable.');
      await purgeTrashed?.(...args);
    };
    await assert.rejects(run(operation, { isResumed: false }), { code: 'store-unreachable' });
    assert.deepEqual(await run(operation, { isResumed: true }), { removed: items.length });
  });
});
