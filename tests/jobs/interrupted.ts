import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { isStoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { forEachConcurrently } from '../../testing/for-each-concurrently.ts';
import { until } from '../../testing/until.ts';
import { openChanges, type RecordedChanges } from '../changes/recorded.ts';
import { OLD_TEXTS, SCENARIOS, type Scenario, TestJob, World } from './scenarios.ts';

/**
 * How the first attempt of a job is interrupted at one of its steps: its process is killed, so that nothing it does afterwards has an
 * effect; the store fails once; or its process is suspended until another one has ended the job.
 */
type Interruption = 'killed' | 'outage' | 'suspended';

/** Interrupts an attempt at one of its steps: the changes that it makes in the store. */
export class Fault {
  readonly #interruption: Interruption;
  readonly #step: number;
  readonly #released = Promise.withResolvers<void>();
  readonly #reached = Promise.withResolvers<void>();
  #isArmed = false;
  #count = 0;

  constructor(interruption: Interruption, step: number) {
    this.#interruption = interruption;
    this.#step = step;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  get isReached(): boolean {
    return this.#count >= this.#step;
  }

  arm(): void {
    this.#isArmed = true;
  }

  /** Ends the interruption. */
  release(): void {
    this.#isArmed = false;
    this.#released.resolve();
  }

  /** Called before everything that the process does. Resolves to whether that fails. */
  async fails({ isStep }: { readonly isStep: boolean }): Promise<boolean> {
    if (!this.#isArmed) return false;
    if (isStep) this.#count++;
    if (!this.isReached) return false;
    this.#reached.resolve();
    switch (this.#interruption) {
      case 'killed':
        return true;
      case 'outage':
        return isStep && this.#count === this.#step;
      case 'suspended':
        // What it had begun fails, because its connections have ended.
        await this.#released.promise;
        return true;
    }
  }
}

/** What the store of a test is in: a folder, or a part of a bucket. */
export interface Place {
  /** Opens the store like a process of its own. With a fault, that can interrupt it. */
  open(fault?: Fault): Promise<Store>;
  /** Resolves when a job that is created now can tell what is in the store from later content. */
  settle(): Promise<void>;
  /** Makes the leases in the store expire now. Absent if it has none. */
  expireLeases?(): Promise<void>;
  remove(): Promise<void>;
}

export interface InterruptedOptions {
  readonly create: () => Promise<Place>;
  readonly interruptions: readonly Interruption[];
  /** Kinds of jobs at a time, and jobs of each. */
  readonly concurrency: number;
  /** The names of the scenarios. Default: all. */
  readonly scenarios?: readonly string[] | undefined;
  /** Tests only each case whose number is a multiple of this. 1 tests all. */
  readonly oneOf: number;
  /** Whether a job that has changed nothing yet takes along what clients store in its folder. */
  readonly takesNewContent: boolean;
}

interface Case {
  readonly scenario: Scenario;
  readonly interruption: Interruption;
  readonly step: number;
  /** Whether other clients make changes after the first attempt. */
  readonly hasLater: boolean;
}

/** Tests jobs that are interrupted at each of their steps. */
export function testInterruptedJobs(
  name: string,
  { create, interruptions, scenarios, concurrency, oneOf, takesNewContent }: InterruptedOptions,
): void {
  describe(`A job that is interrupted at any step: ${name}`, { concurrency }, () => {
    for (const scenario of SCENARIOS) {
      if (scenarios && !scenarios.includes(scenario.name)) continue;
      it(`${scenario.name} completely, and nothing of another client`, async () => {
        await using changes = await openChanges();
        const { steps, state } = await countSteps(scenario, { create, changes });
        const cases = interruptions.flatMap((interruption) =>
          [true, false].flatMap((hasLater) =>
            Array.from({ length: steps }, (_, index) => ({ scenario, interruption, step: index + 1, hasLater })),
          ),
        );
        const chosen = cases.filter((_, index) => index % oneOf === 0);
        const failures: Error[] = [];
        await forEachConcurrently(chosen, concurrency, async (each) => {
          await runCase(each, { create, takesNewContent, changes, expected: state }).catch((cause: unknown) => {
            const { interruption, step, hasLater } = each;
            const later = hasLater ? 'later changes' : 'no later changes';
            failures.push(new Error(`${interruption} at step ${step} of ${steps}, ${later}`, { cause }));
          });
        });
        const summary = failures.map(({ message, cause }) => `${message}: ${String(cause)}`).join('\n');
        if (failures.length > 0) throw new AggregateError(failures, summary);
      });
    }
  });
}

type State = Awaited<ReturnType<World['state']>>;

/** Runs a job without a fault. Returns the number of its steps, and the state afterwards. */
async function countSteps(
  scenario: Scenario,
  { create, changes }: Pick<InterruptedOptions, 'create'> & { readonly changes: RecordedChanges },
): Promise<{ steps: number; state: State }> {
  const place = await create();
  try {
    let steps = 0;
    const counting = new (class extends Fault {
      override async fails({ isStep }: { readonly isStep: boolean }): Promise<boolean> {
        if (isStep) steps++;
        return false;
      }
    })('killed', Number.POSITIVE_INFINITY);
    const { job, world, others } = await prepare(scenario, place, { fault: counting, changes });
    steps = 0;
    let saves = 0;
    const beforeSave = () => {
      saves++;
      return counting.fails({ isStep: true });
    };
    await job.run(world, { isResumed: false, beforeSave });
    assert.ok(steps > saves, 'The changes of the store are steps.');
    return { steps, state: await others.state() };
  } finally {
    await place.remove();
  }
}

async function prepare(
  { prepare: begin }: Scenario,
  place: Place,
  { fault, changes }: { readonly fault: Fault; readonly changes: RecordedChanges },
) {
  const others = new World(await place.open(), changes);
  await others.plant();
  const jobIn = await begin(others);
  await place.settle();
  const world = new World(await place.open(fault), { log: changes.log });
  return { others, world, job: await TestJob.create(jobIn, world) };
}

async function runCase(
  { scenario, interruption, step, hasLater }: Case,
  {
    create,
    takesNewContent,
    changes,
    expected,
  }: Pick<InterruptedOptions, 'create' | 'takesNewContent'> & {
    readonly changes: RecordedChanges;
    readonly expected: State;
  },
): Promise<void> {
  const place = await create();
  try {
    const fault = new Fault(interruption, step);
    const { others, world, job } = await prepare(scenario, place, { fault, changes });
    const abort = new AbortController();
    const initial = await others.state();
    fault.arm();
    const beforeSave = async () => {
      const isLost = (await fault.fails({ isStep: true })) || abort.signal.aborted;
      if (isLost) throw new Error('Another process has the lease, or the database is unavailable.');
    };
    const first = job.run(world, { isResumed: false, beforeSave, signal: abort.signal }).catch(() => undefined);
    await Promise.race([first, fault.reached]);
    if (interruption !== 'suspended') {
      await first;
      fault.release();
    }
    await place.expireLeases?.();
    // In a bucket, listing the trash would end an interrupted delete, so that its next attempt makes a second item.
    const isUnchanged = takesNewContent && isDeepStrictEqual(await others.state(), initial);
    let isBroughtBack = hasLater && interruption !== 'suspended' && (await others.changeLater(scenario));
    const next = interruption === 'outage' ? world : new World(await place.open(), changes);
    const second = await runAgain(job, next, place);
    if (interruption === 'suspended') {
      isBroughtBack = hasLater && (await others.changeLater(scenario));
      abort.abort(new Error('Another process has the lease.'));
      fault.release();
      await first;
    }
    await place.expireLeases?.();
    const { later, isDeletedLater = false, kept = OLD_TEXTS } = scenario;
    const expectedTexts = new Set([...kept, ...(hasLater ? Object.values(later) : [])]);
    if (hasLater && !isDeletedLater && !isUnchanged) {
      const { tree } = await others.state();
      for (const [path, text] of Object.entries(later)) assert.equal(tree[path], text, path);
    }
    if (isBroughtBack) assert.deepEqual((await others.state()).tree, initial.tree);
    if (!hasLater) {
      const mayFail = interruption === 'outage' && isStoreError(second) && second.code === 'job-outdated';
      assert.ok(second === undefined || mayFail, String(second));
      // The work of an attempt that failed is undone.
      const { tree, trash } = second === undefined ? expected : initial;
      const found = await others.state();
      assert.deepEqual({ ...found, trash: found.trash.length }, { tree, trash: trash.length });
    }
    assert.deepEqual(expectedTexts.difference(await others.texts()), new Set());
  } finally {
    await place.remove();
  }
}

/** Runs further attempts, until one of them does not fail temporarily. Returns its error. */
async function runAgain(job: TestJob, world: World, { expireLeases }: Place): Promise<unknown> {
  return until('the job has ended', async () => {
    await expireLeases?.();
    try {
      await job.run(world, { isResumed: true });
      return { error: undefined };
    } catch (error) {
      return isStoreError(error, 'unavailable') ? undefined : { error };
    }
  }).then(({ error }) => error);
}
