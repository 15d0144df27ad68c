import cluster from 'node:cluster';
import { pino } from 'pino';
import type { Config } from '../config/config.ts';
import { writeLinesTo } from './audit-log.ts';
import { runCluster } from './cluster.ts';

/** Serves, from this process or from workers of it, until it is told to stop. */
export async function serve(config: Config, version: string): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL, base: { pid: process.pid } }, { write: toStdout });
  if (cluster.isPrimary && config.WORKERS > 1) return runCluster(config, logger);
  // Loaded here: what starts the workers serves nothing itself, and has 50 MB less for that.
  const { runService } = await import('./worker.ts');
  await runService(config, logger, ({ url, serves, access }) => {
    const ready = { url, serves, access, version, workers: config.WORKERS };
    if (cluster.isWorker) process.send?.({ ready });
    else logger.info(ready, 'Holdall is ready.');
  });
}

const writeToStdout = writeLinesTo(1, { waits: true });

/** A line that stdout does not take is lost, as on a full disk: there is nowhere to say so, and what is served goes on. */
function toStdout(line: string): void {
  try {
    writeToStdout(line);
  } catch {
    // See above.
  }
}
