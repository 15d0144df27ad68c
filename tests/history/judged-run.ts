import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { formatHistory, type History, type StoreKind } from './history.ts';
import { judgementOf } from './judgement.ts';
import { planOf } from './plan.ts';
import { startReplicas } from './replica-set.ts';
import { run } from './run.ts';
import { spoiled } from './spoiled.ts';

/**
 * Runs and checks histories on a store: one with a number of rounds, or several for a number of minutes. HISTORY_MINUTES
 * overrides the minutes. HISTORY_SEED repeats the plan of a run.
 */
export function judgeRuns(store: StoreKind, rounds: number, minutes = 0): void {
  it(`has only outcomes that its guarantees allow: ${store}`, async (t) => {
    const { HISTORY_SEED, HISTORY_MINUTES } = process.env;
    const first = HISTORY_SEED ? Number(HISTORY_SEED) : randomInt(2 ** 31);
    assert.ok(Number.isSafeInteger(first), 'HISTORY_SEED is a whole number.');
    const deadline = performance.now() + Number(HISTORY_MINUTES ?? minutes) * 60_000;
    let seed = first;
    do {
      await t.test(`HISTORY_SEED=${seed}`, async (each) => {
        await judge(await run(planOf(store, seed, rounds), await startReplicas(each, store)), each);
      });
      seed++;
    } while (performance.now() < deadline);
  });
}

async function judge(history: History, t: TestContext): Promise<void> {
  const { isViolated, text } = judgementOf(history);
  t.diagnostic(text.split('\n', 1).join());
  if (isViolated) {
    const file = join(tmpdir(), `holdall-history-${history.store}-${history.seed}.jsonl`);
    await writeFile(file, formatHistory(history));
    assert.fail(`${text}\n\nThe history is in ${file}: npm run history -- --check ${file}`);
  }
  // The check must find each violation that is added to the history.
  for (const [what, other] of spoiled(history)) assert.ok(judgementOf(other).isViolated, what);
}
