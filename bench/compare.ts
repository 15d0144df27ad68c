import { parseArgs } from 'node:util';
import type { Benchmark } from './harness/benchmark.ts';
import { UsageError } from './harness/options.ts';
import { describeChanges, readEarlier } from './harness/regressions.ts';

/** Holds the figures of one run to those of an earlier one. */
export const compare: Benchmark = {
  name: 'compare',
  question: 'What got slower from one run of targets to another, and which verdicts changed?',
  options: ['OLD.json NEW.json   what each of them wrote; fails where something got worse'],
  run: async (args) => {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
    const [earlier, later, ...rest] = positionals;
    if (earlier === undefined || later === undefined || rest.length > 0) throw new UsageError('name two files');
    const { report, worse } = describeChanges(await readEarlier(earlier), await readEarlier(later));
    process.stdout.write(`${report}\n`);
    if (worse > 0) throw new Error(`${worse} figures got worse`);
  },
};
