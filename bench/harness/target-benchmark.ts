import { parseArgs } from 'node:util';
import type { Subject } from '../../testing/options.ts';
import { readCount, readNames, readSubject, subjectOptions, subjectUsage } from '../../testing/options.ts';
import type { Benchmark } from './benchmark.ts';
import { describeFailure } from './benchmark.ts';
import type { Measured } from './comparison.ts';
import { compare, programsOf } from './comparison.ts';
import { formatComparison } from './comparison-table.ts';
import { readEarlier } from './earlier-run.ts';
import { describeMachine } from './machine.ts';
import type { Program } from './programs.ts';
import { ensurePrograms, readVersions } from './programs.ts';
import type { Duration } from './reading.ts';
import { describeChanges } from './regressions.ts';
import { publish } from './results.ts';
import type { Target, TargetGroup, Verdict } from './target.ts';
import { formatVerdicts, judge } from './target.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

/** A benchmark that consists of groups of targets. */
export interface TargetBenchmark {
  readonly name: string;
  readonly question: string;
  /** The time that all of it takes: `45 minutes`. */
  readonly time: string;
  readonly groups: readonly TargetGroup[];
  /** Describes how the figures were measured, one sentence or more per note. */
  notes(options: RunOptions, hasFailures: boolean): readonly string[];
}

/** Creates a benchmark that measures targets, and compares them with an earlier run. */
export function createTargetBenchmark(benchmark: TargetBenchmark): Benchmark {
  const { name, question, time, groups } = benchmark;
  return {
    name,
    question,
    options: [
      '--rounds N        measurements of each figure (5)',
      '--seconds N       duration of each load (3), after --warm-up N seconds (6)',
      `--only LIST       some of these (all, which takes ${time}):`,
      ...groups.map(({ ids }) => `                  ${ids.join(',')}`),
      '--against FILE    report figures that are slower than in the JSON of an earlier run',
      ...subjectUsage,
    ],
    run: (args, signal) => runTargets(benchmark, args, signal),
  };
}

async function runTargets(
  { name, groups, notes }: TargetBenchmark,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const options = readOptions(
    args,
    groups.flatMap(({ ids }) => ids),
  );
  // Read first: this run may overwrite the file.
  const all = options.against === undefined ? undefined : await readEarlier(options.against);
  const earlier = all?.filter(({ id }) => options.only.includes(id));
  const chosen = groups.filter(({ ids }) => ids.some((id) => options.only.includes(id)));
  const machine = await describeMachine(options.folder, options.service);
  const results: Result[] = [];
  const failures: string[] = [];
  for (const group of chosen) {
    await measureGroup(group, options, (result) => results.push(result), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      failures.push(describeFailure(error));
    });
  }
  failures.push(...results.flatMap(({ failure }) => failure ?? []));
  const failure = new Error(`not all could be measured:\n${failures.join('\n')}`);
  // An earlier run's figures are not overwritten with none.
  if (results.every(({ measured }) => measured.length === 0)) throw failure;
  const measurements = results.map(toMeasurement);
  await publish({
    name,
    machine,
    versions: await readVersions([...new Set(results.flatMap(({ programs }) => programs))], signal),
    report: [
      formatVerdicts(results.flatMap(({ verdicts }) => verdicts)),
      ...results.map(({ report }) => report),
      [generalNote(options), ...notes(options, failures.length > 0)].map((note) => `- ${note}`).join('\n'),
      ...(earlier ? [describeChanges(earlier, measurements).report] : []),
    ].join('\n\n'),
    measurements,
  });
  if (failures.length > 0) throw failure;
}

/** The options of one run. */
export interface RunOptions extends Subject {
  readonly rounds: number;
  readonly duration: Duration;
  readonly only: readonly string[];
  readonly against: string | undefined;
}

/** The result of one target. */
interface Result {
  readonly target: Target;
  readonly programs: readonly Program[];
  /** Empty if it failed. */
  readonly measured: readonly Measured[];
  readonly verdicts: readonly Verdict[];
  readonly report: string;
  readonly failure: string | undefined;
}

function readOptions(args: readonly string[], allIds: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '6' },
      only: { type: 'string' },
      against: { type: 'string' },
      ...subjectOptions,
    },
  });
  return {
    rounds: readCount('rounds', values.rounds),
    duration: {
      warmUp: readCount('warm-up', values['warm-up']),
      measured: readCount('seconds', values.seconds),
    },
    only: readNames('only', values.only, allIds),
    against: values.against,
    ...readSubject(values),
  };
}

async function measureGroup(
  group: TargetGroup,
  { only, rounds, duration, folder: parent, service }: RunOptions,
  onResult: (result: Result) => void,
  signal: AbortSignal,
): Promise<void> {
  const chosen = group.ids.filter((id) => only.includes(id));
  await using folder = await makeTemporaryFolder(parent, group.bytesNeeded(chosen, rounds));
  await group.measure({ chosen, duration, folder: folder.path, service, signal }, async (planned) => {
    ensurePrograms(programsOf(planned.map(({ comparison }) => comparison)));
    for (const target of planned) onResult(await measureTarget(target, rounds, signal));
  });
}

/** A failure does not end the other targets, because a run takes 45 minutes. */
async function measureTarget(target: Target, rounds: number, signal: AbortSignal): Promise<Result> {
  const { comparison } = target;
  const programs = programsOf([comparison]);
  try {
    const measured = await compare(comparison, rounds, signal);
    const verdicts = judge(target, measured);
    // Shows the progress.
    if (verdicts.length > 0) process.stderr.write(`${formatVerdicts(verdicts)}\n`);
    return { target, programs, measured, verdicts, report: formatComparison(comparison, measured), failure: undefined };
  } catch (error) {
    signal.throwIfAborted();
    const failure = `${comparison.title}: ${describeFailure(error)}`;
    process.stderr.write(`bench: ${failure}\n`);
    const report = `### ${comparison.title}\n\nNot measured: it failed.`;
    return { target, programs, measured: [], verdicts: judge(target, []), report, failure };
  }
}

function toMeasurement({ target: { comparison }, measured, verdicts }: Result) {
  const { id, unit, reference } = comparison;
  return { id, unit, reference, contenders: measured, verdicts };
}

function generalNote({ rounds }: RunOptions): string {
  return (
    `Rounds: ${rounds}. The order of the servers is reversed every round, and each figure comes from a fresh process. Figures` +
    ' are medians of the rounds, and decide the verdicts. Ratios are computed within each round.'
  );
}
