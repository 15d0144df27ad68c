import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import type { Subject } from '../testing/options.ts';
import { readNumber, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { formatFigure, median, percentile } from './harness/figures.ts';
import { describeMachine } from './harness/machine.ts';
import { publish } from './harness/results.ts';
import { holdall, startServer } from './harness/servers.ts';
import { checkStored } from './harness/soak-check.ts';
import { createClient } from './harness/soak-client.ts';
import { drawGraph } from './harness/soak-graph.ts';
import type { LoadReport } from './harness/soak-load.ts';
import { kinds, loadMixed } from './harness/soak-load.ts';
import { panelsOf } from './harness/soak-panels.ts';
import type { ProcessSample } from './harness/soak-processes.ts';
import { watchProcesses } from './harness/soak-processes.ts';
import type { Finding } from './harness/soak-verdict.ts';
import { judge, MIN_SAMPLES, warmUpShare } from './harness/soak-verdict.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** Checks that a service needs no more memory, descriptors and time after a long load than at its beginning. */
export const soak: Benchmark = {
  name: 'soak',
  question: 'Do memory, descriptors and latencies stay flat under a mixed load?',
  options: [
    '--minutes N       duration of the load (10)',
    '--rate N          requests per second (60)',
    '--graph FILE      output file of the graph (bench/results/soak.svg)',
    ...subjectUsage,
    'It fails if a figure is not flat, a request fails, or a file has wrong content.',
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    await using folder = await makeTemporaryFolder(options.folder, 2 ** 30);
    const machine = await describeMachine(folder.path, options.service);
    const site = { root: join(folder.path, 'root'), scratch: join(folder.path, 'scratch') };
    await mkdir(site.root);
    const { load, processes, compared } = await runLoad(options, site, signal);
    const findings = judge(processes, load.samples, options.seconds);
    await mkdir(dirname(options.graph), { recursive: true });
    const title = `Holdall under a mixed load of ${options.rate} requests per second`;
    await writeFile(
      options.graph,
      drawGraph(title, panelsOf(processes, load.samples, options.seconds), options.seconds / 60),
    );
    await publish({
      name: 'soak',
      machine,
      versions: {},
      report: report(options, load, findings, compared),
      measurements: { options, findings, errors: load.errors, processes, latencies: latenciesOf(load) },
    });
    requireFlat(load, findings);
  },
};

interface Options extends Subject {
  readonly seconds: number;
  readonly rate: number;
  readonly graph: string;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '60' },
      graph: { type: 'string', default: join(import.meta.dirname, 'results/soak.svg') },
      ...subjectOptions,
    },
  });
  return {
    seconds: readNumber('minutes', values.minutes, 0.5) * 60,
    rate: readNumber('rate', values.rate, 1),
    graph: resolve(values.graph),
    ...readSubject(values),
  };
}

interface Run {
  readonly load: LoadReport;
  readonly processes: readonly ProcessSample[];
  /** Files with the expected content at the end. */
  readonly compared: number;
}

async function runLoad(
  { service, seconds, rate }: Options,
  site: { root: string; scratch: string },
  signal: AbortSignal,
): Promise<Run> {
  await using running = await startServer(holdall(service), site, signal);
  using client = createClient(running.url('/'), 32, signal);
  using watch = watchProcesses(running.pid);
  process.stderr.write(`bench: soak, ${formatFigure(seconds / 60)} minutes\n`);
  const load = await loadMixed(client, { seconds, rate, picture: await drawPicture(), onBegin: watch.begin }, signal);
  const processes = [...watch.samples()];
  return { load, processes, compared: await checkStored(client, load.files) };
}

/** Creates a picture that takes as long to scale down as a photograph: 1,600 × 1,200 pixels. */
async function drawPicture(): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  return await sharp({ create: { width: 1600, height: 1200, channels: 3, background: '#888', noise } })
    .blur(3)
    .jpeg()
    .toBuffer();
}

/** Throws one error with all problems. */
function requireFlat({ errors }: LoadReport, findings: readonly Finding[]): void {
  const grown = findings.filter(({ isFlat }) => !isFlat).map(({ what }) => what);
  const problems = [
    ...(grown.length > 0 ? [`not flat: ${grown.join('; ')}`] : []),
    ...(errors.length > 0 ? [`${errors.length} requests failed, such as ${errors[0]}`] : []),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

function report(options: Options, load: LoadReport, findings: readonly Finding[], compared: number): string {
  const { seconds, rate } = options;
  const columns: Column[] = [
    { heading: 'measure', align: 'left' },
    ...['first third', 'last third', 'limit'].map((heading): Column => ({ heading, align: 'right' })),
    { heading: 'verdict', align: 'left' },
  ];
  const rows = findings.map(({ what, unit, first, last, most, isFlat }) => [
    unit === '' ? what : `${what}, ${unit}`,
    ...[first, last, most].map(formatFigure),
    isFlat ? 'flat' : 'GROWN',
  ]);
  const notes = [
    `- ${formatFigure(seconds / 60)} minutes, ${rate} requests per second of ${kinds.length} kinds, on disk, at most 16` +
      ` concurrently. Latencies start when a request is due. The first ${warmUpShare * 100}% are warm-up, and the rest is compared in` +
      ' thirds.',
    '- Flat: in the last third, the medians of memory and descriptors exceed those of the first third by at most 10% plus 8. The' +
      ' median latency exceeds it by at most 50% plus 2 ms, and the 95th percentile by at most 100% plus 10 ms.' +
      ` Kinds with fewer than ${MIN_SAMPLES} requests in a third are omitted.`,
    `- ${load.samples.length.toLocaleString('en-US')} requests, of which ${load.errors.length} failed. Every response was compared` +
      ` with the stored data, and so were all ${compared.toLocaleString('en-US')} files at the end, byte by byte.`,
    ...(isLate(load)
      ? ['- **The machine was too busy**: requests were late, so latencies measure the queue instead of the service.']
      : []),
    '- Memory is the resident memory of each process, measured every second. Holdall with its defaults, except LOG_LEVEL=warn.',
  ];
  return ['### Long run', formatTable(columns, rows), notes.join('\n')].join('\n\n');
}

/** Whether most requests waited for at least a second, so that the load was not sent in time. */
function isLate({ samples }: LoadReport): boolean {
  return median(samples.map(({ latency }) => latency)) > 1000;
}

/** Milliseconds by kind. */
function latenciesOf({ samples }: LoadReport): object {
  const of = (kind: string) => samples.filter((sample) => sample.kind === kind).map(({ latency }) => latency);
  return Object.fromEntries(
    kinds.map((kind) => {
      const all = of(kind);
      const figures = [50, 95, 99, 100].map((percent) => Math.round(percentile(all, percent) * 100) / 100);
      return [kind, { count: all.length, p50: figures[0], p95: figures[1], p99: figures[2], most: figures[3] }];
    }),
  );
}
