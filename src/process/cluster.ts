import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { gatherForWorkers } from './gathering.ts';
import { countForWorkers } from './shared-counters.ts';
import { START_FAILED, STOP_SIGNALS, writesFiles } from './signals.ts';

/** Milliseconds before a worker that died is replaced: soon, and not in a loop that eats the machine. */
const RESTART_DELAY = 1000;

/** Milliseconds beyond the time for requests in flight after which a worker that does not stop is killed. */
const KILL_DELAY = 5000;

/**
 * Runs `config.WORKERS` processes on one port: the first, and when it is ready, the others. One that dies is
 * replaced; a first one that can't start has told its reason and ends all. After a signal to stop, this ends with 0 when
 * all workers have.
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
  if (config.METRICS_TOKEN !== undefined) gatherForWorkers();
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

/** Passes SIGHUP on to the workers that are ready; gives what has to be told of each that is. */
function passOnHangUps(): (worker: Worker) => void {
  const ready = new WeakSet<Worker>();
  let isHungUp = false;
  process.on('SIGHUP', () => {
    isHungUp = true;
    for (const worker of workers()) if (ready.has(worker)) worker.process.kill('SIGHUP');
  });
  return (worker) => {
    ready.add(worker);
    // Before, it would have ended it; but the file that it has opened may have been moved since.
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
