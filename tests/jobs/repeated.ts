import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import { openChanges } from '../changes/recorded.ts';
import type { Backend } from '../contract/backend.ts';
import { treeOf } from '../contract/bytes.ts';
import { A, SCENARIOS, TestJob, World } from './scenarios.ts';

/** Milliseconds after which a job that has not started is late. */
const LATE_MS = 5 * 60_000;

/** Tests that a job that runs again leaves alone what clients did after its first attempt. */
export function testRepeatedJobs(backend: Backend, { canPurge = true } = {}): void {
  describe(`A job that runs again after its work: ${backend.name}`, () => {
    let world: World;
    let changes: Awaited<ReturnType<typeof openChanges>>;
    let close: () => Promise<void>;
    beforeEach(async () => {
      let store: Store;
      ({ store, close } = await backend.open());
      changes = await openChanges();
      world = new World(store, changes);
      await world.plant();
    });
    afterEach(async () => {
      await changes[Symbol.asyncDispose]();
      await close();
    });

    for (const scenario of SCENARIOS.filter(({ purges = false }) => canPurge || !purges)) {
      const { name, prepare, fails = false, isBroughtBack = false } = scenario;
      it(`${name} nothing of another client`, async () => {
        const job = await TestJob.create(await prepare(world), world);
        const first = await job.run(world, { isResumed: false });
        await world.changeLater(scenario);
        const before = await world.state();
        const second = job.run(world, { isResumed: true });
        if (fails) await assert.rejects(second, { code: 'job-outdated' });
        else assert.deepEqual(Object.keys(await second), Object.keys(first));
        assert.deepEqual(await world.state(), before);
      });

      // The log of such a database lacks the change that brought the folder back.
      if (isBroughtBack) continue;
      it(`${name} nothing of another client in a restored database`, async () => {
        const { store } = world;
        const job = await TestJob.create(await prepare(world), world);
        await job.run(world, { isResumed: false });
        await world.changeLater(scenario);
        const before = await world.state();
        const { now } = store;
        const later = new World(
          now ? { ...store, now: async () => new Date((await now()).getTime() + LATE_MS) } : store,
        );
        await job
          .restored()
          .run(later, { isResumed: false })
          .catch((error: unknown) => {
            if (!(error instanceof Error && error.name === 'StoreError')) throw error;
          });
        assert.deepEqual(await world.state(), before);
      });
    }

    it('completes work that was interrupted before its first step', async () => {
      const { store } = world;
      const planted = await store.now?.();
      // Files of the second in which a job was created can be later ones.
      await until('the next second', async () => planted === undefined || ((await store.now?.()) ?? 0) > planted);
      const jobIn = () => world.jobOf({ action: 'delete folder', from: A, permanent: false });
      await (await TestJob.create(jobIn, world)).run(world, { isResumed: true });
      assert.deepEqual(await treeOf(store), {});
    });
  });
}
