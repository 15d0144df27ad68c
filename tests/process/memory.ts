import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';

/** Bytes by which the service may grow above what it needs when it has nothing to do. */
export const MEMORY_BOUND = 120_000_000;

/** Whether this machine tells the most memory that a process had. */
export const tellsPeaks = () => existsSync('/proc/self/clear_refs');

/** Bytes: those in memory now (`VmRSS`), or the most that there were since the peak was forgotten (`VmHWM`). */
export async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  assert.ok(kibibytes, status);
  return Number(kibibytes) * 1024;
}

/** Sets `VmHWM` back to `VmRSS` (proc(5), "clear_refs"). */
export const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');

/** Bytes in memory that are of no file: those of programs and libraries are shared with others. */
export async function ownMemory(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kibibytes = /^Anonymous:\s+(\d+) kB$/m.exec(rollup)?.[1];
  assert.ok(kibibytes, rollup);
  return Number(kibibytes) * 1024;
}
