import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanUpAtExit } from '../exit-cleanup.ts';
import { type OwnedProcess, run, start as startProcess } from '../processes.ts';
import { until } from '../until.ts';

/** A running daemon of a store. */
export interface Daemon {
  readonly pid: number;
  /** Kills the daemon (SIGKILL) and settles when it has ended. */
  kill(): Promise<void>;
}

/** The processes of one object store on this machine, and the temporary folder that holds everything they write. */
export interface StoreProcesses {
  readonly folder: string;
  /** Aborts when a daemon ends unexpectedly, and cancels every wait on this object. */
  readonly failed: AbortSignal;
  /** Runs a command until it exits. Rejects unless the exit code is 0. */
  run(file: string, ...args: string[]): Promise<void>;
  /** Starts a command, which runs until it exits or `stop` is called. */
  start(file: string, ...args: string[]): OwnedProcess;
  /** Starts a daemon, which runs in the foreground until it is killed or `stop` is called. */
  startDaemon(file: string, ...args: string[]): Daemon;
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  /** Returns the error with the last output of each process. */
  describe(error: unknown): string;
  /** Stops all processes and removes the folder. */
  stop(): Promise<void>;
}

interface StartOptions {
  /** The name of the store, for messages and the folder. */
  readonly name: string;
  /** The folder in which the store's own folder is created. Default: the system's temporary folder. */
  readonly parent?: string;
  /** Returns environment variables for all processes, given the store's folder. */
  readonly environment?: (folder: string) => Readonly<Record<string, string>>;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/**
 * Starts a store: creates a folder and calls `bringUp`. A failed start leaves no processes or files, and its error
 * contains the last output of each process. The processes also stop when this process ends, for any reason.
 */
export async function startStore<Store extends object>(
  { name, parent = tmpdir(), environment = () => ({}), signal = new AbortController().signal }: StartOptions,
  bringUp: (processes: StoreProcesses) => Promise<Store>,
): Promise<Store & Pick<StoreProcesses, 'stop'>> {
  const folder = await mkdtemp(join(parent, `holdall-${name.toLowerCase()}-`));
  const forget = cleanUpAtExit({ kind: 'folder', name: folder });
  const processes = createProcesses(folder, environment(folder), signal);
  const stop = async () => {
    await processes.stop();
    forget();
  };
  try {
    const store = await bringUp({ ...processes, stop });
    // Without this line, tests would only report that the store does not respond.
    processes.failed.addEventListener('abort', () => process.stderr.write(processes.describe(processes.failed.reason)));
    return { ...store, stop };
  } catch (error) {
    const description = processes.describe(error);
    await stop();
    signal.throwIfAborted();
    throw new Error(`${name} does not start: ${description}`, { cause: error });
  }
}

function createProcesses(
  folder: string,
  env: Readonly<Record<string, string>>,
  interrupted: AbortSignal,
): StoreProcesses {
  const started: { readonly file: string; readonly owned: OwnedProcess }[] = [];
  const failure = new AbortController();
  const signal = AbortSignal.any([interrupted, failure.signal]);
  const killed = new WeakSet<OwnedProcess>();
  let isStopping = false;
  const start = (file: string, ...args: string[]) => {
    const owned = startProcess({ file, args, env });
    started.push({ file, owned });
    return owned;
  };
  const failWith = async (file: string, daemon: OwnedProcess) => {
    const { description } = await daemon.ended;
    if (!isStopping && !killed.has(daemon)) failure.abort(new Error(`${file} ended by itself: ${description}`));
  };
  return {
    folder,
    failed: failure.signal,
    async run(file, ...args) {
      await run({ file, args, env }, signal);
    },
    start,
    startDaemon(file, ...args) {
      const daemon = start(file, ...args);
      void failWith(file, daemon);
      const kill = async () => {
        killed.add(daemon);
        process.kill(daemon.pid, 'SIGKILL');
        await daemon.ended;
      };
      return { pid: daemon.pid, kill };
    },
    async until(what, condition) {
      await until(what, () => {
        signal.throwIfAborted();
        return condition();
      });
    },
    describe(error) {
      const said = started.map(({ file, owned }) => ({ file, output: owned.lastOutput().replaceAll(/\n+/g, '\n') }));
      const spoken = said.filter(({ output }) => output !== '').map(({ file, output }) => `\n${file}:\n${output}\n`);
      return `${error instanceof Error ? error.message : String(error)}\n${spoken.join('')}`;
    },
    async stop() {
      isStopping = true;
      // Stops the newest process first, because it notifies the earlier ones and waits for their responses.
      for (const { owned } of started.toReversed()) await owned.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
