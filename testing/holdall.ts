import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { atEnd, type Owner } from './at-end.ts';
import { createSqlite } from './migrated-database.ts';
import { lastLines, printAtFailure } from './print-at-failure.ts';
import { until } from './until.ts';

export { atEnd, type Owner } from './at-end.ts';

/** A line of the service's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The levels of errors: by their names in the log of a service process, by their numbers in the log of a service in this process. */
const ERROR_LEVELS: readonly unknown[] = ['error', 'fatal', 50, 60];

/** Returns whether a line of a log reports an error. */
export const isError = ({ level }: LogLine): boolean => ERROR_LEVELS.includes(level);

/** The exit status of a process. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running service process with its workers. */
export interface Holdall {
  readonly pid: number;
  readonly port: number;
  /** The served folder. */
  readonly root: string;
  readonly ready: LogLine;
  /** The log lines so far. */
  readonly log: readonly LogLine[];
  /** Returns all output so far, of stdout and stderr. */
  printed(): string;
  /** Resolves when the process has exited and its output is closed. */
  readonly ended: Promise<End>;
  /** Returns the ids of the serving processes: the workers, or the only process. */
  serving(): number[];
  signal(name: NodeJS.Signals): void;
  /** Kills all processes with SIGKILL, like a power failure. */
  kill(): Promise<void>;
}

export interface Start {
  /** The folder to serve. Default: a new folder. */
  readonly root?: string;
  /** Additional environment variables. The process inherits none. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The program that runs the script, and its first arguments. Default: the Node.js of the tests, with a large heap from the start. */
  readonly command?: readonly [string, ...string[]];
  /** The script of the command, for another checkout or an installed package. */
  readonly script?: string;
}

/** Starts the service and waits until it is ready. It is stopped when its owner ends. */
export async function startHoldall(t: Owner, { root, settings, ...start }: Start = {}): Promise<Holdall> {
  const served = root ?? (await newRoot(t, settings));
  const { child, pid, ended } = await launch(t, { settings: { DISK_ROOT: served, ...settings }, ...start });
  const log: LogLine[] = [];
  let output = '';
  createInterface(child.stdout).on('line', (line) => void log.push(JSON.parse(line)));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += String(bytes)));
  void text(child.stderr).then((printed) => process.stderr.write(printed));
  printAtFailure(t, `The end of the log of the service ${pid}`, () => lastLines(log));

  const ready = await until('Holdall is ready', async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      const { code, signal } = await ended;
      assert.fail(`Holdall exited before it was ready (${signal ?? code}): ${output}`);
    }
    return log.find(({ msg }) => msg === 'Holdall is ready');
  });
  return {
    pid,
    port: Number(new URL(String(ready['url'])).port),
    root: served,
    ready,
    log,
    printed: () => output,
    ended,
    serving: () => (ready['workers'] === 1 ? [pid] : childrenOf(pid)),
    signal: (name) => void process.kill(pid, name),
    async kill() {
      killAll(child);
      await ended;
    },
  };
}

/** The output of a command, and how it ended. */
export interface CommandResult extends End {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command until it exits. */
export async function runHoldall(
  t: Owner,
  { args = [], ...start }: Omit<Start, 'root'> & { args?: readonly string[] } = {},
): Promise<CommandResult> {
  const { child, ended } = await launch(t, { ...start, args });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { ...(await ended), stdout, stderr };
}

/** Creates a folder that is removed with its owner. Returns its real path. */
export async function temporaryFolder(t: Owner): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdall-process-')));
  atEnd(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** With one of these, the database is not in the served folder. */
const DATABASE_SETTINGS = ['STORAGE_TYPE', 'STATE_DIR', 'DATABASE_URL'];

/** Creates a folder to serve. Its database has all tables, if it is there: running the migrations takes longer than a copy. */
export async function newRoot(t: Owner, settings: Start['settings'] = {}): Promise<string> {
  const root = await temporaryFolder(t);
  if (!DATABASE_SETTINGS.some((name) => name in settings)) await createSqlite(join(root, '.holdall'));
  return root;
}

/** Returns whether a process is running. A zombie is not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

const SCRIPT = fileURLToPath(new URL('../bin/holdall.js', import.meta.url));

/**
 * Without load shedding: tests on a busy machine must not count as an overload. Without programs for thumbnails,
 * because each start would try their sandbox.
 */
export const DEFAULTS = {
  HOST: '127.0.0.1',
  PORT: '0',
  WORKERS: '1',
  MAX_EVENT_LOOP_DELAY: '0',
  THUMBNAIL_PROGRAMS: 'false',
};

/** Starts with the heap that a busy service has. Otherwise, it would collect garbage many times while it grows. */
const PROGRAM = [process.execPath, '--min-semi-space-size=16'] as const;

const launched = new Set<ChildProcess>();

// For a test file that is stopped from outside, without time for the hooks of its tests.
process.once('exit', () => {
  for (const child of launched) killAll(child);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Starts the command in an empty working directory, so that it reads no `.env`. It inherits only the search path. */
async function launch(
  t: Owner,
  { settings, command = PROGRAM, script = SCRIPT, args = [] }: Start & { args?: readonly string[] },
): Promise<{ child: ChildProcessByStdio<null, Readable, Readable>; pid: number; ended: Promise<End> }> {
  const cwd = await temporaryFolder(t);
  const [program, ...before] = command;
  const { PATH } = process.env;
  const child = spawn(program, [...before, script, ...args], {
    cwd,
    env: { PATH, ...DEFAULTS, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<End>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const { pid } = child;
  if (pid === undefined) return ended.then(() => assert.fail(`${program} could not be started.`));
  launched.add(child);
  atEnd(t, async () => {
    killAll(child);
    await ended;
    launched.delete(child);
  });
  return { child, pid, ended };
}

/** Returns the running child processes of a process. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Kills a running process and its descendants. */
function killAll({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  for (const each of [pid, ...descendantsOf(pid)]) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
