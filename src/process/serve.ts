import cluster from 'node:cluster';
import { pino } from 'pino';
import type { Config } from '../config/config.ts';
import { runCluster } from './cluster.ts';
import { runService } from './worker.ts';

/** Serves, from this process or from workers of it, until it is told to stop. */
export async function serve(config: Config, version: string): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL, base: { pid: process.pid } });
  if (cluster.isPrimary && config.WORKERS > 1) return runCluster(config, logger);
  await runService(config, logger, ({ url, serves }) => {
    const ready = { url, serves, version, workers: config.WORKERS };
    if (cluster.isWorker) process.send?.(ready);
    else logger.info(ready, 'Holdall is ready.');
  });
}
