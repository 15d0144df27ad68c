import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { GuardedFiles, type Operation } from '../../src/access/guard.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import { createOperationKinds, jobOf } from '../../src/jobs/operations.ts';
import { ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import type { Backend } from '../contract/backend.ts';
import { folder, plant, treeOf, writeAll } from '../contract/bytes.ts';
import { ANN } from './contract.ts';

const [A, B] = [folder('a'), folder('b')];

/** What a job does, what clients do after its first attempt, and what they must find after the second one. */
interface Scenario {
  readonly name: string;
  readonly operation: (files: Files) => Promise<Operation> | Operation;
  /** The files that clients write after the first attempt. */
  readonly later: Record<string, string>;
  /** Whether clients then move the folder `a` to the trash. */
  readonly isDeletedLater?: boolean;
  /** Whether it removes items from the trash. */
  readonly purges?: boolean;
  /** Whether the second attempt fails, because it can't tell the copy of the first one from other content. */
  readonly fails?: boolean;
}

const trashed = async (files: Files) => {
  await files.deleteFolder(A);
  return (await files.listTrash()).items[0] ?? assert.fail('The trash is empty.');
};

const SCENARIOS: readonly Scenario[] = [
  ...[false, true].map((permanent) => ({
    name: permanent ? 'deletes permanently' : 'deletes',
    operation: (): Operation => ({ action: 'delete folder', from: A, permanent }),
    later: { 'a/x': 'of another client', 'a/new': 'too' },
  })),
  ...[false, true].map((replace) => ({
    name: replace ? 'moves and replaces' : 'moves',
    operation: async (files: Files): Promise<Operation> => {
      if (replace) await files.copyFolder(A, B, { replace: false });
      return { action: 'move folder', from: A, to: B, replace };
    },
    later: { 'a/x': 'of another client', 'a/new': 'too', 'b/x': 'changed', 'b/new': 'too' },
  })),
  {
    name: 'renames',
    operation: () => ({ action: 'rename folder', from: A, to: B, replace: false }),
    later: { 'a/x': 'of another client', 'b/x': 'changed' },
  },
  {
    name: 'copies and replaces',
    operation: async (files) => {
      await files.copyFolder(A, B, { replace: false });
      return { action: 'copy folder', from: A, to: B, replace: true };
    },
    later: { 'b/x': 'changed by another client', 'b/new': 'too' },
    fails: true,
  },
  {
    name: 'restores',
    operation: async (files) => {
      const { id, path } = await trashed(files);
      return { action: 'restore', id, from: path, to: path, rename: false };
    },
    later: { 'a/x': 'changed', 'a/new': 'too' },
  },
  {
    name: 'deletes from the trash',
    operation: async (files) => {
      const { id, path } = await trashed(files);
      return { action: 'delete from trash', id, from: path };
    },
    later: { 'a/x': 'of another client' },
    isDeletedLater: true,
    purges: true,
  },
  {
    name: 'empties the trash',
    operation: async (files) => {
      await trashed(files);
      return { action: 'empty trash', folder: ROOT };
    },
    later: { 'a/x': 'of another client' },
    isDeletedLater: true,
    purges: true,
  },
];

/** Tests that a job that runs again leaves alone what clients did after its first attempt. */
export function testRepeatedJobs(backend: Backend, { canPurge = true } = {}): void {
  describe(`A job that runs again after its work: ${backend.name}`, () => {
    let store: Store;
    let files: Files;
    let close: () => Promise<void>;
    beforeEach(async () => {
      ({ store, close } = await backend.open());
      const retention = { trash: true, versions: true };
      files = createFiles(store, { presignExpires: 60, signer: undefined, contentUrl: undefined, retention });
      await plant(store, { 'a/': null, 'a/x': 'one', 'a/sub/': null, 'a/sub/y': 'two' });
    });
    afterEach(() => close());

    const create = async (operation: Operation) => {
      const guarded = () =>
        new GuardedFiles(files, {
          policy: () => OPEN_POLICY,
          user: undefined,
          confirm: async () => {},
          record: () => {},
        });
      const { kind: name, input } = jobOf(operation);
      const kind = createOperationKinds(guarded, store).find((each) => each.name === name) ?? assert.fail(name);
      const [target, createdAt] = [await kind.targetOf?.(input), new Date()];
      let checkpoint: object | undefined;
      return (isResumed: boolean) =>
        kind.run(input, {
          submitter: ANN,
          target,
          createdAt,
          isResumed,
          checkpoint,
          signal: new AbortController().signal,
          onProgress: () => {},
          save: async (saved) => {
            checkpoint = saved;
          },
        });
    };

    /** Returns the files and the trash. */
    const state = async () => {
      const { items } = await files.listTrash();
      return { tree: await treeOf(store), trash: items.map(({ id }) => id) };
    };

    const scenarios = SCENARIOS.filter(({ purges = false }) => canPurge || !purges);
    for (const { name, operation, later, isDeletedLater = false, fails = false } of scenarios) {
      it(`${name} nothing of another client`, async () => {
        const run = await create(await operation(files));
        const first = await run(false);
        await writeAll(store, later);
        if (isDeletedLater) await trashed(files);
        const before = await state();
        const second = run(true);
        if (fails) await assert.rejects(second, { name: 'StoreError' });
        else assert.deepEqual(Object.keys(await second), Object.keys(first));
        assert.deepEqual(await state(), before);
      });
    }

    it('completes work that was interrupted before its first step', async () => {
      const planted = await store.now?.();
      // Files of the second in which a job was created can be later ones.
      await until('the next second', async () => planted === undefined || ((await store.now?.()) ?? 0) > planted);
      const run = await create({ action: 'delete folder', from: A, permanent: false });
      await run(true);
      assert.deepEqual(await treeOf(store), {});
    });
  });
}
