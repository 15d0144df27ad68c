import { join } from 'node:path';
import { type OwnedProcess, run, start as startProcess } from '../../bench/harness/processes.ts';
import { until } from '../process/until.ts';

/** A process of a cluster that goes on by itself. */
export interface Daemon {
  readonly pid: number;
  /** Ends it as it stands (SIGKILL), and settles when it is gone. */
  kill(): Promise<void>;
}

/** The processes of one cluster. */
export interface Cluster {
  readonly folder: string;
  readonly configurationFile: string;
  /** Aborts when a daemon ends by itself, and everything that is waited for here with it. */
  readonly failed: AbortSignal;
  /** Runs a command to its end; rejects when that is not exit 0. */
  run(file: string, ...args: string[]): Promise<void>;
  /** Starts a command that `stop` ends at the latest. */
  start(file: string, ...args: string[]): OwnedProcess;
  /** Starts a daemon, which goes on until it is killed or `stop`. */
  startDaemon(file: string, ...args: string[]): Daemon;
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  /** An error, and what the processes said last, each under its name. */
  describe(error: unknown): string;
  stop(): Promise<void>;
}

/** A cluster of no processes yet. All that waits for it ends with the reason of `interrupted` when that aborts. */
export function ownCluster(folder: string, interrupted: AbortSignal): Cluster {
  const configurationFile = join(folder, 'ceph.conf');
  // Else they ask the monitor for settings first, know the cluster's id no more, and may call again before they do.
  const env = { CEPH_CONF: configurationFile, CEPH_ARGS: '--no-mon-config' };
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
    configurationFile,
    failed: failure.signal,
    async run(file, ...args) {
      await run({ file, args, env }, signal);
    },
    start,
    startDaemon(file, ...args) {
      const daemon = start(file, '-f', ...args);
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
      // What came last goes first: each tells those before it that it goes, and waits for their answer.
      for (const { owned } of started.toReversed()) await owned.stop();
    },
  };
}
