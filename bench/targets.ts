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

/** Compares Holdall with other programs, and with its targets, for each kind of request. */
export const targets: Benchmark = {
  name: 'targets',
  question: 'How fast is each kind of request compared with other programs, and which targets are met?',
  options: [
    '--rounds N        measurements of each figure (5)',
    '--seconds N       duration of each load (3), after --warm-up N seconds (6)',
    '--only LIST       some of these (all, which takes 45 minutes):',
    ...groups.map(({ ids }) => `                  ${ids.join(',')}`),
    '--against FILE    report what is slower than in the JSON of an earlier run',
    ...subjectUsage,
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
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

/** Describes how the figures were measured. */
function notes({ rounds, duration }: Options, hasFailures: boolean): string {
  return [
    `Rounds: ${rounds}. The order of the servers is reversed every round, and each figure comes from a fresh process. Figures` +
      ' are medians of the rounds, and decide the verdicts. Ratios are computed within each round.',
    'All programs run on one machine. The load generators, and Ceph for the bucket, share its cores with the servers.',
    'All servers use their defaults, except that Holdall has LOG_LEVEL=warn, so no server logs requests. Holdall runs one process' +
      ' per core. nginx is the limit of a static file server and has no target.',
    `Downloads and listings: wrk with ${connections} connections and ${threads} threads for ${duration.measured} s, after` +
      ` ${duration.warmUp} s of warm-up. All files are in the page cache${hasFailures ? '' : ', and every request succeeded'}.`,
    'Slow disk: a preloaded library (slow-disk.c) delays opening and reading files of one folder by 200 ms. The other requests' +
      ' are a file, a listing and a health check elsewhere, 200 per second, each timed from when it was due.',
    `Uploads: curl for 1 GiB, wrk for 4 KiB. Uploads of 1 GiB to disk are the median of ${repeats} per round. Holdall responds` +
      ' after it flushed the file to disk, rclone after it wrote the file to the page cache. "The disk" creates files of 4 KiB,' +
      ' and each thread flushes one before the next. Uploads to the bucket send four parts of 8 MiB concurrently in both' +
      ' programs, and Holdall runs one process.',
    'Thumbnails: photos of 6 megapixels. "Bare sharp" renders the same thumbnails from files, one per core, and sends no' +
      ' responses.',
    '"The bucket itself": the same requests directly to the bucket, with one presigned URL.',
    `Folders in the bucket: 2,000 objects of 1 KiB, with 64 concurrent requests in both programs. Figures are the median of ${repeats}` +
      ' per round, and each result is checked.',
    `Start: the median of ${startsEach} starts per round, until the first response of /-/health/ready, or of the root for other` +
      ` servers. Idle memory: the largest process after 60 requests, when ${idleMemoryDescription}. RSS, as shown by \`ps\`,` +
      ' decides. It counts shared pages in each process, PSS only the share of the process.',
    'CPU is user and system time of all processes of the server. Peak memory is the maximum PSS of the whole process tree in' +
      ' a round. "Above idle" is RSS, measured every 100 ms. MB are 1,000,000 bytes, without the page cache.',
  ]
    .map((note) => `- ${note}`)
    .join('\n');
}
