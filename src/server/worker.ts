import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { type RunningService, startService } from './service.ts';
import { explainStart, START_FAILED, STOP_SIGNALS, writesFiles } from './startup.ts';

/** Serves in this process until a stop signal, and then exits with 0. Calls `onReady` when it listens. */
export async function runService(
  config: Config,
  logger: Logger,
  onReady: (service: RunningService) => void,
): Promise<void> {
  let service: RunningService | undefined;
  let isHungUp = false;
  // Installed before anything is opened, because SIGHUP ends a process without a handler.
  if (writesFiles(config)) {
    process.on('SIGHUP', () => {
      isHungUp = true;
      service?.reopenLogs();
    });
  }
  const started = await startService(config, logger).catch((error: unknown) => {
    const reason = explainStart(error);
    if (reason === undefined) logger.fatal({ err: error }, 'Holdall could not start.');
    else process.stderr.write(`holdall: ${reason}\n`);
    process.exit(START_FAILED);
  });
  service = started;
  if (isHungUp) started.reopenLogs();
  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ signal }, 'Stopping: what is under way may finish.');
    const outcome = await started.stop();
    logger.info({ outcome }, 'Stopped.');
    process.exit(0);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal));
  onReady(started);
}
