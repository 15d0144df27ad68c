import cluster from 'node:cluster';
import { parseArgs } from 'node:util';
import { findServedFolder, readConfig, readEnvironmentFile } from './config/config.ts';
import { findMisspellings, withoutOverridden } from './config/environment.ts';
import { COMMAND_NAMES, commandsOf, describeCommands, findCommand, helpText } from './config/help.ts';
import type { Config } from './config/settings.ts';
import { SettingsError } from './settings/setting.ts';
import { version } from './system.ts';

/** Runs the command `holdall`. This is the only code that reads the environment. */
async function main(): Promise<void> {
  process.stdout.on('error', allowClosedPipe);
  process.stderr.on('error', allowClosedPipe);
  const args = process.argv.slice(2);
  if (commandsOf(args[0]).length > 0) return runSubcommand(args);
  const { values, positionals } = parseArguments(args);
  const [unknown] = positionals;
  if (unknown !== undefined) {
    const known = COMMAND_NAMES.join(', ');
    refuse(`Unknown command ${JSON.stringify(unknown)}. Commands: ${known}. See holdall --help.`, 2);
  }
  if (values.help) return print(helpText(version));
  if (values.version) return print(`${version}\n`);

  const config = await readEnvironment();
  // For the workers. By default, each glibc thread arena keeps idle memory (5 MB per process at the start, 100 MB and
  // more after thumbnails).
  process.env['MALLOC_ARENA_MAX'] ??= '2';
  // Node.js reads it when it creates the first thread.
  process.env['UV_THREADPOOL_SIZE'] = String(config.UV_THREADPOOL_SIZE);
  // Loaded here because it is large and the other commands don't need it.
  const { serve } = await import('./server/serve.ts');
  await serve(config, version);
}

/** Ignores EPIPE: the reader of the output, such as `head`, may close the pipe early. */
function allowClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** Runs a command other than serving. */
async function runSubcommand(args: readonly string[]): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) {
    const found = findCommand(args);
    return print(`Usage:\n${describeCommands(found ? [found] : commandsOf(args[0]))}`);
  }
  await loadEnvironmentFile();
  const { runCommand } = await import('./cli/run.ts');
  const explain = (text: string) => void process.stderr.write(text);
  process.exitCode = await runCommand({ args, environment: process.env, stdin: process.stdin, print, explain });
}

function parseArguments(args: string[]) {
  try {
    const options = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const;
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), 2);
  }
}

async function readEnvironment(): Promise<Config> {
  await loadEnvironmentFile();
  if (cluster.isPrimary) {
    for (const warning of findMisspellings(process.env)) process.stderr.write(`holdall: ${warning}\n`);
  }
  try {
    return readConfig(process.env);
  } catch (error) {
    if (error instanceof SettingsError) return refuse(error.message, 1);
    throw error;
  }
}

const ENVIRONMENT_FILE = '.env';

/**
 * Adds the settings of `.env` in the working directory to the environment. Ignores other variables, because
 * `NODE_OPTIONS` would run code in the workers. Workers inherit the environment of the first process and don't read the
 * file.
 */
async function loadEnvironmentFile(): Promise<void> {
  if (cluster.isWorker) return;
  let file: ReturnType<typeof readEnvironmentFile>;
  try {
    file = readEnvironmentFile(ENVIRONMENT_FILE);
  } catch (error) {
    return refuse(`Can't read .env: ${String(error)}`, 1);
  }
  if (file === undefined) return;
  await requireOutsideServedFolder(file.settings);
  if (file.ignored.length > 0) {
    const names = file.ignored.join(', ');
    process.stderr.write(
      `holdall: Ignoring ${names} in .env, which may contain only Holdall settings (see holdall --help). Set other variables in the environment.\n`,
    );
  }
  Object.assign(process.env, withoutOverridden(file.settings, process.env));
}

/**
 * Rejects an `.env` file in the served folder, where users upload files. The environment takes precedence over the
 * file, so the file can't bypass this check by naming another folder or STORAGE_TYPE.
 */
async function requireOutsideServedFolder(settings: Readonly<Record<string, string>>): Promise<void> {
  const served = findServedFolder(process.env, settings);
  if (served === undefined) return;
  const { isServed } = await import('./server/private-paths.ts');
  if (!(await isServed(ENVIRONMENT_FILE, served.path))) return;
  refuse(
    `.env is inside ${served.setting} ${served.path}, so users who upload files could change the settings. Start Holdall in a folder outside ${served.setting}, with .env there, or set environment variables instead.`,
    1,
  );
}

function refuse(reason: string, code: number): never {
  process.stderr.write(`holdall: ${reason}\n`);
  process.exit(code);
}

function print(text: string): void {
  process.stdout.write(text);
}

await main();
