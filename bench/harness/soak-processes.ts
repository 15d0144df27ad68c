import { readdirSync, readFileSync } from 'node:fs';
import { processTree } from './process-tree.ts';

/** The resources of one process of the service at one time. */
export interface ProcessSample {
  readonly pid: number;
  /** Seconds since the start. */
  readonly at: number;
  /** Resident memory in bytes. Shared pages count in each process. */
  readonly resident: number;
  readonly descriptors: number;
}

export interface ProcessWatch extends Disposable {
  samples(): readonly ProcessSample[];
  /** Discards all samples, and starts again. */
  begin(): void;
}

/** Samples a process tree once a second. */
export function watchProcesses(pid: number): ProcessWatch {
  let began = performance.now();
  let samples: ProcessSample[] = [];
  const look = () => {
    const at = (performance.now() - began) / 1000;
    for (const member of processTree(pid)) {
      const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${member}/status`))?.[1] ?? 0) * 1024;
      // Ended between the two reads.
      if (resident > 0) samples.push({ pid: member, at, resident, descriptors: countOf(`/proc/${member}/fd`) });
    }
  };
  look();
  const timer = setInterval(look, 1000);
  return {
    samples: () => samples,
    begin() {
      began = performance.now();
      samples = [];
      look();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

const countOf = (folder: string) => namesIn(folder).length;

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Returns an empty result for a process that has ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
