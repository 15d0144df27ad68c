import cluster from 'node:cluster';
import { createMetricsCollector, serveMetricsToWorkers } from '../../src/server/worker-metrics.ts';

/*
 * A primary process with one worker, which collects metrics once without reporting that it is ready. Prints the result
 * and the elapsed milliseconds as JSON. With the argument `silent`, the primary does not respond.
 */
if (cluster.isPrimary) {
  if (process.argv[2] !== 'silent') serveMetricsToWorkers(() => 2);
  cluster.fork();
} else {
  const collect = createMetricsCollector(async () => [{ name: 'one' }]);
  const started = performance.now();
  const metrics = await collect();
  process.stdout.write(JSON.stringify({ metrics, milliseconds: performance.now() - started }));
  process.disconnect?.();
}
