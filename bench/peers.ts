import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Benchmark } from './harness/benchmark.ts';
import { readNames, readNumber, UsageError } from './harness/benchmark.ts';
import type { Comparison, Measured } from './harness/comparison.ts';
import { compare, programsOf } from './harness/comparison.ts';
import { formatComparison } from './harness/comparison-table.ts';
import { describeMachine } from './harness/machine.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import type { Duration } from './harness/reading.ts';
import { readComparisons } from './harness/reading.ts';
import { publish } from './harness/results.ts';
import { caddy, holdall, nginx, rclone } from './harness/servers.ts';
import type { Stage } from './harness/stage.ts';
import { fillStage, planStage, uploadBytes } from './harness/stage.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';
import { uploadComparison } from './harness/uploading.ts';
import { connections, threads } from './harness/wrk.ts';

/** Holdall beside what else serves a folder, in one run on one machine. */
export const peers: Benchmark = {
  name: 'peers',
  question: 'How fast are fetching, listing and uploading beside nginx, caddy, rclone and cp?',
  options: [
    '--rounds N        how often each is measured (5)',
    '--seconds N       how long each load goes on (8), after --warm-up N seconds (2)',
    '--cases LIST      of get-4KiB,get-5MiB,list-1000,upload-1GiB (all)',
    '--only LIST       of holdall,nginx,caddy,rclone,coreutils (all)',
    '--against NAME    hold the others to this one, where it takes part (nginx; for uploads cp + fsync)',
    '--folder PATH     where the files are, for as long as it runs (/var/tmp)',
    '--service FILE    the service to measure (bin/holdall.js of this checkout)',
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    // The file, what is stored of it, and as much again where a server keeps it elsewhere first.
    const bytesNeeded = options.cases.includes(uploadCase) ? 3.25 * uploadBytes : 2 ** 28;
    await using folder = await makeTemporaryFolder(options.folder, bytesNeeded);
    const stage = planStage(folder.path);
    const comparisons = planComparisons(options, stage);
    const programs = programsOf(comparisons);
    await ensurePrograms(programs, signal);
    await fillStage(stage, options.cases.includes(uploadCase), signal);
    const machine = await describeMachine(folder.path, options.service);
    const results: [Comparison, Measured[]][] = [];
    for (const comparison of comparisons) {
      results.push([comparison, await compare(comparison, options.rounds, signal)]);
    }
    await publish({
      name: 'peers',
      machine,
      versions: await readVersions(programs, signal),
      report: [...results.map(([comparison, rows]) => formatComparison(comparison, rows)), notes(options)].join('\n\n'),
      measurements: results.map(([{ id, unit, reference }, contenders]) => ({ id, unit, reference, contenders })),
    });
  },
};

const uploadCase = 'upload-1GiB';
const allCases = ['get-4KiB', 'get-5MiB', 'list-1000', uploadCase];
const allFamilies = ['holdall', 'nginx', 'caddy', 'rclone', 'coreutils'];

interface Options {
  readonly rounds: number;
  readonly duration: Duration;
  readonly cases: readonly string[];
  readonly only: readonly string[];
  readonly against: string | undefined;
  readonly folder: string;
  /** The file that starts the service. */
  readonly service: string;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '8' },
      'warm-up': { type: 'string', default: '2' },
      cases: { type: 'string' },
      only: { type: 'string' },
      against: { type: 'string' },
      folder: { type: 'string', default: '/var/tmp' },
      service: { type: 'string', default: join(import.meta.dirname, '../bin/holdall.js') },
    },
  });
  return {
    rounds: readNumber('rounds', values.rounds, 1),
    duration: {
      warmUp: readNumber('warm-up', values['warm-up'], 1),
      measured: readNumber('seconds', values.seconds, 1),
    },
    cases: readNames('cases', values.cases, allCases),
    only: readNames('only', values.only, allFamilies),
    against: values.against,
    folder: resolve(values.folder),
    service: resolve(values.service),
  };
}

/** The comparisons asked for, with the contenders asked for. */
function planComparisons({ cases, only, against, duration, service }: Options, stage: Stage): Comparison[] {
  const servers = [holdall(service), nginx, caddy, rclone('http')];
  const all = [...readComparisons(servers, stage, duration), uploadComparison(holdall(service), stage)];
  const chosen = all
    .filter(({ id }) => cases.includes(id))
    .map((comparison) => {
      const contenders = comparison.contenders.filter(({ family }) => only.includes(family));
      return { ...comparison, contenders };
    });
  if (against === undefined) return chosen;
  const takesPart = ({ contenders }: Comparison) => contenders.some(({ name }) => name === against);
  if (!chosen.some(takesPart)) throw new UsageError(`--against: ${against} takes part in none of the cases`);
  return chosen.map((comparison) => (takesPart(comparison) ? { ...comparison, reference: against } : comparison));
}

/** What a reader must know so that the figures do not mislead. */
function notes({ rounds, duration, cases }: Options): string {
  const reading = [
    `- Fetching and listing: wrk, ${connections} connections, ${threads} threads, ${duration.measured} s after` +
      ` ${duration.warmUp} s of warm-up. Every request succeeded; all files are in the page cache.`,
    '- nginx stands for the limit of a static file server; it has no open_file_cache.',
    '- Listings differ: rclone has HTML only, from a listing it keeps in memory; the JSON of the others differs in fields.',
  ];
  const uploading = [
    '- Uploads come from curl, and what was stored is compared with its source. nginx and caddy take none as Debian' +
      ' packages them.',
    '- cp is the limit of storing 1 GiB, with nothing sent and nothing synced. What is in memory when a program ends is' +
      ' still to be written, and lost with the power; Holdall answers when it is on the disk.',
  ];
  return [
    `- Rounds: ${rounds}. Medians, the order reversed every round, a fresh process of each server for each figure.`,
    '- Speed, ×: how many times as fast as that one, the median of the ratios within each round.',
    '- wrk, curl and the server share the cores, so that a faster server also leaves less for what loads it.',
    "- CPU is the server's alone, user and system; the kernel's own threads, which write to the disk, are not in it.",
    '- Memory is the peak of the whole process tree, shared pages once, in MB of 1,000,000 bytes; no page cache.',
    '- Holdall runs with its defaults but for LOG_LEVEL=warn: like nginx (access_log off), caddy and rclone, it writes no' +
      ' line for a request.',
    ...(cases.some((id) => id !== uploadCase) ? reading : []),
    ...(cases.includes(uploadCase) ? uploading : []),
  ].join('\n');
}
