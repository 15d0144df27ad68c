import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Fault } from './fault.ts';
import type { Stage } from './stage.ts';
import { complaints, tryFault } from './trial.ts';

const SHORT = { before: 0, seconds: 0.3, clientsOfRole: 1, rest: 20 };

/** Tries each fault, shortly and one after the other, and expects that it does what it may and no more. */
export async function tryAll<On extends Stage>(t: TestContext, stage: On, faults: readonly Fault<On>[]): Promise<void> {
  for (const fault of faults) {
    await t.test(fault.name, { skip: fault.whyNot?.(stage) ?? false }, async () => {
      assert.deepEqual(complaints(stage, fault, await tryFault(stage, fault, SHORT)), []);
    });
  }
}
