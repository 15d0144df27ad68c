import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { serveMetricsToWorkers } from './metrics-of-workers.ts';
import { countForWorkers } from './shared-counters.ts';
import { START_FAILED, STOP_SIGNALS, writesFiles } from './startup.ts';

/** Milliseconds before a worker that died is replaced, so that a crash loop does not overload the machine. */
const RESTART_DELAY = 1000;

/** Milliseconds after the drain timeout before a worker that does not stop is killed. */
const KILL_DELAY = 5000;

/**
 * Runs `config.WORKERS` processes on one port: one first, and the others when it is ready. Replaces workers that die.
 * If the first one can't start, it has logged the reason and all processes exit. After a stop signal, exits with 0 when
 * all workers have exited.
 */
export function runCluster(config: Config, logger: Logger): void {
  let isStopping = false;

  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    for (const worker of workers()) worker.process.kill('SIGTERM');
    setTimeout(() => killAll(logger), config.SHUTDOWN_TIMEOUT * 1000 + KILL_DELAY).unref();
    if (workers().length === 0) process.exit(0);
  };

  let isReady = false;
  const canHangUp = writesFiles(config) ? passOnHangUps() : () => {};
  if (config.METRICS_TOKEN !== undefined) serveMetricsToWorkers();
  countForWorkers();
  cluster.on('message', (worker, message: { ready?: object }) => {
    if (!message.ready) return;
    canHangUp(worker);
    if (isReady) return;
    isReady = true;
    logger.info(message.ready, 'Holdall is ready.');
    for (let count = 1; count < config.WORKERS && !isStopping; count++) cluster.fork();
  });

  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) {
      if (workers().length === 0) process.exit(0);
      return;
    }
    if (code === START_FAILED && !isReady) {
      for (const other of workers()) other.process.kill('SIGKILL');
      process.exit(START_FAILED);
    }
    logger.error({ worker: worker.process.pid, code, signal }, 'A worker died and is replaced.');
    setTimeout(() => isStopping || cluster.fork(), RESTART_DELAY);
  });

  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  cluster.fork();
}

/** Forwards SIGHUP to the workers that are ready. Returns a function to call with each worker that becomes ready. */
function passOnHangUps(): (worker: Worker) => void {
  const ready = new WeakSet<Worker>();
  let isHungUp = false;
  process.on('SIGHUP', () => {
    isHungUp = true;
    for (const worker of workers()) if (ready.has(worker)) worker.process.kill('SIGHUP');
  });
  return (worker) => {
    ready.add(worker);
    // Earlier, SIGHUP would have ended the worker. The log file that it opened may have been moved since.
    if (isHungUp) worker.process.kill('SIGHUP');
  };
}

const workers = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

function killAll(logger: Logger): void {
  for (const worker of workers()) {
    logger.error({ worker: worker.process.pid }, 'A worker did not stop in time and is killed.');
    worker.process.kill('SIGKILL');
  }
}
