import { parseArgs } from 'node:util';
import { UsageError } from '../testing/options.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { readEarlier } from './harness/earlier-run.ts';
import { describeChanges } from './harness/regressions.ts';

/** Compares the figures of a run with those of an earlier one. */
export const compare: Benchmark = {
  name: 'compare',
  question: 'What got slower from one run of targets to another, and which verdicts changed?',
  options: [
    'OLD.json NEW.json   what each of them wrote, of two rounds at least; fails where a figure got worse, where a target',
    '                    that was met is missed, and where NEW lacks what OLD has',
  ],
  run: async (args) => {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
    const [earlier, later, ...rest] = positionals;
    if (earlier === undefined || later === undefined || rest.length > 0) throw new UsageError('name two files');
    const { report, failure } = await compareRuns(earlier, later);
    process.stdout.write(`${report}\n`);
    if (failure) throw failure;
  },
};

/**
 * Compares two files that `targets` wrote. `failure` is a `UsageError` if they have no figure to compare, and another error
 * if the later run is worse or lacks a figure.
 *
 * @throws UsageError if a file is not a benchmark result
 */
export async function compareRuns(
  earlier: string,
  later: string,
): Promise<{ readonly report: string; readonly failure: Error | undefined }> {
  const { report, compared, problems } = describeChanges(await readEarlier(earlier), await readEarlier(later));
  if (compared === 0) {
    return { report, failure: new UsageError('no figure is in both runs and of more than one round in each') };
  }
  return { report, failure: problems.length > 0 ? new Error(problems.join('\n')) : undefined };
}
