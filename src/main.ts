import cluster from 'node:cluster';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { type Config, readConfig } from './config/config.ts';
import { helpText } from './config/help.ts';
import { runCluster } from './process/cluster.ts';
import { explainStart } from './process/failure.ts';
import { runService } from './process/worker.ts';
import { version } from './version.ts';

/** The command `holdall`: settings in, service out. The only reader of the environment. */
async function main(): Promise<void> {
  const { values } = parseArguments();
  if (values.help) return print(helpText(version));
  if (values.version) return print(`${version}\n`);

  const config = readEnvironment();
  const logger = pino({ level: config.LOG_LEVEL, base: { pid: process.pid } });
  if (cluster.isPrimary && config.WORKERS > 1) return runCluster(config, logger);
  await runService(config, logger, ({ url, serves }) => {
    const ready = { url, serves, version, workers: config.WORKERS };
    if (cluster.isWorker) process.send?.(ready);
    else logger.info(ready, 'Holdall is ready.');
  });
}

function parseArguments() {
  try {
    return parseArgs({ options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), 2);
  }
}

function readEnvironment(): Config {
  try {
    if (existsSync('.env')) process.loadEnvFile('.env');
    return readConfig(process.env);
  } catch (error) {
    return refuse(explainStart(error) ?? `.env can't be read: ${String(error)}`, 1);
  }
}

function refuse(reason: string, code: number): never {
  process.stderr.write(`holdall: ${reason}\n`);
  process.exit(code);
}

function print(text: string): void {
  process.stdout.write(text);
}

await main();
