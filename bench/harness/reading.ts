import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Comparison, Contender, Sample } from './comparison.ts';
import type { Meter } from './measure.ts';
import { measureServer } from './measure.ts';
import type { BenchResponse } from './requests.ts';
import { send } from './requests.ts';
import type { Server } from './servers.ts';
import { startServer } from './servers.ts';
import type { Stage } from './stage.ts';
import { entryNames, servedFiles, untilOld } from './stage.ts';
import { load } from './wrk.ts';

/** The duration of each load in seconds. */
export interface Duration {
  /** A process of Node.js compiles its code, and becomes faster, during its first 50,000 requests. */
  readonly warmUp: number;
  readonly measured: number;
}

/** Compares downloads of each of the served files, and listings of the folder of 1,000 entries, between servers. */
export function readComparisons(servers: readonly Server[], stage: Stage, duration: Duration): Comparison[] {
  return readRequests(stage).map((request) => ({
    id: request.id,
    title: request.title,
    unit: 'requests/s',
    reference: 'nginx',
    programs: ['wrk'],
    contenders: servers.map((server) => readContender(server, request, stage, duration)),
  }));
}

/** Returns a download of each of the served files, and a listing of the folder of 1,000 entries. */
export function readRequests(stage: Stage): readonly ReadRequest[] {
  return [...Object.keys(servedFiles).map((file) => fileRequest(file, stage)), listRequest];
}

/** Measures one request, sent repeatedly to a server. */
export function readContender(server: Server, request: ReadRequest, stage: Stage, duration: Duration): Contender {
  return {
    name: server.name,
    ...(server.program && { program: server.program }),
    measure: (signal) => measureReads(server, request, stage, duration, signal),
  };
}

/** A method that reads, and the body of its requests. */
interface ReadMethod {
  readonly name: 'PROPFIND';
  readonly body: string;
}

/** A request that is sent repeatedly. */
export interface ReadRequest {
  readonly id: string;
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Another method than GET, and its body. */
  readonly method?: ReadMethod;
  path(server: Server): string;
  /** The expected status. Default: 200. */
  readonly status?: number;
  /** Resolves when the request can be measured. */
  prepare(signal: AbortSignal): Promise<void>;
  /** Throws unless the response is complete and correct. Returns a remark for the report. */
  check(response: BenchResponse): Promise<string>;
}

function fileRequest(file: string, { root }: Stage): ReadRequest {
  const size = file.replace(/^(\d+)(\w+)\.bin$/, '$1 $2');
  return {
    id: `get-${file.replace('.bin', '')}`,
    title: `GET ${size}`,
    headers: {},
    path: (server) => server.filePath(file),
    prepare: (signal) => untilOld(join(root, file), signal),
    check: async ({ body }) => {
      if (!body.equals(await readFile(join(root, file)))) throw new Error(`not the ${size} of ${file}`);
      return '';
    },
  };
}

const listRequest: ReadRequest = {
  id: 'list-1000',
  title: 'List 1,000 entries',
  headers: { accept: 'application/json' },
  path: () => '/entries/',
  prepare: async () => {},
  check: async (response) => checkListing(response),
};

async function measureReads(
  server: Server,
  request: ReadRequest,
  stage: Stage,
  duration: Duration,
  signal: AbortSignal,
): Promise<Sample> {
  await request.prepare(signal);
  await using running = await startServer(server, stage.newSite(), signal);
  const target = { ...request, url: running.url(request.path(server)) };
  return await measureReading(target, duration, (work) => measureServer(running.pid, work), signal);
}

/** The request of a load. */
export interface ReadTarget extends Pick<ReadRequest, 'headers' | 'method' | 'status' | 'check'> {
  readonly url: URL;
  /** The host of the URL if it is not this machine. */
  readonly host?: string;
  /** Concurrent connections. Default: see `wrk.ts`. */
  readonly connections?: number;
}

/** Sends the request once and checks the response, warms up, and then measures the load. */
export async function measureReading(
  { url, host, headers, method, status = 200, connections, check }: ReadTarget,
  duration: Duration,
  meter: Meter,
  signal: AbortSignal,
): Promise<Sample> {
  const response = await send(
    { url, host, headers, ...(method && { method: method.name, body: method.body }) },
    signal,
  );
  if (response.status !== status) {
    throw new Error(`${method?.name ?? 'GET'} ${url.href}: ${response.status} ${response.body.toString()}`);
  }
  const remark = await check(response);
  const requests = method && ['request', method.name, method.body];
  const requested = { url, host, headers, requests, connections, responseBytes: response.body.length };
  await load({ ...requested, seconds: duration.warmUp }, signal);
  const [result, cost] = await meter(() => load({ ...requested, seconds: duration.measured }, signal));
  const perRequest = (seconds: number) => seconds / result.requests;
  return {
    value: result.requestsPerSecond,
    cpuSeconds: cost.cpuSeconds === null ? null : perRequest(cost.cpuSeconds),
    ...(cost.storeCpuSeconds !== undefined && { storeCpuSeconds: perRequest(cost.storeCpuSeconds) }),
    peakMemory: cost.peakMemory,
    latencyP99: result.latencyP99,
    remark,
  };
}

/** Throws unless the response lists all 1,000 entries. Returns its format and length. */
export function checkListing({ headers, body }: BenchResponse): string {
  const text = body.toString();
  // In HTML, a space is `%20` in the link, and either form in the text.
  const missing = entryNames.filter((name) => !text.includes(name) && !text.includes(encodeURIComponent(name)));
  if (missing.length > 0) throw new Error(`${missing.length} of ${entryNames.length} entries are not listed`);
  const format = ['json', 'xml'].find((name) => headers['content-type']?.includes(name)) ?? 'html';
  return `${format.toUpperCase()}, ${Math.round(body.length / 1000)} kB`;
}
