import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { Database } from '../database/database.ts';
import { openEngine } from '../database/open.ts';
import type { Metrics } from '../observability/metrics.ts';
import { connectBroadcast } from './broadcast.ts';

/** What `startDatabase` uses of the process. */
export interface DatabaseEnvironment {
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  readonly resources: AsyncDisposableStack;
}

/**
 * Starts the database of the service. Does not fail if the database is unavailable: files are served without it, and it
 * is opened later. Logs each change of its state.
 */
export async function startDatabase(
  { DATABASE_URL: url }: Config,
  stateFolder: string,
  { logger, metrics, resources }: DatabaseEnvironment,
): Promise<Database> {
  const engine = await openEngine({ url, stateFolder });
  let unavailableSince: number | undefined;
  // All workers of a machine find the same state at their start. Only the first one logs it.
  let isLogged = cluster.worker === undefined || cluster.worker.id === 1;
  const database = new Database(engine, {
    broadcast: connectBroadcast(),
    onChange(fault) {
      const outageMs = unavailableSince === undefined ? undefined : performance.now() - unavailableSince;
      unavailableSince = fault && (unavailableSince ?? performance.now());
      metrics?.setDatabaseUnavailable(fault !== undefined);
      if (isLogged && fault) {
        // Without the original error: errors of clients for databases can contain parameters of queries.
        const details = { engine: engine.name, fault: fault.kind, reason: fault.message };
        logger.error(details, 'Database unavailable; only file operations work');
      } else if (isLogged && outageMs !== undefined) {
        logger.warn({ engine: engine.name, seconds: Math.round(outageMs / 1000) }, 'Database available again');
      }
    },
  });
  resources.defer(() => database.close());
  await database.start();
  isLogged = true;
  return database;
}
