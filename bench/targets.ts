import { parseArgs } from 'node:util';
import type { Subject } from '../testing/options.ts';
import { readCount, readNames, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { describeFailure } from './harness/benchmark.ts';
import { bucketTargets } from './harness/bucket-targets.ts';
import type { Measured } from './harness/comparison.ts';
import { compare, programsOf } from './harness/comparison.ts';
import { formatComparison } from './harness/comparison-table.ts';
import { diskTargets } from './harness/disk-targets.ts';
import { readEarlier } from './harness/earlier-run.ts';
import { describeMachine } from './harness/machine.ts';
import { repeats } from './harness/measure.ts';
import type { Program } from './harness/programs.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import type { Duration } from './harness/reading.ts';
import { describeChanges } from './harness/regressions.ts';
import { idleMemoryDescription } from './harness/resident-memory.ts';
import { publish } from './harness/results.ts';
import { startsEach } from './harness/starting.ts';
import type { Target, TargetGroup, Verdict } from './harness/target.ts';
import { formatVerdicts, judge } from './harness/target.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';
import { thumbnailTargets } from './harness/thumbnail-targets.ts';
import { connections, threads } from './harness/wrk.ts';

const groups: readonly TargetGroup[] = [diskTargets, thumbnailTargets, bucketTargets];
const allIds = groups.flatMap(({ ids }) => ids);

/** Whether Holdall reaches, at each kind of work, what it is to reach beside its peers. */
export const targets: Benchmark = {
  name: 'targets',
  question: 'How quick is each kind of work beside peers in the same run, and which targets are met?',
  options: [
    '--rounds N        how often each is measured (5)',
    '--seconds N       how long each load goes on (3), after --warm-up N seconds (6)',
    '--only LIST       of these (all, which takes three quarters of an hour):',
    ...groups.map(({ ids }) => `                  ${ids.join(',')}`),
    '--against FILE    say what is slower than in this JSON of an earlier run',
    ...subjectUsage,
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    // Read first: it may be the file that this run writes anew.
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
      name: 'targets',
      machine,
      versions: await readVersions([...new Set(results.flatMap(({ programs }) => programs))], signal),
      report: [
        formatVerdicts(results.flatMap(({ verdicts }) => verdicts)),
        ...results.map(({ report }) => report),
        notes(options, failures.length > 0),
        ...(earlier ? [describeChanges(earlier, measurements).report] : []),
      ].join('\n\n'),
      measurements,
    });
    if (failures.length > 0) throw failure;
  },
};

interface Options extends Subject {
  readonly rounds: number;
  readonly duration: Duration;
  readonly only: readonly string[];
  readonly against: string | undefined;
}

/** What came of one target. */
interface Result {
  readonly target: Target;
  readonly programs: readonly Program[];
  /** Empty where it failed. */
  readonly measured: readonly Measured[];
  readonly verdicts: readonly Verdict[];
  readonly report: string;
  readonly failure: string | undefined;
}

function readOptions(args: readonly string[]): Options {
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
  { only, rounds, duration, folder: parent, service }: Options,
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

/** One that fails does not take the others with it: a run takes three quarters of an hour. */
async function measureTarget(target: Target, rounds: number, signal: AbortSignal): Promise<Result> {
  const { comparison } = target;
  const programs = programsOf([comparison]);
  try {
    const measured = await compare(comparison, rounds, signal);
    const verdicts = judge(target, measured);
    // Who watches it sees how it goes.
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

/** What a reader must know so that the figures do not mislead. */
function notes({ rounds, duration }: Options, hasFailures: boolean): string {
  return [
    `Rounds: ${rounds}. The order is reversed every round; a fresh process of each server for each figure. What decides is` +
      ' the median of the rounds, and so is every figure of the tables; ratios are taken within each round.',
    'All runs on one machine: what loads a server shares the cores with it, and so does the Ceph that holds the bucket.',
    'Holdall runs with its defaults, a process a core, but for LOG_LEVEL=warn; the others with theirs, and without a line' +
      ' for a request either. nginx, for which there is no target, is the limit of a static file server.',
    `Fetching and listing: wrk, ${connections} connections, ${threads} threads, ${duration.measured} s after` +
      ` ${duration.warmUp} s of warm-up; all files are in the page cache${hasFailures ? '' : ', and every request succeeded'}.`,
    'The slow disk: opening a file of one folder and each reading of it waits 200 ms in the C library (slow-disk.c). The' +
      ' others are a file, a listing and a probe elsewhere, 200 a second, each timed from when it was due.',
    `Uploads of 1 GiB come from curl, to the disk the median of ${repeats} a round, those of 4 KiB from wrk. Holdall` +
      ' answers when what it stored is on the disk, rclone when the kernel has it. The disk: new files of 4 KiB, each made' +
      ' durable before the next of its thread. To the bucket: four parts of 8 MiB at once on both sides, and one process of' +
      ' Holdall.',
    'Thumbnails: photographs of 6 megapixels; bare sharp draws the same from files, one a core, and sends nothing.',
    'The bucket itself: the same asked of it without the service, by one URL that was signed beforehand.',
    `Folders of the bucket: 2,000 objects of 1 KiB, 64 at once on both sides, the median of ${repeats} a round; each is checked` +
      ' afterwards.',
    `Start: the median of ${startsEach} starts a round, until /-/health/ready, or the root of the others, was answered. Idle:` +
      ` the largest process after 60 requests, when ${idleMemoryDescription}; RSS, which decides, is what \`ps\` shows, with what` +
      ' processes share; PSS has only its part of that.',
    'CPU is that of all processes of the server, user and system. Peak memory is the most that the whole process tree held' +
      ' in a round, shared pages once; above idle is RSS, every 100 ms. MB of 1,000,000 bytes; no page cache.',
  ]
    .map((note) => `- ${note}`)
    .join('\n');
}
