import cluster, { type Worker } from 'node:cluster';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { ReadyService } from '../observability/log.ts';
import { EXIT_CODES, PACKAGE_FOLDER } from '../system.ts';
import { serveBroadcastsToWorkers } from './broadcast.ts';
import { serveCountersToWorkers } from './shared-counters.ts';
import { serveMetricsToWorkers } from './worker-metrics.ts';

/** Signals that stop the service: from a supervisor and from the keyboard. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The exit codes of a failed start. A worker that exits with one of them is not replaced. */
const START_FAILURES: readonly number[] = [EXIT_CODES.configuration, EXIT_CODES.unavailable];

/**
 * Returns whether SIGHUP reopens the log files, which never ends the service. Only a service on a terminal without log files
 * ends, when the terminal closes.
 */
export function handlesHangup({ AUDIT_LOG }: Config): boolean {
  const hasLogFiles = AUDIT_LOG !== 'stdout' && AUDIT_LOG !== 'off';
  return hasLogFiles || !process.stdout.isTTY;
}

/**
 * The environment variable with what the first worker serves. Later ones must serve the same: if a disk was unmounted meanwhile,
 * they would otherwise serve the folder below it.
 */
export const PLACE_VARIABLE = 'PLACE_OF_FIRST_WORKER';

/** What workers load before the program. */
const PRELOADED = join(PACKAGE_FOLDER, 'bin/end-with-primary.js');

/** Workers that fail one after the other, without a ready one, until the service ends. */
const MAX_FAILED_STARTS = 5;

/** Milliseconds before a worker that died is replaced, so that a crash loop does not overload the machine. */
const RESTART_DELAY_MS = 1000;

/** Milliseconds after the drain timeout before a worker that does not stop is killed. */
const KILL_DELAY_MS = 5000;

/**
 * Runs `config.WORKERS` processes on one port: one first, and the others when it is ready. Replaces workers that die.
 * Calls `announce` when the first one is ready. If it can't start, it has logged the reason and all processes exit. After a stop signal, exits with 0 when
 * all workers have exited.
 */
export function runCluster(config: Config, logger: Logger, announce: (ready: ReadyService) => void): void {
  let isStopping = false;

  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    for (const worker of workers()) worker.process.kill('SIGTERM');
    setTimeout(() => killWorkers(logger), config.SHUTDOWN_TIMEOUT * 1000 + KILL_DELAY_MS).unref();
    if (workers().length === 0) process.exit(0);
  };

  let isReady = false;
  let failedStarts = 0;
  const ready = new Set<number>();
  const addReadyWorker = handlesHangup(config) ? forwardHangups() : () => {};
  let deaths = 0;
  if (config.METRICS_TOKEN !== undefined) serveMetricsToWorkers(() => deaths);
  serveCountersToWorkers();
  serveBroadcastsToWorkers();
  let place: string | undefined;
  const fork = () => cluster.fork(place === undefined ? {} : { [PLACE_VARIABLE]: place });
  cluster.on('message', (worker, message: { ready?: ReadyService; place?: string }) => {
    if (!message.ready) return;
    addReadyWorker(worker);
    ready.add(worker.id);
    failedStarts = 0;
    if (isReady) return;
    isReady = true;
    ({ place } = message);
    announce(message.ready);
    for (let count = 1; count < config.WORKERS && !isStopping; count++) fork();
  });

  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) {
      if (workers().length === 0) process.exit(0);
      return;
    }
    const exit = (status: number) => {
      for (const other of workers()) other.process.kill('SIGKILL');
      process.exit(status);
    };
    deaths++;
    if (START_FAILURES.includes(code) && !isReady) exit(code);
    if (!ready.delete(worker.id)) failedStarts++;
    // A store that is unavailable can be available later.
    if (failedStarts >= MAX_FAILED_STARTS && ready.size === 0 && code !== EXIT_CODES.unavailable) {
      logger.fatal({ failedStarts, code, signal }, 'Workers fail at their start; the service ends');
      exit(code === EXIT_CODES.configuration ? code : EXIT_CODES.failed);
    }
    logger.error({ worker: worker.process.pid, code, signal }, 'Worker died; starting a replacement');
    setTimeout(() => isStopping || fork(), RESTART_DELAY_MS);
  });

  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  cluster.setupPrimary({ execArgv: [...process.execArgv, '--require', PRELOADED] });
  fork();
}

/** Forwards SIGHUP to the workers that are ready. Returns a function to call with each worker that becomes ready. */
function forwardHangups(): (worker: Worker) => void {
  const ready = new WeakSet<Worker>();
  let wasHungUp = false;
  process.on('SIGHUP', () => {
    wasHungUp = true;
    for (const worker of workers()) if (ready.has(worker)) worker.process.kill('SIGHUP');
  });
  return (worker) => {
    ready.add(worker);
    // Earlier, SIGHUP would have ended the worker. The log file that it opened might have been moved since.
    if (wasHungUp) worker.process.kill('SIGHUP');
  };
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

function killWorkers(logger: Logger): void {
  for (const worker of workers()) {
    logger.error({ worker: worker.process.pid }, 'Worker did not stop in time; killing it');
    worker.process.kill('SIGKILL');
  }
}
