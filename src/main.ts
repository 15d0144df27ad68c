import cluster from 'node:cluster';
import { type CommandContext, CommandFailed, type Variables } from './cli/command.ts';
import { findServedFolder, readConfig, readEnvironmentFile } from './config/config.ts';
import { findMisspellings, findTarget, withoutOverridden } from './config/environment.ts';
import { EXIT_CODES } from './system.ts';

/**
 * Ignored signals. Node.js would open its inspector on SIGUSR1, through which any program on the machine could run code, and
 * SIGUSR2 would end the process.
 */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;

/** Runs the command `holdall`. This is the only code that reads the environment. */
async function main(): Promise<void> {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => {});
  process.stdout.on('error', allowClosedPipe);
  process.stderr.on('error', allowClosedPipe);
  // A worker has the arguments of the first process, and its environment including the settings of options and `.env`.
  if (cluster.isWorker) return startServer(process.env);
  const { runCommand } = await import('./cli/run.ts');
  process.exitCode = await runCommand({
    args: process.argv.slice(2),
    stdin: process.stdin,
    print: (text) => void process.stdout.write(text),
    explain: (text) => void process.stderr.write(text),
    hasColors: process.stdout.isTTY ? process.stdout.hasColors() : isColorForced(process.env['FORCE_COLOR']),
    loadEnvironment,
    serve,
  });
}

/** Returns whether `FORCE_COLOR` requests colors for output that is not a terminal, as in Node.js. */
function isColorForced(text: string | undefined): boolean {
  return text !== undefined && text !== '' && text !== '0' && text !== 'false';
}

/** Ignores EPIPE: the reader of the output, such as `head`, might close the pipe early. */
function allowClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

const serve: CommandContext['serve'] = async ({ variables }) => {
  for (const warning of findMisspellings(process.env)) process.stderr.write(`holdall: ${warning}\n`);
  // For the workers, which inherit the environment of this process.
  for (const name of Object.keys(process.env)) if (variables[name] === undefined) delete process.env[name];
  Object.assign(process.env, variables);
  await startServer(variables);
};

async function startServer(variables: Variables): Promise<void> {
  const config = readConfig(variables);
  // For the workers. By default, each glibc thread arena keeps idle memory (5 MB per process at the start, 100 MB and
  // more after thumbnails).
  process.env['MALLOC_ARENA_MAX'] ??= '2';
  // Node.js reads it when it creates the first thread.
  process.env['UV_THREADPOOL_SIZE'] = String(config.UV_THREADPOOL_SIZE);
  // Loaded here because it is large and the other commands don't need it.
  const { serve: serveConfig } = await import('./server/serve.ts');
  await serveConfig(config);
}

const ENVIRONMENT_FILE = '.env';

/**
 * Adds the settings of `.env` in the working directory to the environment. Ignores other variables, because
 * `NODE_OPTIONS` would run code in the workers.
 */
const loadEnvironment: CommandContext['loadEnvironment'] = async (options = {}) => {
  const environment = { ...withoutSettings(process.env, Object.keys(options)), ...options };
  const sources: [string, '.env' | 'option'][] = Object.keys(options).map((name) => [name, 'option']);
  const file = readFileOfSettings();
  if (file === undefined) return { variables: environment, sources: new Map(sources) };
  await requireOutsideServedFolder(environment, file.settings);
  if (file.ignored.length > 0) {
    const names = file.ignored.join(', ');
    process.stderr.write(
      `holdall: Ignoring ${names} in .env, which may contain only Holdall settings (see holdall help settings). Set other variables in the environment.\n`,
    );
  }
  const settings = withoutOverridden(file.settings, environment);
  for (const name of Object.keys(settings)) sources.push([name, '.env']);
  return { variables: { ...environment, ...settings }, sources: new Map(sources) };
};

/** Removes the variables that set a setting, under any name. */
function withoutSettings(variables: Variables, settings: readonly string[]): Variables {
  const isKept = (name: string) => !settings.includes(findTarget(name)?.setting ?? '');
  return Object.fromEntries(Object.entries(variables).filter(([name]) => isKept(name)));
}

function readFileOfSettings(): ReturnType<typeof readEnvironmentFile> {
  try {
    return readEnvironmentFile(ENVIRONMENT_FILE);
  } catch (error) {
    throw new CommandFailed(`Can't read .env: ${String(error)}`, { code: EXIT_CODES.configuration });
  }
}

/**
 * Rejects an `.env` file in the served folder, where users upload files. The environment takes precedence over the
 * file, so the file can't bypass this check by naming another folder or STORAGE_TYPE.
 */
async function requireOutsideServedFolder(environment: Variables, settings: Variables): Promise<void> {
  const served = findServedFolder(environment, settings);
  if (served === undefined) return;
  const { isServed } = await import('./server/private-paths.ts');
  if (!(await isServed(ENVIRONMENT_FILE, served.path))) return;
  throw new CommandFailed(
    `.env is inside ${served.setting} ${served.path}, so users who upload files could change the settings. Start Holdall in a folder outside ${served.setting}, with .env there, or set environment variables instead.`,
    { code: EXIT_CODES.configuration },
  );
}

await main();
