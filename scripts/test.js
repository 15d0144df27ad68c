import { spawn } from 'node:child_process';
import { once } from 'node:events';
// By its default export: a Node.js that is too old lacks `globSync`, and would not get as far as saying so.
import fs from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { requireChineseFont, requireCommands } from './debian-packages.js';

// Builds the web UI and the service and runs the tests: all except those in tests/long, or the named files. `--long` runs
// the tests in tests/long, which take minutes each. Other arguments that begin with "-" go to Node's test runner.

requireNode();

// Keeps compiled code for the next process: the tests start hundreds of processes that load the whole service.
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

/** The programs that read what is in `deploy`, and what brings them. */
const DEPLOYING = {
  promtool: 'prometheus',
  nginx: 'nginx-light',
  caddy: 'caddy',
  apache2: 'apache2',
  haproxy: 'haproxy',
  'docker-compose': 'docker-compose',
  'systemd-analyze': 'systemd',
  setpriv: 'util-linux',
};

/** The programs that make and mount file systems which ignore case, and what brings them. */
const IGNORING_CASE = {
  'lowntfs-3g': 'ntfs-3g',
  'mkfs.exfat': 'exfatprogs',
  'mount.exfat-fuse': 'exfat-fuse',
  losetup: 'mount',
  setfattr: 'attr',
};

const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith('-') && argument !== '--long');
const named = given.filter((argument) => !argument.startsWith('-'));
const all = given.includes('--long') ? 'tests/long/*.test.ts' : 'tests/!(long)/**/*.test.ts';
const files = named.length > 0 ? named : [all];
const matching = [...files, ...fs.globSync(files)];

/** Milliseconds that one test, or one file, may take. */
const TEST_TIMEOUT_MS = willRun('tests/long/') ? 3_600_000 : 300_000;

const interrupted = new AbortController();
/** @type {NodeJS.Signals | undefined} */
let interruptedBy;
// Kept for good: a second Ctrl-C must not cut short how the object store is stopped.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    interruptedBy ??= signal;
    interrupted.abort(new Error(`Interrupted by ${signal}.`));
  });
}

try {
  process.exitCode = await runTests();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
if (interruptedBy) process.exitCode = 128 + constants.signals[interruptedBy];

/** Returns the exit code. */
async function runTests() {
  provide(() => requireCommands({ bash: 'bash', curl: 'curl', git: 'git', mount: 'mount', mkfifo: 'coreutils' }));
  if (['tests/http/', 'tests/access/', 'tests/attacks/'].some(willRun))
    provide(() => requireCommands({ 'redis-server': 'redis-server' }));
  if (['tests/stores/disk', 'tests/process/'].some(willRun)) provide(() => requireCommands(IGNORING_CASE));
  if (willRun('tests/http/')) provide(() => requireCommands({ rclone: 'rclone' }));
  if (willRun('tests/deploy/')) provide(() => requireCommands(DEPLOYING));
  if (willRun('tests/doctor/')) {
    const { nginx, apache2, haproxy } = DEPLOYING;
    provide(() => requireCommands({ nginx, apache2, haproxy }));
  }
  if (willRun('tests/replicas/')) await provideForReplicas();
  if (willRun('tests/web/')) provide(requireBrowser);
  if (willRun('tests/long/swift')) await provideSwift();
  await build('./build-page.js', 'The web page could not be built, or is over its budget.');
  await build('./build-service.js', 'The service could not be built.');
  if (willRun('tests/package/') || willRun('tests/deploy/'))
    await build('./build-package.js', 'The package could not be put together.');
  if (!willRun('s3')) return runFiles({});
  const { environmentOf, isObjectStoreNamed, testObjectStore } = await import('../tests/servers/object-store.ts');
  if (isObjectStoreNamed()) return runFiles(environmentOf(testObjectStore()));
  const ceph = await startOwnCeph();
  try {
    return await runFiles(environmentOf(ceph));
  } finally {
    await ceph.stop();
  }
}

/**
 * Builds what the service does not start without, nor do its tests.
 *
 * @param {string} name of the script
 * @param {string} failure
 */
async function build(name, failure) {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const [code] = await once(spawn(process.execPath, [script], { stdio: 'inherit' }), 'exit');
  if (code !== 0) throw new Error(failure);
}

/**
 * Whether a test will run whose path has this in it: `s3` for those that need an object store.
 *
 * @param {string} part
 */
function willRun(part) {
  return matching.some((file) => file.includes(part));
}

/** The one that opens the page in the tests, and characters for each language that the page speaks. */
function requireBrowser() {
  requireCommands({ chromium: 'chromium' });
  requireChineseFont();
}

/** Those that stop its daemon have a Ceph of their own. */
async function provideForReplicas() {
  const { CEPH_COMMANDS } = await import('../tests/servers/ceph.ts');
  provide(() => requireCommands({ nginx: DEPLOYING.nginx, ...CEPH_COMMANDS }));
}

async function provideSwift() {
  const { SWIFT_COMMANDS } = await import('../tests/servers/swift.ts');
  provide(() => requireCommands(SWIFT_COMMANDS));
}

/** Starts one Ceph for the whole run, because each takes two seconds and 120 MB. */
async function startOwnCeph() {
  const { CEPH_COMMANDS, startCeph } = await import('../tests/servers/ceph.ts');
  const { HOW_TO_NAME_ANOTHER } = await import('../tests/servers/object-store.ts');
  const commands = Object.keys(CEPH_COMMANDS).join(', ');
  const packages = [...new Set(Object.values(CEPH_COMMANDS))].join(', ');
  provide(
    () => requireCommands(CEPH_COMMANDS),
    `\nThose of an object store start one with ${commands} (Debian: ${packages}). ${HOW_TO_NAME_ANOTHER}`,
  );
  return startCeph(interrupted.signal);
}

/**
 * @param {() => void} require installs what is missing, or throws
 * @param {string} alternative what else would do
 */
function provide(require, alternative = '') {
  try {
    require();
  } catch (error) {
    throw new Error(`The tests need what this machine lacks. ${messageOf(error)}${alternative}`, { cause: error });
  }
}

/**
 * Runs the files to their end, and returns the exit code.
 *
 * @param {Readonly<Record<string, string>>} environment variables beside our own
 */
async function runFiles(environment) {
  interrupted.signal.throwIfAborted();
  const runner = spawn(
    process.execPath,
    [
      '--test',
      // One more than there are cores: much of the time of the tests is waiting.
      `--test-concurrency=${availableParallelism() + 1}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      ...options,
      ...files,
    ],
    { stdio: 'inherit', env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...environment } },
  );
  // For a signal that was sent to us alone. Ctrl-C reaches the runner as well, which does not mind being told twice.
  interrupted.signal.addEventListener('abort', () => runner.kill('SIGTERM'));
  const [code] = await once(runner, 'exit');
  return typeof code === 'number' ? code : 1;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
