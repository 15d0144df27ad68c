import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { AccessFileError } from '../access/access-file-syntax.ts';
import type { Config } from '../config/settings.ts';
import { PageNotBuilt } from '../http/page/web-page.ts';
import { isStoreError, messageWithCause, type StoreErrorCode } from '../model/error.ts';
import { createLogger, formatBanner, type ReadyService } from '../observability/log.ts';
import { SettingsError } from '../settings/setting.ts';
import { commit, EXIT_CODES, version } from '../system.ts';
import { createStdoutWriter, logFormatOf } from './audit-log.ts';
import { handlesHangup, PLACE_VARIABLE, runCluster, STOP_SIGNALS } from './cluster.ts';
import type { RunningService } from './service.ts';

/** Serves, in this process or in workers, until a stop signal. */
export async function serve(config: Config): Promise<void> {
  const writeToStdout = createStdoutWriter(logFormatOf(config));
  const logger = createLogger(config.LOG_LEVEL, (line) => {
    try {
      writeToStdout(line);
    } catch {
      // A line that can't be written is lost, as on a full disk: there is nowhere to report it, and the service continues.
    }
  });
  const announce = (ready: ReadyService) => announceReady(ready, config, logger);
  if (cluster.isPrimary && config.WORKERS > 1) return runCluster(config, logger, announce);
  const { url, serves, access, place } = await runService(config, logger);
  const ready = { url, serves, access, version, commit, workers: config.WORKERS };
  if (cluster.isWorker) process.send?.({ ready, place });
  else announce(ready);
}

/** Logs that the service is ready, or shows it on a terminal. */
function announceReady(ready: ReadyService, config: Config, logger: Logger): void {
  if (logFormatOf(config) === 'json') logger.info(ready, 'Holdall is ready');
  else if (logger.isLevelEnabled('info')) process.stdout.write(formatBanner(ready));
}

/** Starts the service in this process. A stop signal stops it and exits with 0. */
async function runService(config: Config, logger: Logger): Promise<RunningService> {
  let service: RunningService | undefined;
  let wasHungUp = false;
  // Installed before anything is opened, because SIGHUP ends a process without a handler.
  if (handlesHangup(config)) {
    process.on('SIGHUP', () => {
      wasHungUp = true;
      service?.reopenLogs();
    });
  }
  service = await startOrExit(config, logger);
  if (wasHungUp) service.reopenLogs();
  stopOnSignal(service, logger);
  return service;
}

async function startOrExit(config: Config, logger: Logger): Promise<RunningService> {
  // Loaded only here: the primary of a cluster serves nothing itself, and saves 50 MB.
  const { startService } = await import('./service.ts');
  return startService(config, logger, process.env[PLACE_VARIABLE]).catch((error: unknown) => {
    const reason = explainStartError(error);
    if (reason === undefined) logger.fatal({ err: error }, 'Start failed');
    else process.stderr.write(`holdall: ${reason}\n`);
    process.exit(isUnavailable(error) ? EXIT_CODES.unavailable : EXIT_CODES.configuration);
  });
}

function stopOnSignal(service: RunningService, logger: Logger): void {
  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    logger.info({ signal }, 'Stopping; draining requests in progress');
    const outcome = await service.stop();
    logger.info({ outcome }, 'Stopped');
    process.exit(0);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal));
}

/** Returns whether a later start can succeed without a change of the settings. */
function isUnavailable(error: unknown): boolean {
  return isStoreError(error) && UNAVAILABLE_CODES.includes(error.code);
}

const UNAVAILABLE_CODES: readonly StoreErrorCode[] = [
  'unavailable',
  'store-unreachable',
  'store-busy',
  'store-full',
  'state-full',
  'quota-exhausted',
];

/**
 * Returns the reason why the service can't start, as one line or a list of mistakes. Returns undefined for a bug,
 * which needs its stack trace.
 */
export function explainStartError(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof AccessFileError) return error.message;
  if (error instanceof PageNotBuilt) return error.message;
  if (isStoreError(error)) return messageWithCause(error);
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined;
  if (error.syscall === 'getaddrinfo') {
    const host = 'hostname' in error ? String(error.hostname) : '';
    return `Can't resolve HOST "${host}". Set it to an address of this machine.`;
  }
  if (error.syscall !== 'listen' && error.syscall !== 'bind') return undefined;
  const address = `${'address' in error ? String(error.address) : 'HOST'}:${'port' in error ? String(error.port) : 'PORT'}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${address} is already in use. Stop the program that listens there, or set PORT to another port.`;
    case 'EACCES':
      return `No permission to listen on ${address}: ports below 1024 need root. Set PORT to a higher port.`;
    case 'EADDRNOTAVAIL':
      return `${address} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.`;
    default:
      return `Can't listen on ${address}: ${error.message}`;
  }
}
