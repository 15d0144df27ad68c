import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FormUpload } from './curl.ts';
import { uploadForm } from './curl.ts';
import { memoryOf, watchMemory } from './process-tree.ts';
import { get } from './requests.ts';
import type { RunningServer } from './servers.ts';

/** How often resident memory is looked at, in milliseconds. */
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

/** Milliseconds between two looks at whether a server rests: more than those after which the service gives memory back. */
const period = 5_000;

/** Bytes by which the memory of a server at rest may change all the same. */
const wavering = 1e6;

/** What is said of it in the results. */
export const idleMemoryDescription = `resident memory had stayed the same for ${(2 * period) / 1000} s`;

/**
 * Waits until a server rests: until its resident memory stays the same over two periods, for 20 seconds at the most. Says
 * how much that is, in bytes, in all its processes.
 */
export async function measureIdleMemory({ pid }: RunningServer, signal: AbortSignal): Promise<number> {
  let resident = memoryOf(pid).resident;
  for (let look = 0, alike = 0; look < 4 && alike < 2; look++) {
    await sleep(period, undefined, { signal });
    const now = memoryOf(pid).resident;
    alike = Math.abs(now - resident) <= wavering ? alike + 1 : 0;
    resident = now;
  }
  return resident;
}

/** Does the work, and says the most resident memory of a server's process tree meanwhile, in bytes. */
export async function peakDuring<Result>(
  running: RunningServer,
  work: () => Promise<Result>,
): Promise<[number, Result]> {
  using watch = watchMemory(running.pid, residentInterval);
  const result = await work();
  return [Math.max(...watch.samples().map(({ resident }) => resident)), result];
}
