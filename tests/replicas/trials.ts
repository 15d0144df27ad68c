import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Fault } from './fault.ts';
import type { Stage } from './stage.ts';
import { causeFault, complaints, messagesOf, settle, startTrialLoad, tryFault, untilServed } from './trial.ts';

/** Few clients that pause, because the faults and not the load are the subject of the short tests. */
const SHORT = { seconds: 0.3, clientsOfRole: 1, rest: 400 };

/** Tests all faults one after the other under the same load: each once, and for less than a second. */
export async function tryTogether<On extends Stage>(
  t: TestContext,
  stage: On,
  faults: readonly Fault<On>[],
): Promise<void> {
  const load = startTrialLoad(stage, SHORT);
  try {
    await untilServed(load);
    for (const fault of faults) {
      await t.test(`survives: ${fault.name}`, { skip: fault.whyNot?.(stage) ?? false }, async () => {
        const earlier = new Set(load.operations());
        await causeFault(stage, load, fault, SHORT.seconds);
        const operations = load.operations().filter((operation) => !earlier.has(operation));
        assert.deepEqual(messagesOf(operations, 'failed', ...(fault.isUnnoticed ? UNACKNOWLEDGED : [])), []);
        assert.deepEqual(errorsOf(stage), []);
      });
    }
  } finally {
    await load.stop();
  }
  await t.test('has every acknowledged file', async () => {
    await settle(stage, load);
    assert.deepEqual([...(await load.lost()), ...errorsOf(stage)], []);
  });
}

const UNACKNOWLEDGED = ['refused', 'unknown'] as const;

const errorsOf = ({ replicas }: Stage) => replicas.flatMap((replica) => replica.faults());

/** Tests each fault under a load of its own, and for so many seconds. */
export async function tryEach<On extends Stage>(
  t: TestContext,
  stage: On,
  faults: readonly Fault<On>[],
  seconds: number,
): Promise<void> {
  for (const fault of faults) {
    await t.test(`survives: ${fault.name}`, { skip: fault.whyNot?.(stage) ?? false }, async () => {
      const result = await tryFault(stage, fault, { before: 2, seconds, clientsOfRole: 2, rest: 0 });
      assert.deepEqual(complaints(stage, fault, result), []);
    });
  }
}
