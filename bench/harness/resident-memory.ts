import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FormUpload } from './curl.ts';
import { uploadForm } from './curl.ts';
import { memoryOf, watchMemory } from './process-tree.ts';
import { get } from './requests.ts';
import type { RunningServer } from './servers.ts';

/** Milliseconds between two samples of resident memory. */
export const residentInterval = 100;

/** Loads the code of each kind of request, by ten uploads of this small file, each fetched and listed again. */
export async function warmUp(
  running: RunningServer,
  { file, prefix, order }: Omit<FormUpload, 'base'>,
  signal: AbortSignal,
): Promise<void> {
  const stored = running.url(`/file/${prefix}${basename(file)}`);
  for (let request = 0; request < 10; request++) {
    await uploadForm({ base: running.url('/'), file, prefix, order }, signal);
    for (const url of [stored, running.url(`/${prefix}`)]) {
      const { status } = await get(url, {}, signal);
      if (status !== 200) throw new Error(`warm-up: GET ${url.href}: ${status}`);
    }
  }
}

/** Milliseconds between two checks of whether a server is idle: longer than the service takes to free memory. */
const period = 5_000;

/** Bytes by which the memory of an idle server can still change. */
const TOLERANCE_BYTES = 1e6;

/** The explanation in the results. */
export const idleMemoryDescription = `resident memory had stayed the same for ${(2 * period) / 1000} s`;

/**
 * Waits until a server is idle: until its resident memory stays the same over two periods, for at most 20 seconds. Returns
 * the bytes of all its processes.
 */
export async function measureIdleMemory({ pid }: RunningServer, signal: AbortSignal): Promise<number> {
  let resident = memoryOf(pid).resident;
  for (let check = 0, alike = 0; check < 4 && alike < 2; check++) {
    await sleep(period, undefined, { signal });
    const now = memoryOf(pid).resident;
    alike = Math.abs(now - resident) <= TOLERANCE_BYTES ? alike + 1 : 0;
    resident = now;
  }
  return resident;
}

/** Runs the work. Returns the maximum resident memory of the process tree of a server meanwhile, in bytes. */
export async function peakDuring<Result>(
  running: RunningServer,
  work: () => Promise<Result>,
): Promise<[number, Result]> {
  using watch = watchMemory(running.pid, residentInterval);
  const result = await work();
  return [Math.max(...watch.samples().map(({ resident }) => resident)), result];
}
