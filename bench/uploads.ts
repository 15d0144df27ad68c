import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
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

/** The throughput of the three ways to upload a file: a form, a raw body, and parts by the tus protocol. */
export const uploads: Benchmark = {
  name: 'uploads',
  question: 'How fast are PUT and uploads in parts, compared with the upload of a form?',
  options: [
    '--size GIB        size of the large file (1)',
    '--part MIB        size of a part (64)',
    '--files N         small files of 4 KiB (2,000)',
    ...subjectUsage,
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    await using folder = await makeTemporaryFolder(options.folder, 2.2 * options.bytes);
    const site = { root: join(folder.path, 'root'), scratch: join(folder.path, 'scratch') };
    await mkdir(site.root);
    const source = join(folder.path, 'source.bin');
    await writeSource(source, options.bytes);
    const machine = await describeMachine(folder.path, options.service);
    await using running = await startServer(holdall(options.service, 1), site, signal);
    const measurements: Measurement[] = [];
    const rounds = { running, source, options, root: site.root };
    measurements.push(...(await measureLarge(rounds, signal)), ...(await measureSmall(rounds, signal)));
    await publish({ name: 'uploads', machine, versions: {}, report: report(measurements, options), measurements });
  },
};

/** The target: the throughput of an upload in parts, compared with that of a form. */
const AIM = 0.8;

const SMALL = Buffer.alloc(4096, 'x');

/** Measurements per figure, which is their median, after one warm-up. */
const ROUNDS = 5;

type Way = 'form' | 'put' | 'parts';

const LARGE_WAYS: readonly Way[] = ['form', 'put', 'parts'];
const SMALL_WAYS: readonly Way[] = ['form', 'put'];

interface Options extends Subject {
  readonly files: number;
  readonly bytes: number;
  readonly partBytes: number;
}

interface Measurement {
  readonly kind: 'large' | 'small';
  readonly way: Way;
  /** Bytes per second of the large file, or small files per second. */
  readonly speed: number;
  /** Speed compared with the form in the same rounds. */
  readonly ratio: number;
  /** Bytes of memory above idle. */
  readonly memory: number;
}

interface Rounds {
  readonly running: RunningServer;
  readonly source: string;
  readonly root: string;
  readonly options: Options;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      files: { type: 'string', default: '2000' },
      size: { type: 'string', default: '1' },
      part: { type: 'string', default: '64' },
      ...subjectOptions,
    },
  });
  return {
    files: Math.round(readNumber('files', values.files, 1)),
    bytes: Math.round(readNumber('size', values.size, 0.01) * 2 ** 30),
    partBytes: Math.round(readNumber('part', values.part, 1) * 2 ** 20),
    ...readSubject(values),
  };
}

async function writeSource(path: string, bytes: number): Promise<void> {
  const chunk = Buffer.alloc(2 ** 20, 'x');
  await writeFile(
    path,
    (function* () {
      for (let written = 0; written < bytes; written += chunk.length) yield chunk.subarray(0, bytes - written);
    })(),
  );
}

/** Alternates the ways, so that a disturbance affects all of them. */
async function measureLarge({ running, source, options, root }: Rounds, signal: AbortSignal): Promise<Measurement[]> {
  const speeds = new Map(LARGE_WAYS.map((way) => [way, [] as number[]]));
  const memory = new Map<Way, number>();
  for (let round = 0; round <= ROUNDS; round++) {
    for (const way of LARGE_WAYS) {
      process.stderr.write(`bench: uploads, large, ${way}, round ${round} of ${ROUNDS}\n`);
      signal.throwIfAborted();
      const idle = memoryOf(running.pid).resident;
      const [resident, duration] = await peakDuring(running, () =>
        seconds(() => uploadLarge(running, { way, source, options })),
      );
      await rm(join(root, 'large.bin'));
      if (round === 0) continue;
      speeds.get(way)?.push(options.bytes / duration);
      memory.set(way, Math.max(memory.get(way) ?? 0, resident - idle));
    }
  }
  return describeWays('large', LARGE_WAYS, speeds, memory);
}

async function measureSmall({ running, options }: Rounds, signal: AbortSignal): Promise<Measurement[]> {
  const speeds = new Map(SMALL_WAYS.map((way) => [way, [] as number[]]));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let round = 0; round <= ROUNDS; round++) {
    for (const way of SMALL_WAYS) {
      signal.throwIfAborted();
      const duration = await seconds(async () => {
        for (let index = 0; index < options.files; index++) await uploadSmall(running, { way, index, agent });
      });
      if (round > 0) speeds.get(way)?.push(options.files / duration);
    }
  }
  agent.destroy();
  return describeWays('small', SMALL_WAYS, speeds, new Map());
}

function describeWays(
  kind: Measurement['kind'],
  ways: readonly Way[],
  speeds: ReadonlyMap<Way, readonly number[]>,
  memory: ReadonlyMap<Way, number>,
): Measurement[] {
  const of = (way: Way) => speeds.get(way) ?? [];
  return ways.map((way) => ({
    kind,
    way,
    speed: median([...of(way)]),
    ratio: median(of(way).map((speed, round) => speed / (of('form')[round] ?? Number.NaN))),
    memory: memory.get(way) ?? 0,
  }));
}

async function uploadLarge(
  running: RunningServer,
  { way, source, options }: { readonly way: Way; readonly source: string; readonly options: Options },
): Promise<void> {
  const { bytes, partBytes } = options;
  const read = (start: number, end: number) =>
    createReadStream(source, { start, end: end - 1, highWaterMark: 2 ** 20 });
  if (way === 'put') {
    await send(running, { method: 'PUT', path: '/file/large.bin', status: 201, bytes, body: read(0, bytes) });
  } else if (way === 'form') {
    const form = formAround('large.bin');
    const size = form.before.length + bytes + form.after.length;
    const body = Readable.from(inOrder(form.before, read(0, bytes), form.after), { objectMode: false });
    await send(running, { method: 'POST', path: '/upload', status: 200, bytes: size, body, headers: form.headers });
  } else {
    const metadata = `path ${Buffer.from('large.bin').toString('base64')}`;
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(bytes), 'upload-metadata': metadata };
    const created = await send(running, { method: 'POST', path: '/-/uploads', status: 201, bytes: 0, headers });
    for (let offset = 0; offset < bytes; offset += partBytes) {
      const end = Math.min(offset + partBytes, bytes);
      await send(running, {
        method: 'PATCH',
        path: String(created.headers.location),
        status: 204,
        bytes: end - offset,
        body: read(offset, end),
        headers: {
          'tus-resumable': '1.0.0',
          'upload-offset': String(offset),
          'content-type': 'application/offset+octet-stream',
        },
      });
    }
  }
}

async function uploadSmall(
  running: RunningServer,
  { way, index, agent }: { readonly way: Way; readonly index: number; readonly agent: Agent },
): Promise<void> {
  const name = `small ${index}.bin`;
  if (way === 'put') {
    const path = `/file/${encodeURIComponent(name)}`;
    await send(running, { method: 'PUT', path, bytes: SMALL.length, body: SMALL, agent });
    return;
  }
  const { before, after, headers } = formAround(name);
  const body = Buffer.concat([before, SMALL, after]);
  await send(running, { method: 'POST', path: '/upload', bytes: body.length, body, headers, agent });
}

function formAround(name: string) {
  const boundary = 'holdall-benchmark';
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    before: Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="prefix"\r\n\r\n\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`,
    ),
    after: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

async function* inOrder(before: Buffer, content: Readable, after: Buffer): AsyncGenerator<Buffer> {
  yield before;
  yield* content as AsyncIterable<Buffer>;
  yield after;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  /** The expected status. Default: any success. */
  readonly status?: number;
  readonly bytes: number;
  readonly body?: Readable | Buffer;
  readonly headers?: OutgoingHttpHeaders;
  readonly agent?: Agent;
}

async function send(
  running: RunningServer,
  { method, path, status, bytes, body, headers, agent }: Sent,
): Promise<IncomingMessage> {
  const sending = request(running.url(path), {
    method,
    headers: { ...headers, 'content-length': bytes },
    ...(agent && { agent }),
  });
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  if (body instanceof Readable) await pipeline(body, sending);
  else sending.end(body);
  const [response] = await answered;
  const content = await text(response);
  const isExpected = status === undefined ? (response.statusCode ?? 0) < 300 : response.statusCode === status;
  if (!isExpected) throw new Error(`${method} ${path}: ${response.statusCode} ${content.slice(0, 200)}`);
  return response;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

function report(measurements: readonly Measurement[], { files, bytes, partBytes }: Options): string {
  const names = {
    form: 'form (`POST /upload`)',
    put: 'raw body (`PUT /file/…`)',
    parts: `parts of ${formatFigure(partBytes / 2 ** 20)} MiB (tus)`,
  };
  const rows = measurements.map(({ kind, way, speed, ratio, memory }) => [
    kind === 'large' ? `one file of ${formatFigure(bytes / 2 ** 30)} GiB` : `${files} files of 4 KiB`,
    names[way],
    kind === 'large' ? `${formatMegabytes(speed)} MB/s` : `${formatFigure(speed)} files/s`,
    ratio.toFixed(2),
    way === 'parts' ? (ratio >= AIM ? 'met' : 'missed') : '',
    kind === 'large' ? formatMegabytes(memory) : '',
  ]);
  const columns: Column[] = [
    { heading: 'files', align: 'left' },
    { heading: 'upload', align: 'left' },
    ...['speed', 'compared with the form', `target: ${AIM}`, 'MB above idle'].map(
      (heading): Column => ({ heading, align: 'right' }),
    ),
  ];
  const notes = [
    `- The median of ${ROUNDS} rounds, each with all ways one after the other, to one process on a disk (WORKERS=1), after a warm-up. Every response confirms durable bytes.`,
    '- Small files: one after the other over one connection. The client is Node.js on the same machine.',
  ];
  return ['### Uploads of a raw body and in parts', formatTable(columns, rows), notes.join('\n')].join('\n\n');
}
