import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanUpAtExit } from './exit-cleanup.ts';

/** A program and how to call it. It inherits only PATH and HOME, and gets the variables in `env`. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workingFolder?: string;
}

/** How a process ended: `exit 1`, `SIGKILL`, or why it did not start. */
interface Ending {
  readonly code: number | null;
  readonly description: string;
}

/** A process that is stopped with its owner, including its descendants. */
export interface OwnedProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves when the process has ended and its output was read. Never rejects. */
  readonly ended: Promise<Ending>;
  /** The end of its output, from stdout and stderr: at most 8 KiB. */
  lastOutput(): string;
  /** Sends SIGTERM, and kills the process and its descendants after 10 seconds. */
  stop(): Promise<Ending>;
}

/** The output of a command that exited with 0. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a process that runs until it is stopped, its owner is disposed of, or this process ends. */
export function start(command: Command): OwnedProcess {
  const child = spawnInGroup(command);
  let tail = '';
  const keepEnd = (chunk: string) => {
    tail = (tail + chunk).slice(-8192);
  };
  child.stdout?.setEncoding('utf8').on('data', keepEnd);
  child.stderr?.setEncoding('utf8').on('data', keepEnd);
  const ended = ending(child);
  const stop = async () => {
    child.kill('SIGTERM');
    if (!(await endsWithin(10_000, ended))) {
      process.stderr.write(`bench: ${command.file} had not ended 10 s after SIGTERM and was killed\n`);
      killGroup(child.pid);
    }
    return await ended;
  };
  return {
    pid: child.pid ?? 0,
    ended,
    lastOutput: () => tail.trim(),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

/**
 * Runs a command until it exits. Rejects unless it exits with 0. Kills it when the signal aborts. `onStarted` receives
 * its process ID.
 */
export async function run(command: Command, signal: AbortSignal, onStarted?: (pid: number) => void): Promise<Output> {
  signal.throwIfAborted();
  const child = spawnInGroup(command);
  if (child.pid !== undefined) onStarted?.(child.pid);
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output.stdout += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output.stderr += chunk;
  });
  const kill = () => killGroup(child.pid);
  signal.addEventListener('abort', kill, { once: true });
  const { code, description } = await ending(child);
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (code !== 0) {
    // Only the end: a command that fails on each of thousands of files prints as many errors.
    const said = (output.stderr || output.stdout).slice(-8192);
    throw new Error(`${line(command)}: ${description}\n${said}`.trim());
  }
  return output;
}

/** `detached` starts a process group: a kill then reaches its descendants, and Ctrl-C reaches only this process. */
function spawnInGroup(command: Command): ChildProcess {
  const { PATH = '/usr/bin:/bin', HOME = '/' } = process.env;
  const child = spawn(command.file, command.args, {
    cwd: command.workingFolder ?? '/',
    // Debian keeps nginx in /usr/sbin, which is not on the PATH of every user.
    env: { PATH: `${PATH}:/usr/local/sbin:/usr/sbin:/sbin`, HOME, LC_ALL: 'C.UTF-8', ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  if (child.pid !== undefined) child.once('close', cleanUpAtExit({ kind: 'group', name: String(child.pid) }));
  return child;
}

function ending(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, description: error.message }));
    child.once('close', (code, signal) => {
      resolve({ code, description: signal ?? `exit ${code}` });
    });
  });
}

async function endsWithin(milliseconds: number, ended: Promise<Ending>): Promise<boolean> {
  const timer = new AbortController();
  const expired = sleep(milliseconds, false, { signal: timer.signal }).catch(() => false);
  const inTime = await Promise.race([expired, ended.then(() => true)]);
  timer.abort();
  return inTime;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group does not exist: all of its processes have ended.
  }
}

function line(command: Command): string {
  return [command.file, ...command.args].join(' ');
}
