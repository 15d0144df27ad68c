import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FormUpload } from './curl.ts';
import { uploadForm } from './curl.ts';
import { median } from './figures.ts';
import { watchMemory } from './process-tree.ts';
import { get } from './requests.ts';
import type { RunningServer } from './servers.ts';

/** How often resident memory is looked at, in milliseconds. */
export const residentInterval = 100;

/**
 * The resident memory of an idle service, in bytes. Idle is not "just started": the code of each kind of request is
 * loaded, by ten uploads of this small file, each fetched and listed again, and the rest that follows has come.
 */
export async function idleAfterWarmUp(
  running: RunningServer,
  { file, prefix, order }: Omit<FormUpload, 'base'>,
  signal: AbortSignal,
): Promise<number> {
  const stored = running.url(`/file/${prefix}${basename(file)}`);
  for (let request = 0; request < 10; request++) {
    await uploadForm({ base: running.url('/'), file, prefix, order }, signal);
    for (const url of [stored, running.url(`/${prefix}`)]) {
      const { status } = await get(url, {}, signal);
      if (status !== 200) throw new Error(`warm-up: GET ${url.href}: ${status}`);
    }
  }
  await sleep(1000, undefined, { signal });
  using watch = watchMemory(running.pid, residentInterval);
  await sleep(2000, undefined, { signal });
  return median(watch.samples().map(({ resident }) => resident));
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
