import { execFile } from 'node:child_process';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The properties of the machine that affect the figures. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
  readonly kernel: string;
  /** The file system of the folder with the files. */
  readonly fileSystem: string;
  readonly node: string;
  /** The commit of the service, with `+` if the checkout has uncommitted changes. */
  readonly commit: string;
  /** The load average of the minute before the run: near 0 on an idle machine. */
  readonly loadBefore: number;
  /** The start of the run, in ISO 8601. */
  readonly date: string;
}

/** Describes this machine, the file system of a folder, and the checkout of a file. Call it before measuring. */
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

/** Returns the output of a program; `unknown` if it fails, because a name is not worth a failed benchmark. */
async function request(file: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(file, args, { timeout: 10_000 })).stdout.trim();
  } catch {
    return 'unknown';
  }
}
