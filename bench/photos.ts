import { link, mkdir, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { requireCommands } from '../testing/debian-packages.js';
import type { Subject } from '../testing/options.ts';
import { readCount, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { formatFigure, formatMegabytes, formatSpread, median } from './harness/figures.ts';
import { describeMachine } from './harness/machine.ts';
import type { PhotoVisit } from './harness/photo-visit.ts';
import { viewingMs, visitPhotos } from './harness/photo-visit.ts';
import { publish } from './harness/results.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';
import { makePhotographs } from './harness/thumbnail-photos.ts';

/** Measures tiles and viewer on a folder of photos, in a real browser, and compares two builds. */
export const photos: Benchmark = {
  name: 'photos',
  question:
    'How soon are the tiles of photos complete, how soon is the next photo on the screen, and what memory does it take?',
  options: [
    '--rounds N        how often each is measured (3)',
    '--photos N        JPEGs of 12 megapixels in the folder (300)',
    '--steps N         photos that the viewer shows after the first (40)',
    '--before FILE     another build of the service, measured in turn with this one',
    ...subjectUsage,
    "The browser is Debian's Chromium, without a window.",
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    requireCommands({ chromium: 'chromium' });
    await using temporary = await makeTemporaryFolder(options.folder, 2 ** 30);
    const machine = await describeMachine(temporary.path, options.service);
    const measurements = await measure(options, temporary.path, signal);
    await publish({ name: 'photos', machine, versions: {}, report: format(measurements, options), measurements });
  },
};

interface Options extends Subject {
  readonly rounds: number;
  readonly photos: number;
  readonly steps: number;
  readonly before: string | undefined;
}

interface Measurement {
  readonly name: string;
  readonly service: string;
  readonly visits: PhotoVisit[];
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '3' },
      photos: { type: 'string', default: '300' },
      steps: { type: 'string', default: '40' },
      before: { type: 'string' },
      ...subjectOptions,
    },
  });
  return {
    rounds: readCount('rounds', values.rounds),
    photos: readCount('photos', values.photos),
    steps: readCount('steps', values.steps),
    before: values.before === undefined ? undefined : resolve(values.before),
    ...readSubject(values),
  };
}

/** Reverses the order in every round. Each visit has a folder of its own, so that no cache of an earlier one remains. */
async function measure(options: Options, folder: string, signal: AbortSignal): Promise<Measurement[]> {
  const { rounds, photos: count, steps, service, before } = options;
  const names = Array.from({ length: count }, (_, index) => `photo-${String(index + 1).padStart(4, '0')}.jpg`);
  const originals = join(folder, 'originals');
  await makePhotographs(originals, names, { width: 4000, height: 3000 });
  // With equal times, the photos are in the order of their names in every view.
  for (const name of names) await utimes(join(originals, name), 1e9, 1e9);
  const measurements: Measurement[] = [
    ...(before === undefined ? [] : [{ name: 'before', service: before, visits: [] }]),
    { name: 'now', service, visits: [] },
  ];
  for (let round = 1; round <= rounds; round++) {
    for (const measurement of round % 2 === 1 ? measurements : measurements.toReversed()) {
      signal.throwIfAborted();
      process.stderr.write(`bench: photos, round ${round} of ${rounds}: ${measurement.name}\n`);
      const root = join(folder, `root-${round}-${measurement.name}`);
      await mkdir(root);
      for (const name of names) await link(join(originals, name), join(root, name));
      const site = { root, scratch: join(folder, `scratch-${round}-${measurement.name}`) };
      measurement.visits.push(await visitPhotos(measurement.service, site, { names, steps }, signal));
    }
  }
  return measurements;
}

const columns: readonly Column[] = [
  { heading: 'build', align: 'left' },
  { heading: 'tiles complete, ms', align: 'right' },
  { heading: 'min – max', align: 'right' },
  { heading: 'next photo, ms', align: 'right' },
  { heading: 'min – max', align: 'right' },
  { heading: 'renderer, MB', align: 'right' },
  { heading: 'min – max', align: 'right' },
];

function format(measurements: readonly Measurement[], { rounds, photos: count, steps }: Options): string {
  const rows = measurements.map(({ name, visits }) => {
    const tiles = visits.map((visit) => visit.tiles);
    const next = visits.flatMap((visit) => visit.next);
    const renderer = visits.map((visit) => visit.renderer);
    return [
      name,
      formatFigure(median(tiles)),
      formatSpread(tiles),
      formatFigure(median(next)),
      formatSpread(next),
      formatMegabytes(median(renderer)),
      formatSpread(renderer.map((bytes) => bytes / 1e6)),
    ];
  });
  return [
    `### ${count} photos of 12 megapixels`,
    formatTable(columns, rows),
    [
      `- Rounds: ${rounds}. Medians, the order reversed every round, a fresh process of the service, a fresh browser and an empty` +
        ' cache for each visit. The window has 1440×900 CSS pixels.',
      '- Tiles complete: from the navigation until each tile in the window has its picture.',
      `- Next photo: from the arrow key until the viewer shows the photo, decoded, ${steps} times. The user views each photo` +
        ` for ${viewingMs} ms. A thumbnail does not count.`,
      "- Renderer: the renderer's process with the last photo in the viewer, shared pages in part, in MB of 1,000,000 bytes.",
      '- The photos are synthetic, 12 different ones, of which the others are hard links. Browser and service share the cores of' +
        ' this machine; the browser has no window and no GPU.',
    ].join('\n'),
  ].join('\n\n');
}
