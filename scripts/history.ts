import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseHistory } from '../tests/history/history.ts';
import { judgementOf } from '../tests/history/judgement.ts';

/*
 * Runs the history checker (docs/explanation/reliability.md) on a store for any time, or checks a recorded history.
 */

const USAGE = `npm run history -- --store disk|bucket|versioned-bucket|github [--minutes N] [--seed N]
npm run history -- --check FILE
`;

const TESTS: Readonly<Record<string, string>> = {
  disk: 'tests/history/run-disk.test.ts',
  bucket: 'tests/history/run-s3.test.ts',
  'versioned-bucket': 'tests/long/history-versioned-s3.test.ts',
  github: 'tests/history/run-github.test.ts',
};

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    minutes: { type: 'string', default: '0' },
    seed: { type: 'string', default: '' },
    check: { type: 'string' },
  },
});

if (values.check !== undefined) {
  const { isViolated, text } = judgementOf(parseHistory(await readFile(values.check, 'utf8')));
  process.stdout.write(`${text}\n`);
  process.exitCode = isViolated ? 1 : 0;
} else {
  process.exitCode = await runHistories();
}

/** Returns the exit code. */
async function runHistories(): Promise<number> {
  const test = TESTS[values.store ?? ''];
  const minutes = Number(values.minutes);
  if (test === undefined || !(minutes >= 0) || !/^\d*$/.test(values.seed)) {
    process.stderr.write(USAGE);
    return 1;
  }
  const script = join(import.meta.dirname, 'test.js');
  // A history that started before the end of the time is completed.
  const timeout = (minutes + 5) * 60_000;
  const [code] = await once(
    spawn(process.execPath, [script, `--test-timeout=${timeout}`, test], {
      stdio: 'inherit',
      env: { ...process.env, HISTORY_MINUTES: values.minutes, HISTORY_SEED: values.seed },
    }),
    'exit',
  );
  return typeof code === 'number' ? code : 1;
}
