import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isObjectStoreNamed } from '../tests/servers/object-store.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { readNames, readNumber } from './harness/benchmark.ts';
import { createBucket } from './harness/bucket.ts';
import { bucketFolderComparisons, rcloneFolderFlags } from './harness/bucket-folders.ts';
import { bucketReadComparisons } from './harness/bucket-reading.ts';
import type { BucketStage } from './harness/bucket-stage.ts';
import { setBucketStage } from './harness/bucket-stage.ts';
import { bucketUploadComparison, formatResidentMemory, rcloneUploadFlags } from './harness/bucket-uploading.ts';
import type { Comparison, Measured } from './harness/comparison.ts';
import { compare, programsOf } from './harness/comparison.ts';
import { formatComparison } from './harness/comparison-table.ts';
import { describeMachine } from './harness/machine.ts';
import type { ObjectStore } from './harness/object-store.ts';
import { openObjectStore } from './harness/object-store.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import type { Duration } from './harness/reading.ts';
import { residentInterval } from './harness/resident-memory.ts';
import { publish } from './harness/results.ts';
import { uploadBytes } from './harness/stage.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';
import { connections, threads } from './harness/wrk.ts';

/** Holdall on a bucket beside the bucket itself and rclone, in one run on one store. */
export const s3: Benchmark = {
  name: 's3',
  question: 'How fast are files and folders of a bucket, beside the bucket itself and rclone?',
  options: [
    '--rounds N        how often each is measured (5)',
    '--seconds N       how long each load goes on (8), after --warm-up N seconds (2)',
    '--cases LIST      of get-4KiB,list-1000,upload-1GiB,copy-2000,move-2000,delete-2000 (all)',
    '--only LIST       of holdall,bucket,rclone (all)',
    '--folder PATH     where the files are, and Ceph, for as long as it runs (/var/tmp)',
    '--service FILE    the service to measure (bin/holdall.js of this checkout)',
    'A Ceph is started for it, unless S3_TEST_ENDPOINT, S3_TEST_REGION, S3_TEST_ACCESS_KEY_ID and',
    'S3_TEST_SECRET_ACCESS_KEY name another store, in which it makes a bucket and removes it.',
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    await using folder = await makeTemporaryFolder(options.folder, bytesNeeded(options));
    const machine = await describeMachine(folder.path, options.service);
    await using store = await openObjectStore(folder.path, signal);
    await using bucket = await createBucket(store, signal);
    const withUploads = options.cases.includes(uploadCase);
    const stage = await setBucketStage(bucket, folder.path, options.service, withUploads, signal);
    const comparisons = planComparisons(options, stage);
    const programs = programsOf(comparisons);
    await ensurePrograms(programs, signal);
    const results: [Comparison, Measured[]][] = [];
    for (const comparison of comparisons) {
      results.push([comparison, await compare(comparison, options.rounds, signal)]);
    }
    await publish({
      name: 's3',
      machine,
      versions: await readVersions([...programs, ...store.programs], signal),
      report: [...results.flatMap(formatResult), notes(options, store)].join('\n\n'),
      measurements: results.map(([{ id, unit, reference }, contenders]) => ({ id, unit, reference, contenders })),
    });
  },
};

const uploadCase = 'upload-1GiB';
const readCases = ['get-4KiB', 'list-1000'];
const folderCases = ['copy-2000', 'move-2000', 'delete-2000'];
const allFamilies = ['holdall', 'bucket', 'rclone'];

interface Options {
  readonly rounds: number;
  readonly duration: Duration;
  readonly cases: readonly string[];
  readonly only: readonly string[];
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
    cases: readNames('cases', values.cases, [...readCases, uploadCase, ...folderCases]),
    only: readNames('only', values.only, allFamilies),
    folder: resolve(values.folder),
    service: resolve(values.service),
  };
}

/** The file, as much again where the service keeps it first, and, in a Ceph of our own, all that is ever uploaded. */
function bytesNeeded({ cases, rounds }: Options): number {
  const own = isObjectStoreNamed() ? 0 : 2 ** 31;
  if (!cases.includes(uploadCase)) return own + 2 ** 28;
  const uploads = isObjectStoreNamed() ? 0 : 5 * rounds;
  return own + (2.25 + uploads) * uploadBytes;
}

/** The comparisons asked for, with the contenders asked for. */
function planComparisons({ cases, only, duration }: Options, stage: BucketStage): Comparison[] {
  const all = [
    ...bucketReadComparisons(stage, duration),
    bucketUploadComparison(stage),
    ...bucketFolderComparisons(stage),
  ];
  return all
    .filter(({ id }) => cases.includes(id))
    .map((comparison) => {
      const contenders = comparison.contenders.filter(({ family }) => only.includes(family));
      return { ...comparison, contenders };
    })
    .filter(({ contenders }) => contenders.length > 0);
}

function formatResult([comparison, measured]: readonly [Comparison, readonly Measured[]]): string[] {
  const memory = formatResidentMemory(measured);
  return [formatComparison(comparison, measured), ...(memory === '' ? [] : [memory])];
}

/** What a reader must know so that the figures do not mislead. */
function notes({ rounds, duration, cases }: Options, store: ObjectStore): string {
  const { hostname } = new URL(store.account.endpoint);
  const general = [
    `Rounds: ${rounds}. Medians, the order reversed every round, a fresh process of the service or of rclone for each figure.`,
    'Speed, ×: how many times as fast as that one, the median of the ratios within each round.',
    store.isOwn
      ? 'The bucket is in a Ceph of one monitor, one disk and one gateway, started for this run on this machine. Its' +
        ' daemons share the cores with the service, with wrk, curl and rclone: what one of them takes, the others lack.'
      : `The bucket is in a store at ${hostname}, and the way to it is in every figure. What it spends is not known here.`,
    'CPU is that of all processes of the service, or of the rclone command, user and system.' +
      (store.isOwn
        ? ' That of the bucket is the sum of the three daemons, with what they still do for earlier work.'
        : ''),
    'Peak memory is that of the whole process tree, shared pages once, in MB of 1,000,000 bytes; no page cache.',
    'The service runs with its defaults but for LOG_LEVEL=warn, and, where one request is all there is, WORKERS=1.',
  ];
  return [
    ...general,
    ...(cases.some((id) => readCases.includes(id)) ? readNotes(duration) : []),
    ...(cases.includes(uploadCase) ? uploadNotes : []),
    ...(cases.some((id) => folderCases.includes(id)) ? folderNotes : []),
  ]
    .map((note) => `- ${note}`)
    .join('\n');
}

const readNotes = ({ warmUp, measured }: Duration) => [
  `Fetching and listing: wrk, ${connections} connections, ${threads} threads, ${measured} s after ${warmUp} s of` +
    ' warm-up. Every request succeeded.',
  'The bucket itself: the same asked of it without the service, by one URL that was signed beforehand. It is the limit' +
    ' of a service that asks the bucket anew for each request, as long as the service needs no time of the same cores.',
  'What was under way when the time was up is in the CPU, not in the number of requests: with so many connections, that' +
    ' counts where a request is slow.',
  'The listings differ in format and fields.',
];

const uploadNotes = [
  'Uploads: 1 GiB of random bytes, compared with what was stored. curl sends a form to the service; its own work' +
    ' shares the cores and is in the time, not in the CPU.',
  `rclone reads the file itself, with ${rcloneUploadFlags.join(' ')}. It takes the MD5 of the whole file before it starts,` +
    ' unless told not to, or given no file.',
  `Memory of one process: resident (RSS), of all processes of the service, every ${residentInterval} ms. Idle: the median` +
    ' of 2 s, after 30 small requests and 1 s of rest. Of all rounds, the one that went furthest above idle.',
];

const folderNotes = [
  'Folders: objects of 1 KiB in five folders, planted anew for each measurement; afterwards each has to be where it' +
    ' belongs, with its content, and nothing else. Copies are made by the bucket, nothing passes through.',
  'The service is asked by one request, after it has done the same with 100 objects. rclone starts for it, as it does' +
    ` for whoever calls it, with ${rcloneFolderFlags.join(' ')}.`,
];
