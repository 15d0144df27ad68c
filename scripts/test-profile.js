import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

// Two parts of "npm test -- --profile". Node loads this file into each test process (`--import`), which appends its CPU
// time to the file named by TEST_PROFILE when it exits. In the runner, it is the reporter that prints the slowest files and
// tests at the end.

/** The number of files and of tests that are printed. */
const SHOWN = 25;

/** Clock ticks per second in /proc: the same on every Linux architecture. */
const TICKS = 100;

const recording = process.env['TEST_PROFILE'];
// Processes that tests start count as children of the test process, and record nothing.
const testFile = process.env['NODE_TEST_CONTEXT'] === undefined ? undefined : process.argv[1];
if (recording !== undefined && testFile !== undefined) {
  process.once('exit', () => {
    appendFileSync(recording, `${JSON.stringify({ file: testFile, seconds: cpuSeconds() })}\n`);
  });
}

/** Returns the CPU time of this process, and on Linux of the child processes that have ended. */
function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  let children = 0;
  try {
    // The fields after the name in parentheses: `cutime` and `cstime` are the 14th and 15th (proc_pid_stat(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    children = (Number(fields[13]) + Number(fields[14])) / TICKS;
  } catch {
    // Other systems have no /proc.
  }
  return (user + system) / 1e6 + children;
}

/**
 * Prints the slowest files and tests of a run.
 *
 * @param {AsyncIterable<import('node:test/reporters').TestEvent>} events
 */
export default async function* report(events) {
  /** @type {Map<string, number>} */
  const wall = new Map();
  /** @type {{ seconds: number, name: string }[]} */
  const tests = [];
  for await (const { type, data } of events) {
    if (type === 'test:summary' && data.file !== undefined) wall.set(data.file, data.duration_ms / 1000);
    if ((type === 'test:pass' || type === 'test:fail') && data.details.type !== 'suite' && data.file !== undefined) {
      tests.push({ seconds: data.details.duration_ms / 1000, name: `${shown(data.file)}: ${data.name}` });
    }
  }
  const cpu = cpuOfFiles();
  const files = [...wall].map(([file, seconds]) => ({ file, seconds, cpu: cpu.get(file) ?? 0 }));
  const total = files.reduce((sum, { cpu: each }) => sum + each, 0);
  yield `\nSlowest files, by CPU time (${files.length} files, ${total.toFixed(0)} s of CPU time)\n`;
  yield '  CPU s  wall s  file\n';
  for (const { file, seconds, cpu: used } of slowest(files, (each) => each.cpu)) {
    yield `${column(used)} ${column(seconds)}  ${shown(file)}\n`;
  }
  yield '\nSlowest tests\n wall s  test\n';
  for (const { seconds, name } of slowest(tests, (each) => each.seconds)) yield `${column(seconds)}  ${name}\n`;
}

/** Returns the CPU seconds of each test file. */
function cpuOfFiles() {
  const cpu = new Map();
  const lines = recording === undefined ? [] : readFileSync(recording, 'utf8').split('\n').filter(Boolean);
  for (const line of lines) {
    const { file, seconds } = JSON.parse(line);
    cpu.set(file, (cpu.get(file) ?? 0) + seconds);
  }
  return cpu;
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => number} of
 */
const slowest = (items, of) => items.toSorted((a, b) => of(b) - of(a)).slice(0, SHOWN);

/** @param {number} seconds */
const column = (seconds) => seconds.toFixed(1).padStart(7);

/** @param {string} file */
const shown = (file) => relative(process.cwd(), file);
