import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { Subject } from '../testing/options.ts';
import { readNumber, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { formatFigure, formatMegabytes, median } from './harness/figures.ts';
import { describeMachine } from './harness/machine.ts';
import { memoryOf } from './harness/process-tree.ts';
import { peakDuring } from './harness/resident-memory.ts';
import { publish } from './harness/results.ts';
import { holdall, type RunningServer, startServer } from './harness/servers.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** The throughput of ZIP downloads, compared with downloads of the same files one by one. */
export const zip: Benchmark = {
  name: 'zip',
  question: 'How fast is a ZIP download compared with the downloads of the same files?',
  options: ['--files N         small files (10,000)', '--size GIB        size of the large file (1)', ...subjectUsage],
  run: async (args, signal) => {
    const options = readOptions(args);
    await using folder = await makeTemporaryFolder(options.folder, 1.1 * options.bytes);
    const site = { root: join(folder.path, 'root'), scratch: join(folder.path, 'scratch') };
    await makeFiles(site.root, options);
    const machine = await describeMachine(folder.path, options.service);
    await using running = await startServer(holdall(options.service, 1), site, signal);
    const measurements: Measurement[] = [];
    for (const kind of KINDS) {
      process.stderr.write(`bench: zip, ${kind}\n`);
      measurements.push(await measure(running, kind, options, signal));
    }
    await publish({ name: 'zip', machine, versions: {}, report: report(measurements, options), measurements });
  },
};

/** The target: the throughput of an archive, compared with that of single downloads. */
const AIM = 0.8;

/** Bytes of a small file. */
const SMALL_BYTES = 10_000;

/** The files in each folder of small files. */
const FILES_PER_FOLDER = 1000;

/** Measurements per figure, which is their median, after one warm-up. */
const ROUNDS = 5;

const KINDS = ['small', 'large'] as const;
type Kind = (typeof KINDS)[number];

interface Options extends Subject {
  readonly files: number;
  readonly bytes: number;
}

/** Bytes per second of file contents, and bytes of memory. */
interface Measurement {
  readonly kind: Kind;
  readonly single: number;
  readonly zip: number;
  readonly idle: number;
  readonly peak: number;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: 'string', default: '10000' },
      size: { type: 'string', default: '1' },
      ...subjectOptions,
    },
  });
  return {
    files: Math.round(readNumber('files', values.files, 1)),
    bytes: Math.round(readNumber('size', values.size, 0.01) * 2 ** 30),
    ...readSubject(values),
  };
}

const smallPath = (index: number) => `small/${Math.floor(index / FILES_PER_FOLDER)}/file ${index}.bin`;

async function makeFiles(root: string, { files, bytes }: Options): Promise<void> {
  for (let index = 0; index < files; index++) {
    if (index % FILES_PER_FOLDER === 0) await mkdir(join(root, smallPath(index), '..'), { recursive: true });
    await writeFile(join(root, smallPath(index)), Buffer.alloc(SMALL_BYTES, index));
  }
  await mkdir(join(root, 'large'));
  const chunk = Buffer.alloc(2 ** 20, 'x');
  await writeFile(
    join(root, 'large/file.bin'),
    (function* () {
      for (let written = 0; written < bytes; written += chunk.length) yield chunk.subarray(0, bytes - written);
    })(),
  );
}

/** Alternates single downloads and archives, so that a disturbance affects both. */
async function measure(
  running: RunningServer,
  kind: Kind,
  options: Options,
  signal: AbortSignal,
): Promise<Measurement> {
  const contentBytes = kind === 'small' ? options.files * SMALL_BYTES : options.bytes;
  const [singles, zips]: [number[], number[]] = [[], []];
  let [idle, peak] = [0, 0];
  for (let round = 0; round <= ROUNDS; round++) {
    signal.throwIfAborted();
    const single = await seconds(() => (kind === 'small' ? fetchSmall(running, options.files) : fetchLarge(running)));
    idle = memoryOf(running.pid).resident;
    const [resident, duration] = await peakDuring(running, () =>
      seconds(async () => {
        const received = await fetchAll(running, `/-/zip/${kind}/`);
        if (received <= contentBytes) throw new Error(`The archive has only ${received} bytes.`);
      }),
    );
    if (round === 0) continue;
    peak = Math.max(peak, resident - idle);
    singles.push(contentBytes / single);
    zips.push(contentBytes / duration);
  }
  return { kind, single: median(singles), zip: median(zips), idle, peak };
}

/** Downloads the small files one by one, over one connection. */
async function fetchSmall(running: RunningServer, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let index = 0; index < count; index++) {
    const bytes = await fetchAll(running, `/file/${encodeURI(smallPath(index))}`, agent);
    if (bytes !== SMALL_BYTES) throw new Error(`File ${index} has ${bytes} bytes.`);
  }
  agent.destroy();
}

async function fetchLarge(running: RunningServer): Promise<void> {
  const response = await open(running.url('/file/large/file.bin'));
  response.resume();
  const { location = '' } = response.headers;
  await drain(await open(new URL(location, running.url('/file/large/file.bin'))));
}

async function fetchAll(running: RunningServer, path: string, agent?: Agent): Promise<number> {
  return drain(await open(running.url(path), agent));
}

async function open(url: URL, agent?: Agent): Promise<IncomingMessage> {
  const [response] = (await once(get(url, agent ? { agent } : {}), 'response')) as [IncomingMessage];
  if (![200, 302].includes(response.statusCode ?? 0)) {
    throw new Error(`GET ${url.href}: ${response.statusCode} ${(await text(response)).slice(0, 200)}`);
  }
  return response;
}

async function drain(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(response, 'end');
  return bytes;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

function report(measurements: readonly Measurement[], { files, bytes }: Options): string {
  const titles = {
    small: `${files} files of ${SMALL_BYTES} bytes`,
    large: `one file of ${formatFigure(bytes / 2 ** 30)} GiB`,
  };
  const columns: Column[] = ['single downloads, MB/s', 'ZIP, MB/s', 'ratio', `target: ${AIM}`, 'MB above idle'].map(
    (heading) => ({ heading, align: 'right' }),
  );
  const rows = measurements.map(({ kind, single, zip: archive, peak }) => [
    titles[kind],
    formatMegabytes(single),
    formatMegabytes(archive),
    (archive / single).toFixed(2),
    archive / single >= AIM ? 'met' : 'missed',
    formatMegabytes(peak),
  ]);
  const notes = [
    `- The median of ${ROUNDS} rounds, each with the single downloads and then the archive, from one process on a disk (WORKERS=1), after a warm-up.`,
    '- Single downloads: one after the other over one connection; the large file through its redirect. The client is Node.js on the same machine.',
    '- Throughput counts the contents of the files. The time of an archive includes the listing of all folders.',
  ];
  return [
    '### ZIP downloads compared with single downloads',
    formatTable([{ heading: 'files', align: 'left' }, ...columns], rows),
    notes.join('\n'),
  ].join('\n\n');
}
