import { spawnSync } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { run, type TestsStream } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { canInstallPackages, installPackages, searchPath } from '../../testing/debian-packages.js';
import { startCeph } from '../../testing/servers/ceph.ts';
import { environmentOf, isObjectStoreNamed, testObjectStore } from '../../testing/servers/object-store.ts';
import { HANG_SECONDS } from '../../testing/until.ts';
import { keepCoresBusy } from './busy-cores.ts';
import { explain, type Missing, missingFor, type Need, needsOf } from './needs.ts';
import { longestFirst, saveDurations } from './order.ts';
import { shareProcesses } from './processes.ts';
import { Profile } from './profile.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Where test processes keep what they have stripped of types and compiled, so that each file costs that once. */
const STRIPPED_SOURCES = `${ROOT}node_modules/.cache/holdall/tests`;

const SHORT = 'tests/!(long)/**/*.test.ts';
const LONG = 'tests/long/*.test.ts';

/** Modules that each test process loads first, in this order. */
const PRELOADED = ['untracked-promises.ts', 'end-process.ts'].map((name) => new URL(name, import.meta.url).href);

/** The timeout of one test, beyond that of each wait in it. */
const TIMEOUT_MS = 3 * HANG_SECONDS * 1000;
const LONG_TIMEOUT_MS = 3_600_000;

/** The arguments of `npm test`. */
interface Arguments {
  /** Files or glob patterns. */
  readonly patterns: readonly string[];
  /** Runs the tests that take minutes, one process for each file. */
  readonly long: boolean;
  readonly profile: boolean;
  /** Runs the tests beside a busy loop on every core, as on a machine with other work. */
  readonly stress: boolean;
  /** Writes how long each file took, for the order of later runs. */
  readonly saveDurations: boolean;
  /** Makes each need that is not met a failure. */
  readonly requireAll: boolean;
  /** Options of Node.js for the test processes. */
  readonly nodeOptions: readonly string[];
}

/** Runs the tests that the arguments of `npm test` select, and returns the exit code. */
export async function runTests(given: readonly string[]): Promise<number> {
  const interruption = watchSignals();
  try {
    const passed = await runSelected(parseArguments(given), interruption.signal);
    return interruption.exitCode() ?? (passed ? 0 : 1);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return interruption.exitCode() ?? 1;
  }
}

function parseArguments(given: readonly string[]): Arguments {
  const own = new Set(['--long', '--profile', '--require-all', '--save-durations', '--stress']);
  const patterns = given.filter((argument) => !argument.startsWith('-'));
  const long = given.includes('--long') || patterns.some((pattern) => /tests\/long(?:\/|$)/.test(pattern));
  return {
    patterns: patterns.length > 0 ? patterns : [long ? LONG : SHORT],
    long,
    profile: given.includes('--profile'),
    stress: given.includes('--stress'),
    saveDurations: given.includes('--save-durations'),
    requireAll: given.includes('--require-all') || !['', 'false', undefined].includes(process.env['CI']),
    nodeOptions: given.filter((argument) => argument.startsWith('-') && !own.has(argument)),
  };
}

/** Returns whether all tests that ran passed. */
async function runSelected(selection: Arguments, signal: AbortSignal): Promise<boolean> {
  requireOptions(selection.nodeOptions);
  process.env['PATH'] = searchPath();
  const needs = new Map(selectFiles(selection.patterns).map((file) => [file, needsOf(file)]));
  const missing = meet(new Set([...needs.values()].flat()));
  const notRun = [...needs].filter(([, needed]) => missing.some(({ need }) => needed.includes(need)));
  if (selection.requireAll && missing.length > 0) {
    process.stderr.write(describeNotRun(missing, notRun, "These tests can't run on this machine:"));
    return false;
  }
  const files = [...needs.keys()].filter((file) => notRun.every(([each]) => each !== file));
  const passed =
    files.length === 0 ||
    (await runWithServers(files, selection, new Set(files.flatMap((file) => needs.get(file) ?? [])), signal));
  if (missing.length > 0) {
    process.stdout.write(describeNotRun(missing, notRun, 'Not run:'));
    process.stdout.write('\nTo make this a failure: npm test -- --require-all\n');
  }
  return passed;
}

/** Throws if Node.js does not accept the options, before anything is built. */
function requireOptions(options: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [...options, '--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Node.js does not accept ${options.join(' ')}: ${stderr.trim()}`);
}

/** Returns the test files that match, and those in folders that match, without duplicates. */
function selectFiles(patterns: readonly string[]): string[] {
  return [
    ...new Set(
      patterns.flatMap((pattern) => {
        const found = globSync(pattern).flatMap((path) =>
          statSync(path).isDirectory() ? globSync(join(path, '**/*.test.ts')) : path,
        );
        if (found.length === 0) throw new Error(`No test file matches "${pattern}".`);
        return found;
      }),
    ),
  ];
}

/** Installs what is missing where it can, and returns what is still missing. */
function meet(needs: ReadonlySet<Need>): Missing[] {
  const lacking = () => [...needs].flatMap((need) => missingFor(need) ?? []);
  const missing = lacking();
  const packages = [...new Set(missing.flatMap((each) => each.packages))];
  if (packages.length === 0 || !canInstallPackages()) return missing;
  installPackages(packages);
  return lacking();
}

function describeNotRun(
  missing: readonly Missing[],
  notRun: readonly (readonly [string, readonly Need[]])[],
  heading: string,
): string {
  const rows = missing.map((each) => {
    const count = notRun.filter(([, needed]) => needed.includes(each.need)).length;
    return `  ${each.need.padEnd(22)}${`${count} ${count === 1 ? 'file' : 'files'}`.padEnd(11)}${explain(each)}`;
  });
  return ['', heading, ...rows, ''].join('\n');
}

/** Builds and starts what the files need, runs them, and returns whether they passed. */
async function runWithServers(
  files: readonly string[],
  selection: Arguments,
  needs: ReadonlySet<Need>,
  signal: AbortSignal,
): Promise<boolean> {
  const builds = ['page', 'service', ...(needs.has('package') ? ['package'] : [])];
  const { status } = spawnSync(process.execPath, [`${ROOT}scripts/build.js`, ...builds], { stdio: 'inherit' });
  if (status !== 0) return false;
  signal.throwIfAborted();
  if (!needs.has('bucket')) return runFiles(files, selection, {}, signal);
  // Fails here if a part of the key is missing, instead of in each test.
  if (isObjectStoreNamed()) return runFiles(files, selection, environmentOf(testObjectStore()), signal);
  // One Ceph for the whole run: each takes two seconds and 120 MB.
  // Tests in tests/long store gigabytes.
  const objects = files.some((file) => file.includes('tests/long/')) ? 'on disk' : 'in memory';
  const ceph = await startCeph({ signal, objects });
  try {
    return await runFiles(files, selection, environmentOf({ ...ceph, isTemporary: true }), signal);
  } finally {
    await ceph.stop();
  }
}

/** Runs the test files, prints the results, and returns whether they passed. */
async function runFiles(
  files: readonly string[],
  { long, profile: profiling, stress, saveDurations: saving, nodeOptions }: Arguments,
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const profile = profiling ? new Profile() : undefined;
  // What is measured per file needs a process per file. Long tests share none: many measure memory, or kill processes.
  const isShared = !profiling && !saving && !long;
  const processes = isShared ? shareProcesses(files) : undefined;
  const timeout = long ? LONG_TIMEOUT_MS : TIMEOUT_MS;
  using _loops = stress ? keepCoresBusy() : undefined;
  const stream = run({
    files: [...(processes?.modules ?? longestFirst(files))],
    // One more than there are cores, because tests spend much of their time waiting.
    concurrency: availableParallelism() + 1,
    execArgv: [
      // The heap that a busy process has. Otherwise, each would collect garbage many times while it grows.
      '--min-semi-space-size=16',
      ...(profile?.options ?? []),
      ...PRELOADED.map((module) => `--import=${module}`),
      `--test-timeout=${timeout}`,
      ...nodeOptions,
    ],
    ...coverageOf(nodeOptions),
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: STRIPPED_SOURCES,
      ...profile?.environment,
      ...environment,
    },
    signal,
  });
  profile?.observe(stream);
  if (saving) saveDurations(stream);
  const success = watchSuccess(stream);
  const output = stream.compose(new spec());
  output.pipe(process.stdout, { end: false });
  await finished(output);
  processes?.remove();
  if (profile) process.stdout.write(profile.report());
  return success();
}

/** Returns the coverage options for the runner: Node.js takes them from the command line only with `node --test`. */
function coverageOf(nodeOptions: readonly string[]) {
  const prefix = '--test-coverage-include=';
  const include = nodeOptions
    .filter((option) => option.startsWith(prefix))
    .map((option) => option.slice(prefix.length));
  return {
    coverage: nodeOptions.includes('--experimental-test-coverage'),
    ...(include.length > 0 && { coverageIncludeGlobs: include }),
  };
}

/** Node's runner counts a file without tests as a test that passes. */
function watchSuccess(stream: TestsStream): () => boolean {
  let success = false;
  let tests = 0;
  stream.on('test:summary', ({ file, success: passed, counts }) => {
    if (file === undefined) success = passed;
    else tests += counts.tests;
  });
  return () => {
    if (tests === 0) process.stderr.write('No test ran.\n');
    return success && tests > 0;
  };
}

/** Aborts the run at the first signal. Later signals don't interrupt the shutdown of the object store. */
function watchSignals(): { signal: AbortSignal; exitCode(): number | undefined } {
  const controller = new AbortController();
  let received: NodeJS.Signals | undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      received ??= name;
      controller.abort(new Error(`Interrupted by ${name}.`));
    });
  }
  return {
    signal: controller.signal,
    exitCode: () => (received === undefined ? undefined : 128 + constants.signals[received]),
  };
}
