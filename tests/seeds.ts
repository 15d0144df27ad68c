import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';

// The duration and the seed of tests with random input. By default the inputs are the same in each run, so that a test
// fails only after a change. FUZZ_SECONDS uses a new seed; tests/long/fuzz.test.ts sets it.

const { FUZZ_SEED, FUZZ_SECONDS } = process.env;

const SEED = Number(FUZZ_SEED ?? (FUZZ_SECONDS === undefined ? 1 : randomInt(2 ** 31)));

/** Milliseconds for each property; undefined for a fixed number of runs. */
const TIME = FUZZ_SECONDS === undefined ? undefined : Number(FUZZ_SECONDS) * 1000;

/** Returns the parameters of fast-check: `runs` inputs, or as many as possible in FUZZ_SECONDS. Prints the seed. */
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
