import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../../testing/processes.ts';
import { run } from '../../testing/processes.ts';
import { median } from './figures.ts';
import type { MemoryWatch } from './process-tree.ts';
import { cpuSecondsOf, cpuSecondsOfEndedChildren, watchMemory } from './process-tree.ts';

/** What a piece of work took, and what it took of the server or the command that did it. */
export interface Cost {
  readonly seconds: number;
  /** Null where it was not measured. */
  readonly cpuSeconds: number | null;
  /** The most memory seen at once in its process tree, in bytes, shared pages counted once; null as above. */
  readonly peakMemory: number | null;
  /** CPU time of the store behind it; absent where there is none, or none that can be measured. */
  readonly storeCpuSeconds?: number;
}

/** Does a piece of work, and says what it cost. */
export type Meter = <Result>(work: () => Promise<Result>) => Promise<[Result, Cost]>;

/** How often work of some seconds is done for one figure: what a disk or a bucket takes differs much from minute to minute. */
export const repeats = 3;

/** Measures the same work several times, and says what one of the median duration cost. */
export async function measureTypical(measure: () => Promise<Cost>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) costs.push(await measure());
  const seconds = median(costs.map((cost) => cost.seconds));
  const typical = costs.find((cost) => cost.seconds === seconds);
  if (!typical) throw new Error('an even number of repeats has none in the middle');
  return typical;
}

/** Does the work and says what it cost the server with this process id. */
export async function measureServer<Result>(pid: number, work: () => Promise<Result>): Promise<[Result, Cost]> {
  using memory = watchMemory(pid, memoryInterval);
  const cpuBefore = cpuSecondsOf(pid);
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  const cpuSeconds = cpuSecondsOf(pid) - cpuBefore;
  const peakMemory = Math.max(...memory.samples().map((sample) => sample.proportional));
  return [result, { seconds, cpuSeconds, peakMemory }];
}

/** Does work that is one command run to its end, and says what the command cost. Its memory is not measured. */
export async function measureCommand<Result>(work: () => Promise<Result>): Promise<[Result, Cost]> {
  const cpuBefore = cpuSecondsOfEndedChildren();
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  return [result, { seconds, cpuSeconds: cpuSecondsOfEndedChildren() - cpuBefore, peakMemory: null }];
}

/** Runs one command to its end, as `run` does, and says what it cost, its memory too. */
export async function measureProgram(command: Command, signal: AbortSignal): Promise<Cost> {
  let memory: MemoryWatch | undefined;
  try {
    const watch = (pid: number) => {
      memory = watchMemory(pid, memoryInterval);
    };
    const [, cost] = await measureCommand(() => run(command, signal, watch));
    const samples = memory?.samples() ?? [];
    return { ...cost, peakMemory: Math.max(...samples.map((sample) => sample.proportional)) };
  } finally {
    memory?.[Symbol.dispose]();
  }
}

/** Does work that is none of a server or command of ours: its time alone. */
export async function measureTime<Result>(work: () => Promise<Result>): Promise<[Result, Cost]> {
  const began = performance.now();
  const result = await work();
  return [result, { seconds: (performance.now() - began) / 1000, cpuSeconds: null, peakMemory: null }];
}

/**
 * Waits until a server has let go of the requests that its clients gave up, which are no part of what comes next: until
 * it takes less than a tenth of a core. Ten seconds at most.
 */
export async function settle(pid: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + 10_000;
  let cpuBefore = cpuSecondsOf(pid);
  while (performance.now() < deadline) {
    await sleep(500, undefined, { signal });
    const cpuSeconds = cpuSecondsOf(pid);
    if (cpuSeconds - cpuBefore < 0.05) return;
    cpuBefore = cpuSeconds;
  }
}

/** Four samples a second: often enough for a peak that lasts, and below 1% of a core. */
const memoryInterval = 250;
