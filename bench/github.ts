import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Subject } from '../testing/options.ts';
import { readCount, readNames, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { formatFigure, formatSpread, median } from './harness/figures.ts';
import type { HostCost, HostedBranch } from './harness/hosted-branch.ts';
import { contentOf, entriesOf, fileNames, folder, openBranch, shaOf } from './harness/hosted-branch.ts';
import { describeMachine } from './harness/machine.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import type { BenchResponse, Request } from './harness/requests.ts';
import { send } from './harness/requests.ts';
import { publish } from './harness/results.ts';
import { holdall } from './harness/servers.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** Compares the GitHub calls and commits of Holdall with those of one call per file. */
export const github: Benchmark = {
  name: 'github',
  question: 'How many GitHub calls and commits do uploads and folders need, compared with one call per file?',
  options: [
    '--rounds N        measurements of each figure (3)',
    '--only LIST       some of list-cold,list-warm,upload-100,rename-5000,delete-5000 (all)',
    ...subjectUsage,
    'GitHub is a fake of its API with a real git repository, in this process. No call leaves the machine.',
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    ensurePrograms(['git']);
    await using temporary = await makeTemporaryFolder(options.folder, 2 ** 28);
    const machine = await describeMachine(temporary.path, options.service);
    const measurements: Measurement[] = [];
    for (const measured of cases.filter(({ id }) => options.only.includes(id))) {
      const samples: HostCost[] = [];
      for (let round = 1; round <= options.rounds; round++) {
        process.stderr.write(`bench: ${measured.title}, round ${round} of ${options.rounds}\n`);
        samples.push(await measure(measured, options.service, temporary.path, signal));
      }
      measurements.push({ ...measured, samples });
    }
    await publish({
      name: 'github',
      machine,
      versions: await readVersions(['git'], signal),
      report: [formatMeasurements(measurements), notes(options)].join('\n\n'),
      measurements: measurements.map(({ id, byFile, samples }) => ({ id, byFile, samples })),
    });
  },
};

/** Documented limits of GitHub: calls per hour and token, and those that create content. */
const callsPerHour = 5000;
const creatingPerHour = 500;
const creatingPerMinute = 80;

const uploadCount = 100;
const folderCount = 5000;
/** The size of one page of a listing. */
const listedCount = 1000;

/** The cost of one call per file, with the Contents API. */
interface ByFile {
  readonly calls: number;
  readonly commits: number;
}

/** One operation, on a repository of its own. */
interface Case {
  readonly id: string;
  readonly title: string;
  readonly fileCount: number;
  readonly byFile: ByFile;
  /** Runs before the measurement. */
  prepare(branch: HostedBranch, signal: AbortSignal): Promise<unknown>;
  work(branch: HostedBranch, signal: AbortSignal): Promise<void>;
  /** Rejects if the branch is not as expected afterwards. */
  check(branch: HostedBranch): Promise<void>;
}

interface Measurement extends Case {
  readonly samples: readonly HostCost[];
}

const cases: readonly Case[] = [
  {
    id: 'list-cold',
    title: 'List 1,000 entries after a push',
    fileCount: listedCount,
    byFile: { calls: 1, commits: 0 },
    prepare: async ({ repository }) => await repository.commit({ 'pushed.txt': 'by another client' }),
    work: list,
    check: async () => {},
  },
  {
    id: 'list-warm',
    title: 'List 1,000 entries without changes',
    fileCount: listedCount,
    byFile: { calls: 1, commits: 0 },
    prepare: list,
    work: list,
    check: async () => {},
  },
  {
    id: 'upload-100',
    title: 'Upload 100 files of 4 KiB concurrently',
    fileCount: 1,
    // PUT for each file.
    byFile: { calls: uploadCount, commits: uploadCount },
    prepare: list,
    work: async (branch, signal) => {
      await Promise.all(fileNames(uploadCount).map((name) => upload(branch, name, signal)));
    },
    check: (branch) => expectFiles(branch, 'uploads', uploadCount),
  },
  {
    id: 'rename-5000',
    title: 'Rename a folder of 5,000 files',
    fileCount: folderCount,
    // GET, PUT and DELETE for each file.
    byFile: { calls: 3 * folderCount, commits: 2 * folderCount },
    prepare: list,
    work: async ({ running }, signal) => {
      const url = running.url(`/rename_folder/${folder}`);
      await ask({ method: 'POST', url, headers: json, body: JSON.stringify({ newName: 'renamed' }) }, signal);
    },
    check: async (branch) => {
      await expectFiles(branch, folder, 0);
      await expectFiles(branch, 'renamed', folderCount);
    },
  },
  {
    id: 'delete-5000',
    title: 'Delete a folder of 5,000 files',
    fileCount: folderCount,
    // DELETE for each file. The tree has their hashes.
    byFile: { calls: folderCount + 1, commits: folderCount },
    prepare: list,
    work: async ({ running }, signal) => {
      await ask({ method: 'DELETE', url: running.url(`/delete_folder/${folder}`) }, signal);
    },
    check: (branch) => expectFiles(branch, folder, 0),
  },
];

interface Options extends Subject {
  readonly rounds: number;
  readonly only: readonly string[];
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      ...subjectOptions,
    },
  });
  return {
    rounds: readCount('rounds', values.rounds),
    only: readNames(
      'only',
      values.only,
      cases.map(({ id }) => id),
    ),
    ...readSubject(values),
  };
}

/** Starts a new process of the service on a new repository. */
async function measure(measured: Case, service: string, parent: string, signal: AbortSignal): Promise<HostCost> {
  await using temporary = await makeTemporaryFolder(parent, 0);
  const site = { root: join(temporary.path, 'root'), scratch: join(temporary.path, 'scratch') };
  await mkdir(site.root);
  await using branch = await openBranch(measured.fileCount, (storage) => holdall(service, 0, storage), site, signal);
  await measured.prepare(branch, signal);
  const cost = await branch.meter(() => measured.work(branch, signal));
  await measured.check(branch);
  return cost;
}

const json = { 'content-type': 'application/json' };

async function list({ running }: HostedBranch, signal: AbortSignal): Promise<void> {
  const { body } = await ask({ url: running.url(`/${folder}/`) }, signal);
  const { entries } = JSON.parse(body.toString()) as { readonly entries: readonly unknown[] };
  if (entries.length === 0) throw new Error('an empty listing');
}

async function upload({ running }: HostedBranch, name: string, signal: AbortSignal): Promise<void> {
  const boundary = 'of-the-benchmark';
  const part = (disposition: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
  const form = [
    part('name="prefix"', 'uploads'),
    part(`name="file"; filename="${name}"`, contentOf(name).toString()),
    `--${boundary}--\r\n`,
  ];
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  await ask({ method: 'POST', url: running.url('/upload'), headers, body: form.join('') }, signal);
}

async function ask(request: Request, signal: AbortSignal): Promise<BenchResponse> {
  const response = await send({ ...request, seconds: 120 }, signal);
  if (response.status === 200) return response;
  throw new Error(`${request.method ?? 'GET'} ${request.url.href}: ${response.status} ${response.body.toString()}`);
}

/** Rejects unless a folder of the branch has exactly this number of the files, each with its content. */
async function expectFiles({ repository }: HostedBranch, path: string, count: number): Promise<void> {
  const expected = new Set(fileNames(count).map((name) => `${shaOf(contentOf(name))} ${name}`));
  const difference = expected.symmetricDifference(new Set(await entriesOf(repository, path)));
  if (difference.size > 0) throw new Error(`${path}: ${[...difference].slice(0, 3).join(', ')} …: wrong files`);
}

function formatMeasurements(measurements: readonly Measurement[]): string {
  const right = [
    'calls',
    'free calls',
    'commits',
    'seconds',
    'min – max',
    'per file: calls',
    'commits',
    'shortest time',
  ];
  const columns: Column[] = [
    { heading: 'operation', align: 'left' },
    ...right.map((heading): Column => ({ heading, align: 'right' })),
  ];
  const rows = measurements.map(({ title, samples, byFile }) => {
    const seconds = samples.map((sample) => sample.seconds);
    const counts = (['calls', 'free', 'commits'] as const).map((figure) => formatCounts(samples.map((s) => s[figure])));
    const instead = [byFile.calls, byFile.commits].map(formatFigure);
    return [title, ...counts, formatFigure(median(seconds)), formatSpread(seconds), ...instead, formatLeast(byFile)];
  });
  return formatTable(columns, rows);
}

/** Formats one number if all rounds are equal, otherwise the spread. */
function formatCounts(counts: readonly number[]): string {
  return new Set(counts).size === 1 ? formatFigure(counts[0] ?? Number.NaN) : formatSpread(counts);
}

/** Formats the shortest time that GitHub's rate limits allow, if each period's calls are sent at its beginning. */
function formatLeast({ calls, commits }: ByFile): string {
  const spansBefore = (count: number, perSpan: number) => Math.max(0, Math.ceil(count / perSpan) - 1);
  const hours = Math.max(spansBefore(calls, callsPerHour), spansBefore(commits, creatingPerHour));
  const minutes = spansBefore(commits, creatingPerMinute);
  if (hours > 0) return `${hours} h`;
  return minutes > 0 ? `${minutes} min` : '–';
}

/** Describes how the figures were measured. */
function notes({ rounds }: Options): string {
  return [
    `Rounds: ${rounds}. Each figure comes from a fresh process of the service and a new repository. Calls and commits are counted` +
      ' at the host. Seconds are medians.',
    'GitHub is a fake of its API with a real git repository, on this machine. The seconds are those of the service, git and the' +
      ' fake, without the network. By published reports, each call to GitHub takes some tenths of a second, and the calls of a' +
      ' commit are sequential.',
    'Free calls return 304 and do not count against the rate limit.',
    'Per file: the calls of the Contents API, computed and not measured. An upload needs a PUT per file. A rename needs a GET, a' +
      ' PUT and a DELETE per file. A deletion needs the tree and a DELETE per file. A listing of up to 1,000 entries is one call.',
    `Shortest time: with at most ${callsPerHour.toLocaleString('en-US')} calls per hour, and at most ${creatingPerHour} per hour and` +
      ` ${creatingPerMinute} per minute that create content, if each is sent as soon as the limits allow.`,
    'The service uses its defaults, except LOG_LEVEL=warn, and GITHUB_TRUST=0, so that every listing checks the branch.',
    'At the end, the paths and content hashes of all files are compared with the expected ones, and `git fsck` must find no errors.',
  ]
    .map((note) => `- ${note}`)
    .join('\n');
}
