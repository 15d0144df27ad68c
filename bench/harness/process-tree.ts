import { readdirSync, readFileSync } from 'node:fs';

/** Memory of a process or of a process tree, in bytes. */
interface Memory {
  /** Resident memory (RSS), as `ps` shows it. Shared pages count in each process. */
  readonly resident: number;
  /** Proportional memory (PSS). Shared pages count once in total. */
  readonly proportional: number;
}

/** Watches a process tree until it is disposed of. */
export interface MemoryWatch extends Disposable {
  /** Takes another sample, and returns all samples so far. */
  samples(): readonly Memory[];
}

/** Samples the memory of a process tree at an interval in milliseconds. A sample takes about 1 ms per process. */
export function watchMemory(pid: number, milliseconds: number): MemoryWatch {
  const samples = [memoryOf(pid)];
  const timer = setInterval(() => samples.push(memoryOf(pid)), milliseconds);
  return {
    samples: () => [...samples, memoryOf(pid)],
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** Returns the CPU time of a process tree, user and system, including children that ended, in seconds. */
export function cpuSecondsOf(pid: number): number {
  return processTree(pid).reduce((sum, member) => sum + ticks(member, ['own', 'ended children']), 0) / ticksPerSecond;
}

/** Returns the CPU time of the ended children of this process, in seconds. */
export function cpuSecondsOfEndedChildren(): number {
  return ticks(process.pid, ['ended children']) / ticksPerSecond;
}

/** Returns the memory of each process in the tree; zero for processes that have ended. */
export function memoryOfEach(pid: number): Memory[] {
  return processTree(pid).map((member) => {
    const rollup = read(`/proc/${member}/smaps_rollup`);
    return { resident: 1024 * kibibytes(rollup, 'Rss'), proportional: 1024 * kibibytes(rollup, 'Pss') };
  });
}

/** Returns the memory of the process tree; zero when it has ended. */
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
  // The second field is the name of the program in parentheses, which can contain spaces. Fields are counted after it (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15).map(Number);
  return (of.includes('own') ? utime + stime : 0) + (of.includes('ended children') ? cutime + cstime : 0);
}

/** Returns the IDs of all processes in a process tree. */
export function processTree(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(processTree)];
}

/** The kernel has one list of children per thread. */
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

/** Returns an empty string for a process that has ended meanwhile. */
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
