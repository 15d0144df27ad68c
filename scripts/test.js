import { spawn } from 'node:child_process';
import { once } from 'node:events';
// A default import, because old Node.js versions lack `globSync`: a named import would fail before `requireNode`
// reports the version.
import fs from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireNode } from '../bin/require-node.js';
import { requireChineseFont, requireCommands } from './debian-packages.js';

// Builds the web UI and the service and runs the tests: all except those in tests/long, or the named files. `--long` runs
// the tests in tests/long, which take minutes each. `--profile` prints the slowest files and tests at the end. Other
// arguments that begin with "-" go to Node's test runner.

requireNode();

// Caches compiled code for later processes: the tests start hundreds of processes that load the whole service.
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

/** The programs that check the files in `deploy`, with their Debian packages. */
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

/** The programs that create and mount case-insensitive file systems, with their Debian packages. */
const IGNORING_CASE = {
  'lowntfs-3g': 'ntfs-3g',
  'mkfs.exfat': 'exfatprogs',
  'mount.exfat-fuse': 'exfat-fuse',
  losetup: 'mount',
  setfattr: 'attr',
};

const PROFILE = fileURLToPath(new URL('test-profile.js', import.meta.url));

/** The options of Node's test runner for `--profile`: the usual output, and the slowest files and tests after it. */
const PROFILING = [
  `--import=${PROFILE}`,
  ...['spec', PROFILE].flatMap((reporter) => [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout']),
];

const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith('-') && !['--long', '--profile'].includes(argument));
const named = given.filter((argument) => !argument.startsWith('-'));
const all = given.includes('--long') ? 'tests/long/*.test.ts' : 'tests/!(long)/**/*.test.ts';
const files = named.length > 0 ? named : [all];
const matching = [...files, ...fs.globSync(files)];

/** The timeout of one test or one test file. */
const TEST_TIMEOUT_MS = willRun('tests/long/') ? 3_600_000 : 300_000;

const interrupted = new AbortController();
/** @type {NodeJS.Signals | undefined} */
let interruptedBy;
// The handlers stay installed, because a second Ctrl-C must not interrupt the shutdown of the object store.
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
 * Runs a build script. The service and its tests require its output.
 *
 * @param {string} name the path of the script
 * @param {string} failure the error message
 */
async function build(name, failure) {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const [code] = await once(spawn(process.execPath, [script], { stdio: 'inherit' }), 'exit');
  if (code !== 0) throw new Error(failure);
}

/**
 * Returns whether a test will run whose path contains `part`, for example `s3` for tests that need an object store.
 *
 * @param {string} part
 */
function willRun(part) {
  return matching.some((file) => file.includes(part));
}

/** Installs the browser for the tests, and fonts for all languages of the page. */
function requireBrowser() {
  requireCommands({ chromium: 'chromium' });
  requireChineseFont();
}

/** Installs the commands for the replica tests, which stop daemons and therefore start their own Ceph. */
async function provideForReplicas() {
  const { CEPH_COMMANDS } = await import('../tests/servers/ceph.ts');
  provide(() => requireCommands({ nginx: DEPLOYING.nginx, ...CEPH_COMMANDS }));
}

async function provideSwift() {
  const { SWIFT_COMMANDS } = await import('../tests/servers/swift.ts');
  provide(() => requireCommands(SWIFT_COMMANDS));
}

/** Starts one Ceph for the whole run, because each instance takes two seconds and 120 MB. */
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
 * @param {string} alternative the alternative to the installation, for the message
 */
function provide(require, alternative = '') {
  try {
    require();
  } catch (error) {
    throw new Error(`The tests need what this machine lacks. ${messageOf(error)}${alternative}`, { cause: error });
  }
}

/**
 * Runs the test files and returns the exit code.
 *
 * @param {Readonly<Record<string, string>>} environment additional variables
 */
async function runFiles(environment) {
  interrupted.signal.throwIfAborted();
  const profile = given.includes('--profile') ? fs.mkdtempSync(join(tmpdir(), 'holdall-profile-')) : undefined;
  const recording = profile === undefined ? {} : { TEST_PROFILE: join(profile, 'cpu') };
  if (recording.TEST_PROFILE) fs.writeFileSync(recording.TEST_PROFILE, '');
  const runner = spawn(
    process.execPath,
    [
      '--test',
      ...(profile === undefined ? [] : PROFILING),
      // One more than the number of cores, because tests spend much of their time waiting.
      `--test-concurrency=${availableParallelism() + 1}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      ...options,
      ...files,
    ],
    { stdio: 'inherit', env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...recording, ...environment } },
  );
  // Forwards signals sent only to this process. After Ctrl-C, the runner receives the signal twice, which is harmless.
  interrupted.signal.addEventListener('abort', () => runner.kill('SIGTERM'));
  const [code] = await once(runner, 'exit');
  if (profile !== undefined) fs.rmSync(profile, { recursive: true });
  return typeof code === 'number' ? code : 1;
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
