import cluster from 'node:cluster';
import { mock } from 'node:test';
import { createMetricsCollector, serveMetricsToWorkers } from '../../src/server/worker-metrics.ts';

/*
 * A primary process with one worker, which collects metrics twice without reporting that it is ready: first from a primary that
 * does not respond, while the time passes, and then from one that does. Prints the results as JSON. Its timers don't run.
 */
mock.timers.enable({ apis: ['setTimeout'] });
if (cluster.isPrimary) {
  const worker = cluster.fork();
  // Any message that metrics don't use.
  worker.on('message', (message: unknown) => {
    if (message !== 'served?') return;
    serveMetricsToWorkers(() => 2);
    worker.send('served');
  });
} else {
  const collect = createMetricsCollector(async () => [{ name: 'one' }]);
  const collecting = collect();
  mock.timers.tick(3000);
  const alone = await collecting;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  process.on('message', (message: unknown) => message === 'served' && resolve(message));
  process.send?.('served?');
  await promise;
  process.stdout.write(JSON.stringify({ alone, served: await collect() }));
  process.disconnect?.();
}
