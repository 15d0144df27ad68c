import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';

/*
 * How long the fuzzing goes on, and where its randomness begins. By itself it is the same each time, so that what is
 * tested does not change under those who did not change it; new things are found by hand, with `FUZZ_SECONDS`.
 */

const { FUZZ_SEED, FUZZ_SECONDS } = process.env;

const SEED = Number(FUZZ_SEED ?? (FUZZ_SECONDS === undefined ? 1 : randomInt(2 ** 31)));

/** Milliseconds that each property is tried for; undefined where it is tried so many times. */
const TIME = FUZZ_SECONDS === undefined ? undefined : Number(FUZZ_SECONDS) * 1000;

/** What fast-check is told: `runs` inputs, or as many as there is time for. Prints the seed, which tells them all. */
export function tries(t: TestContext, runs: number) {
  t.diagnostic(`FUZZ_SEED=${SEED}`);
  if (TIME === undefined) return { seed: SEED, numRuns: runs };
  return {
    seed: SEED,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: TIME,
    markInterruptAsFailure: false,
  };
}
