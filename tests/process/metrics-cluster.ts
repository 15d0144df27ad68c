import cluster from 'node:cluster';
import { mock } from 'node:test';
import { createMetricsCollector, serveMetricsToWorkers } from '../../src/server/worker-metrics.ts';

/*
 * A primary process with one worker, which collects metrics once without reporting that it is ready. Prints the result as
 * JSON. Its timers don't run. With the argument `silent`, the primary does not respond, and the time passes.
 */
const isSilent = process.argv[2] === 'silent';
mock.timers.enable({ apis: ['setTimeout'] });
if (cluster.isPrimary) {
  if (!isSilent) serveMetricsToWorkers(() => 2);
  cluster.fork();
} else {
  const collect = createMetricsCollector(async () => [{ name: 'one' }]);
  const collecting = collect();
  if (isSilent) mock.timers.tick(3000);
  process.stdout.write(JSON.stringify(await collecting));
  process.disconnect?.();
}
