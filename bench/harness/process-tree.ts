import { readdirSync, readFileSync } from 'node:fs';

/** Memory of a process, or of it and everything below it, in bytes. */
interface Memory {
  /** Resident memory (RSS), as `ps` shows it: what several processes share counts once in each. */
  readonly resident: number;
  /** Proportional memory (PSS): what several processes share counts once in all. */
  readonly proportional: number;
}

/** Watches a process tree from when it is made until it is disposed of. */
export interface MemoryWatch extends Disposable {
  /** All that was seen so far, and now. */
  samples(): readonly Memory[];
}

/** Samples the memory of a process tree every so many milliseconds. One sample costs about 1 ms a process. */
export function watchMemory(pid: number, milliseconds: number): MemoryWatch {
  const samples = [memoryOf(pid)];
  const timer = setInterval(() => samples.push(memoryOf(pid)), milliseconds);
  return {
    samples: () => [...samples, memoryOf(pid)],
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** CPU time so far, user and system, of a process, of everything below it, and of its children that ended: seconds. */
export function cpuSecondsOf(pid: number): number {
  return processTree(pid).reduce((sum, member) => sum + ticks(member, ['own', 'ended children']), 0) / ticksPerSecond;
}

/** CPU time of the children of this process that have ended: seconds. */
export function cpuSecondsOfEndedChildren(): number {
  return ticks(process.pid, ['ended children']) / ticksPerSecond;
}

/** What each of the process and those below it holds now; zero once it has ended. */
export function memoryOfEach(pid: number): Memory[] {
  return processTree(pid).map((member) => {
    const rollup = read(`/proc/${member}/smaps_rollup`);
    return { resident: 1024 * kibibytes(rollup, 'Rss'), proportional: 1024 * kibibytes(rollup, 'Pss') };
  });
}

/** What the process and everything below it hold now; zero once they have ended. */
export function memoryOf(pid: number): Memory {
  const processes = memoryOfEach(pid);
  return {
    resident: processes.reduce((sum, { resident }) => sum + resident, 0),
    proportional: processes.reduce((sum, { proportional }) => sum + proportional, 0),
  };
}

/** USER_HZ: 100 on every architecture that Node runs on (proc(5), sysconf(_SC_CLK_TCK)). */
const ticksPerSecond = 100;

function ticks(pid: number, of: readonly ('own' | 'ended children')[]): number {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, which may hold spaces: count from behind it (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15).map(Number);
  return (of.includes('own') ? utime + stime : 0) + (of.includes('ended children') ? cutime + cstime : 0);
}

/** The ids of a process and of everything below it. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)];
}

/** A child belongs to the thread that forked it, hence one list a thread. */
function childrenOf(pid: number): number[] {
  return threadsOf(pid)
    .map((thread) => read(`/proc/${pid}/task/${thread}/children`))
    .flatMap((children) => children.split(' ').filter(Boolean).map(Number));
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Empty for a process that has ended since it was listed. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function kibibytes(rollup: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);
}
