import { appendFileSync, readFileSync } from 'node:fs';

/*
 * Loaded into each test process by `npm test -- --profile` (`--import`). Appends the CPU time of the process, with its
 * child processes, to the file named by TEST_PROFILE when the process exits.
 */

/** A line of the recording: CPU seconds of the process that ran a test file. */
export interface CpuRecord {
  readonly file: string;
  readonly seconds: number;
}

/** Clock ticks per second in /proc: the same on every Linux architecture. */
const TICKS_PER_SECOND = 100;

const recording = process.env['TEST_PROFILE'];
// Processes that tests start count as children of the test process, and record nothing.
const testFile = process.env['NODE_TEST_CONTEXT'] === undefined ? undefined : process.argv[1];
if (recording !== undefined && testFile !== undefined) {
  process.once('exit', () => {
    const record: CpuRecord = { file: testFile, seconds: cpuSeconds() };
    appendFileSync(recording, `${JSON.stringify(record)}\n`);
  });
}

/** Returns the CPU time of this process, and on Linux of the child processes that have ended. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childSeconds();
}

function childSeconds(): number {
  try {
    // The fields after the name in parentheses: `cutime` and `cstime` are the 14th and 15th (proc_pid_stat(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  } catch {
    // Other systems have no /proc.
    return 0;
  }
}
