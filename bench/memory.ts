import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Subject } from '../testing/options.ts';
import { readNumber, readSubject, subjectOptions, subjectUsage } from '../testing/options.ts';
import type { Column } from '../testing/table.ts';
import { formatTable } from '../testing/table.ts';
import type { Benchmark } from './harness/benchmark.ts';
import type { PartOrder } from './harness/curl.ts';
import { downloadFrom, uploadForm } from './harness/curl.ts';
import { formatFigure, formatMegabytes } from './harness/figures.ts';
import { describeMachine } from './harness/machine.ts';
import { ensurePrograms, readVersions } from './harness/programs.ts';
import { get } from './harness/requests.ts';
import {
  idleMemoryDescription,
  measureIdleMemory,
  peakDuring,
  residentInterval,
  warmUp,
} from './harness/resident-memory.ts';
import { publish } from './harness/results.ts';
import { holdall, startServer } from './harness/servers.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** Checks that memory stays flat while the service receives and sends a large file. */
export const memory: Benchmark = {
  name: 'memory',
  question: 'How much memory does one process need when idle, and during an upload and a download of 2 GiB?',
  options: ['--size GIB        size of the file (2)', ...subjectUsage],
  run: async (args, signal) => {
    const options = readOptions(args);
    ensurePrograms(['curl']);
    // The stored file, and the same size again for a file that is staged until its prefix arrives.
    await using folder = await makeTemporaryFolder(options.folder, 2.1 * options.bytes);
    const files = await makeFiles(folder.path, options.bytes);
    const machine = await describeMachine(folder.path, options.service);
    const measurements: Measurement[] = [];
    for (const order of ['prefix first', 'file first'] as const) {
      process.stderr.write(`bench: memory, ${order}\n`);
      measurements.push(await measure(order, files, options, folder.path, signal));
    }
    await publish({
      name: 'memory',
      machine,
      versions: await readVersions(['curl'], signal),
      report: report(measurements, options),
      measurements,
    });
  },
};

/** The target: maximum bytes above idle. */
const aim = 80e6;

interface Options extends Subject {
  readonly bytes: number;
}

/** Resident memory of all processes of the service, in bytes. */
interface Measurement {
  readonly order: PartOrder;
  readonly idle: number;
  readonly peakUploading: number;
  readonly peakDownloading: number;
}

interface Files {
  readonly small: string;
  readonly large: string;
  readonly bytes: number;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      size: { type: 'string', default: '2' },
      ...subjectOptions,
    },
  });
  return {
    bytes: Math.round(readNumber('size', values.size, 0.01) * 2 ** 30),
    ...readSubject(values),
  };
}

/** Creates the large file as one hole: curl reads zeros from it, which use no disk space and no memory. */
async function makeFiles(folder: string, bytes: number): Promise<Files> {
  const small = join(folder, 'small.bin');
  const large = join(folder, 'large.bin');
  await writeFile(small, Buffer.alloc(4096, 'x'));
  await writeFile(large, '');
  await truncate(large, bytes);
  return { small, large, bytes };
}

/** Measures a new process: idle, during an upload with its parts in this order, and during the download of the file. */
async function measure(
  order: PartOrder,
  files: Files,
  { service }: Options,
  parent: string,
  signal: AbortSignal,
): Promise<Measurement> {
  await using folder = await makeTemporaryFolder(parent, 0);
  const site = { root: join(folder.path, 'root'), scratch: join(folder.path, 'scratch') };
  await mkdir(site.root);
  await using running = await startServer(holdall(service, 1), site, signal);
  await warmUp(running, { file: files.small, prefix, order }, signal);
  const idle = await measureIdleMemory(running, signal);
  const [peakUploading] = await peakDuring(running, () =>
    uploadForm({ base: running.url('/'), file: files.large, prefix, order }, signal),
  );
  const location = await findRedirect(running.url(`/file/${prefix}${basename(files.large)}`), signal);
  const [peakDownloading, received] = await peakDuring(running, () => downloadFrom(location, 1, signal));
  if (received !== files.bytes - 1) throw new Error(`${received} bytes received, ${files.bytes - 1} expected`);
  return { order, idle, peakUploading, peakDownloading };
}

const prefix = 'incoming/';

/** Returns the URL to which the service redirects downloads of a large file, on this machine. */
async function findRedirect(url: URL, signal: AbortSignal): Promise<URL> {
  const { status, headers } = await get(url, {}, signal);
  if (status !== 302 || headers.location === undefined) {
    throw new Error(`GET ${url.href}: ${status} with Location ${headers.location}, expected a redirect`);
  }
  return new URL(headers.location, url);
}

function report(measurements: readonly Measurement[], { bytes }: Options): string {
  const size = `${formatFigure(bytes / 2 ** 30)} GiB`;
  const notes = [
    `- Resident memory (RSS) of all processes of the service with WORKERS=1, every ${residentInterval} ms. MB are 1,000,000 bytes.`,
    `- Idle: after 30 requests, when ${idleMemoryDescription}. Each order of the parts has a fresh process.`,
    `- Upload: a multipart form from curl with ${size} of zeros from a sparse file. Download: through the redirect, from byte 1 on` +
      ' (206), discarded as fast as it arrives. LOG_LEVEL=warn.',
  ];
  return [
    `### Memory of one process during transfers of ${size}, in MB`,
    formatMeasurements(measurements),
    notes.join('\n'),
  ].join('\n\n');
}

function formatMeasurements(measurements: readonly Measurement[]): string {
  const figures = [
    'idle',
    'peak, upload',
    'above idle',
    'peak, download',
    'above idle',
    `target: ${formatMegabytes(aim)}`,
  ];
  const columns: Column[] = figures.map((heading) => ({ heading, align: 'right' }));
  const rows = measurements.map(({ order, idle, peakUploading, peakDownloading }) => {
    const upload = peakUploading - idle;
    const download = peakDownloading - idle;
    const verdict = Math.max(upload, download) <= aim ? 'within' : 'over';
    return [order, ...[idle, peakUploading, upload, peakDownloading, download].map(formatMegabytes), verdict];
  });
  return formatTable([{ heading: 'parts of the upload', align: 'left' }, ...columns], rows);
}
