import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../../testing/processes.ts';
import { run } from '../../testing/processes.ts';
import { median } from './figures.ts';
import type { MemoryWatch } from './process-tree.ts';
import { cpuSecondsOf, cpuSecondsOfEndedChildren, watchMemory } from './process-tree.ts';

/** The duration of an operation, and the resources that its server or command used. */
export interface Cost {
  readonly seconds: number;
  /** Null if it was not measured. */
  readonly cpuSeconds: number | null;
  /** Maximum memory of its process tree in bytes, with shared pages counted once; null if it was not measured. */
  readonly peakMemory: number | null;
  /** CPU time of its store; absent if it has none, or if it can't be measured. */
  readonly storeCpuSeconds?: number;
}

/** Runs an operation. Returns its cost. */
export type Meter = <Result>(work: () => Promise<Result>) => Promise<[Result, Cost]>;

/** Repetitions of an operation of some seconds per figure, because the speed of disks and buckets varies. */
export const repeats = 3;

/** Measures an operation several times. Returns the cost of the one with the median duration. */
export async function measureTypical(measure: () => Promise<Cost>): Promise<Cost> {
  const costs: Cost[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) costs.push(await measure());
  const seconds = median(costs.map((cost) => cost.seconds));
  const typical = costs.find((cost) => cost.seconds === seconds);
  if (!typical) throw new Error('an even number of repeats has no median measurement');
  return typical;
}

/** Runs an operation. Returns its cost in the server with this process ID. */
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

/** Runs an operation that consists of one command. Returns its cost without memory. */
export async function measureCommand<Result>(work: () => Promise<Result>): Promise<[Result, Cost]> {
  const cpuBefore = cpuSecondsOfEndedChildren();
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  return [result, { seconds, cpuSeconds: cpuSecondsOfEndedChildren() - cpuBefore, peakMemory: null }];
}

/** Runs one command, as `run` does. Returns its cost, including memory. */
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

/** Runs an operation without a server or command. Returns only its duration. */
export async function measureTime<Result>(work: () => Promise<Result>): Promise<[Result, Cost]> {
  const began = performance.now();
  const result = await work();
  return [result, { seconds: (performance.now() - began) / 1000, cpuSeconds: null, peakMemory: null }];
}

/**
 * Waits until a server has ended the requests that its clients aborted: until it uses less than a tenth of a core, for at
 * most ten seconds.
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

/** Four samples per second notice a lasting peak, and use less than 1 % of a core. */
const memoryInterval = 250;
