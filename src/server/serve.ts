import cluster from 'node:cluster';
import { pino } from 'pino';
import type { Config } from '../config/settings.ts';
import { writeLinesTo } from './audit-log.ts';
import { runCluster } from './cluster.ts';

/** Serves, in this process or in workers, until a stop signal. */
export async function serve(config: Config, version: string): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL, base: { pid: process.pid } }, { write: toStdout });
  if (cluster.isPrimary && config.WORKERS > 1) return runCluster(config, logger);
  // Loaded only here: the primary of a cluster serves nothing itself, and saves 50 MB.
  const { runService } = await import('./worker.ts');
  await runService(config, logger, ({ url, serves, access }) => {
    const ready = { url, serves, access, version, workers: config.WORKERS };
    if (cluster.isWorker) process.send?.({ ready });
    else logger.info(ready, 'Holdall is ready.');
  });
}

const writeToStdout = writeLinesTo(1, { waits: true });

/**
 * Writes a line to stdout. A line that can't be written is lost, as on a full disk: there is nowhere to report it,
 * and the service continues.
 */
function toStdout(line: string): void {
  try {
    writeToStdout(line);
  } catch {
    // See above.
  }
}
