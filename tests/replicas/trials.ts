import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Fault } from './fault.ts';
import type { Stage } from './stage.ts';
import { complaints, tryFault } from './trial.ts';

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
