import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** Maximum growth of a service above its idle memory, in bytes. */
export const MAX_MEMORY_GROWTH_BYTES = 120_000_000;

/** Returns whether this machine can measure the peak memory of a process. */
export const canMeasurePeakMemory = () => existsSync('/proc/self/clear_refs');

/** Returns the resident memory of a process in bytes: now (`VmRSS`), or the peak since its last reset (`VmHWM`). */
export async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  assert.ok(kibibytes, status);
  return Number(kibibytes) * 1024;
}

/** Resets `VmHWM` to `VmRSS` (proc(5), "clear_refs"). */
export const resetPeakMemory = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');

/** Returns the anonymous memory of a process in bytes. The memory of programs and libraries is shared. */
export async function anonymousMemory(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kibibytes = /^Anonymous:\s+(\d+) kB$/m.exec(rollup)?.[1];
  assert.ok(kibibytes, rollup);
  return Number(kibibytes) * 1024;
}
