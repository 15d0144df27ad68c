import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requireCommands } from '../testing/debian-packages.js';
import { createManyFiles } from '../testing/many-files.ts';
import type { Subject } from '../testing/options.ts';
import { readCount, readNames, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import { run } from '../testing/processes.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { formatFigure, formatMegabytes, formatSpread, median } from './harness/figures.ts';
import { describeMachine } from './harness/machine.ts';
import type { ListingPage, Visit } from './harness/page-listing.ts';
import { holdallPage, nginxPage, scrollSteps, visitListing } from './harness/page-listing.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import { publish } from './harness/results.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** Compares the web UI on large folders, in a real browser, with the simplest possible page. */
export const web: Benchmark = {
  name: 'web',
  question: 'How soon is a large folder on the screen, how smoothly does it scroll, and what memory does it take?',
  options: [
    '--rounds N        how often each is measured (3)',
    '--only LIST       of folder-10000,folder-100000 (all)',
    '--programs LIST   of holdall,nginx (all)',
    ...subjectUsage,
    "The browser is Debian's Chromium, without a window.",
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    requireCommands({ chromium: 'chromium' });
    const programs = options.servers.includes('nginx') ? (['nginx'] as const) : [];
    ensurePrograms(programs);
    // The entries of the folders, and the profiles of the browser.
    await using temporary = await makeTemporaryFolder(options.folder, 2 ** 30);
    const machine = await describeMachine(temporary.path, options.service);
    const measurements: Measurement[] = [];
    for (const count of options.counts) {
      measurements.push(...(await measureFolder(count, options, temporary.path, signal)));
    }
    await publish({
      name: 'web',
      machine,
      versions: { chromium: await readChromiumVersion(signal), ...(await readVersions(programs, signal)) },
      report: [...options.counts.map((count) => formatFolder(count, measurements)), notes(options)].join('\n\n'),
      measurements,
    });
  },
};

async function readChromiumVersion(signal: AbortSignal): Promise<string> {
  const { stdout } = await run({ file: 'chromium', args: ['--version'] }, signal);
  return /\d+(\.\d+)+/.exec(stdout)?.[0] ?? 'unknown';
}

const allFolders = { 'folder-10000': 10_000, 'folder-100000': 100_000 } as const;

interface Options extends Subject {
  readonly rounds: number;
  /** The numbers of entries of the folders. */
  readonly counts: readonly number[];
  readonly servers: readonly string[];
}

/** All visits of one page to one folder, in the order of the rounds. */
interface Measurement {
  readonly count: number;
  readonly name: string;
  readonly visits: Visit[];
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
      programs: { type: 'string' },
      ...subjectOptions,
    },
  });
  const only = readNames('only', values.only, Object.keys(allFolders));
  return {
    rounds: readCount('rounds', values.rounds),
    counts: Object.entries(allFolders).flatMap(([id, count]) => (only.includes(id) ? [count] : [])),
    servers: readNames('programs', values.programs, ['holdall', 'nginx']),
    ...readSubject(values),
  };
}

/** Reverses the order in every round, so that no page always follows the heaviest one. */
async function measureFolder(
  count: number,
  { rounds, servers, service }: Options,
  parent: string,
  signal: AbortSignal,
): Promise<Measurement[]> {
  const pages: readonly ListingPage[] = [holdallPage(service), nginxPage].filter(({ server }) =>
    servers.includes(server.name),
  );
  const root = join(parent, `root-${count}`);
  await mkdir(root);
  createManyFiles(root, count);
  const measurements = pages.map((page) => ({ page, count, name: page.server.name, visits: [] as Visit[] }));
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? measurements : measurements.toReversed();
    for (const { page, name, visits } of order) {
      signal.throwIfAborted();
      process.stderr.write(`bench: ${titleOf(count)}, round ${round} of ${rounds}: ${name}\n`);
      const scratch = join(parent, `scratch-${count}-${round}-${name}`);
      visits.push(await visitListing(page, { root, scratch }, count, signal));
    }
  }
  return measurements.map(({ name, visits }) => ({ count, name, visits }));
}

function titleOf(count: number): string {
  return `A folder of ${count.toLocaleString('en-US')} entries`;
}

function formatFolder(count: number, measurements: readonly Measurement[]): string {
  const columns: Column[] = [
    { heading: 'page', align: 'left' },
    ...figures.map(({ heading }): Column => ({ heading, align: 'right' })),
  ];
  const rows = measurements
    .filter((measurement) => measurement.count === count)
    .map(({ name, visits }) => [name, ...figures.map(({ cell }) => cell(visits))]);
  return `### ${titleOf(count)}\n\n${formatTable(columns, rows)}`;
}

interface Figure {
  readonly heading: string;
  cell(visits: readonly Visit[]): string;
}

const medianOf = (visits: readonly Visit[], figure: keyof Visit) => median(visits.map((visit) => visit[figure]));
const spreadOf = (visits: readonly Visit[], figure: keyof Visit) => formatSpread(visits.map((visit) => visit[figure]));

const figures: readonly Figure[] = [
  { heading: 'first row, ms', cell: (visits) => formatFigure(medianOf(visits, 'firstRow')) },
  { heading: 'min – max', cell: (visits) => spreadOf(visits, 'firstRow') },
  { heading: 'interactive, ms', cell: (visits) => formatFigure(medianOf(visits, 'interactive')) },
  { heading: 'min – max', cell: (visits) => spreadOf(visits, 'interactive') },
  { heading: 'frames over 50 ms', cell: (visits) => formatFigure(medianOf(visits, 'slowFrames')) },
  { heading: 'slowest frame, ms', cell: (visits) => formatFigure(medianOf(visits, 'slowestFrame')) },
  { heading: 'JS heap, MB', cell: (visits) => formatMegabytes(medianOf(visits, 'heap')) },
  { heading: 'renderer, MB', cell: (visits) => formatMegabytes(medianOf(visits, 'renderer')) },
  { heading: 'nodes', cell: (visits) => formatFigure(medianOf(visits, 'nodes')) },
];

/** The limits of the figures, for readers. */
function notes({ rounds }: Options): string {
  return [
    `- Rounds: ${rounds}. Medians, the order reversed every round, a fresh process of the server and a fresh browser for` +
      ' each visit; the server has already served the page once.',
    '- Times are since the navigation began. First row: the frame with the first entry was drawn. Interactive: all entries' +
      ' are in the page, and no frame took 50 ms in the half second after that moment.',
    `- Scrolling: from the top to the end in ${scrollSteps} steps, one a frame, by script. The last entry has to be shown` +
      ' then. Frames are counted by the time between them, without those that the compositor draws by itself.',
    "- Memory after scrolling: the JavaScript heap after garbage was collected; the renderer's process, shared pages in" +
      ' part, in MB of 1,000,000 bytes. Nodes are those that the browser keeps, in the document or not.',
    '- The entries are hard links to a few files of some bytes. Browser and server share the cores and this machine; the' +
      ' browser has no window and no GPU.',
    "- nginx's page (autoindex) is one document with a line for each entry, whose only function is to open one: the" +
      ' limit of a page that keeps all entries in the document.',
  ].join('\n');
}
