import { cpuSecondsOf, cpuSecondsOfEndedChildren, watchMemory } from './process-tree.ts';

/** What a piece of work took, and what it took of the server that did it. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The most memory seen at once in the server's process tree, in bytes, shared pages counted once. */
  readonly peakMemory: number | null;
}

/** Does the work and says what it cost the server with this process id. */
export async function measureServer<Result>(pid: number, work: () => Promise<Result>): Promise<[Result, Cost]> {
  // Four samples a second: often enough for a peak that lasts, and below 1% of a core.
  using memory = watchMemory(pid, 250);
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
