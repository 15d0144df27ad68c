import { readConfig } from '../src/config/config.ts';
import { createLogger } from '../src/observability/log.ts';
import { startService } from '../src/server/service.ts';
import { atEnd, type Owner } from './at-end.ts';
import { DEFAULTS, type LogLine, newRoot } from './holdall.ts';
import { lastLines, printAtFailure } from './print-at-failure.ts';

/** A service in this process. */
export interface ServiceInProcess {
  readonly port: number;
  /** The served folder. */
  readonly root: string;
  /** A description of the store for users. */
  readonly serves: string;
  /** The log lines so far. */
  readonly log: readonly LogLine[];
  /** Returns the log so far as text. */
  printed(): string;
  /** Drains requests in progress and closes everything. Can be called repeatedly. */
  stop(): Promise<'finished' | 'interrupted'>;
}

interface StartInProcess {
  /** The folder to serve. Default: a new folder. */
  readonly root?: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Receives the lines of the log, also before the service is ready. */
  readonly log?: LogLine[];
}

/**
 * Defaults that differ from those of a process: standard output belongs to the runner of the tests, and no test waits for
 * requests that it has abandoned.
 */
const DEFAULTS_HERE = { ...DEFAULTS, AUDIT_LOG: 'off', SHUTDOWN_TIMEOUT: '1' };

/**
 * Starts the service with these settings in this process, as a process of the service does after it has read its
 * environment. It is stopped when its owner ends. Rejects with the error of a start that fails.
 */
export async function startInProcess(
  t: Owner,
  { root, settings = {}, log = [] }: StartInProcess = {},
): Promise<ServiceInProcess> {
  const served = root ?? (await newRoot(t, settings));
  const config = readConfig({ ...DEFAULTS_HERE, DISK_ROOT: served, ...settings });
  let output = '';
  const logger = createLogger(config.LOG_LEVEL, (line) => {
    output += line;
    log.push(JSON.parse(line));
  });
  printAtFailure(t, 'The end of the log of the service', () => lastLines(log));
  const service = await startService(config, logger);
  let stopped: Promise<'finished' | 'interrupted'> | undefined;
  const stop = () => (stopped ??= service.stop());
  atEnd(t, stop);
  return {
    port: Number(new URL(service.url).port),
    root: served,
    serves: service.serves,
    log,
    printed: () => output,
    stop,
  };
}
