import { execFile } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** What a reader needs to know of the machine before they compare figures with their own. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
  readonly kernel: string;
  /** Of the folder the files were in. */
  readonly fileSystem: string;
  readonly node: string;
  /** The commit of the service, with `+` when the checkout holds more than that. */
  readonly commit: string;
  /** Processes that wanted a core in the minute before the run: near 0 on a quiet machine. */
  readonly loadBefore: number;
  /** When the run began, ISO 8601. */
  readonly date: string;
}

/** Names this machine, the file system of a folder, and the checkout that a file is in. Call it before measuring. */
export async function describeMachine(folder: string, entryFile: string): Promise<Machine> {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: totalmem(),
    kernel: release(),
    fileSystem: await request('findmnt', ['--noheadings', '--output', 'FSTYPE', '--target', folder]),
    node: process.versions.node,
    commit: await describeCommit(join(entryFile, '..')),
    loadBefore: warnWhenBusy(loadavg()[0] ?? 0),
    date: new Date().toISOString(),
  };
}

function warnWhenBusy(load: number): number {
  if (load > 0.5) process.stderr.write(`bench: the machine is busy (load average ${load}): the figures will be off\n`);
  return load;
}

async function describeCommit(folder: string): Promise<string> {
  const commit = await request('git', ['-C', folder, 'rev-parse', '--short', 'HEAD']);
  const changes = await request('git', ['-C', folder, 'status', '--porcelain', '--untracked-files=no']);
  return changes === '' || changes === 'unknown' ? commit : `${commit}+`;
}

/** What a program says, `unknown` where it can't: a benchmark does not fail for want of a name. */
async function request(file: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(file, args, { timeout: 10_000 })).stdout.trim();
  } catch {
    return 'unknown';
  }
}
