import { join } from 'node:path';
import { run } from '../../testing/processes.ts';
import { requireHost } from './requests.ts';

/** Repeated requests of one URL, or of URLs derived from it. */
export interface Load {
  readonly url: URL;
  /** The requests that wrk.lua derives from the URL, with their arguments. Default: GET of the URL. */
  readonly requests?: readonly string[];
  /** The permitted host of the URL, if it is not this machine. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly seconds: number;
  /** Concurrent requests. Default: 32. */
  readonly connections?: number;
  /** Minimum bytes of each response body. Default: 0. */
  readonly responseBytes?: number;
}

/** The results. Times are in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly latencyMedian: number;
  readonly latencyP99: number;
}

/** The defaults of a load, which the results list. */
export const connections = 32;
export const threads = 2;

/**
 * Loads a URL with wrk. Rejects if a request failed, or if fewer bytes arrived than expected: wrk counts neither redirects nor
 * truncated responses as failures.
 */
export async function load(requested: Load, signal: AbortSignal): Promise<LoadResult> {
  const { url, seconds, responseBytes = 0 } = requested;
  const summary = parseSummary(await runWrk(requested, signal));
  for (const kind of ['connect', 'read', 'write', 'status', 'timeout'] as const) {
    if (summary[kind] === 0) continue;
    const failed = `${url.href}: ${summary[kind]} of ${summary.requests} requests failed (${kind})`;
    throw new Error(kind === 'status' ? `${failed}; ${await countStatuses(requested, signal)}` : failed);
  }
  if (summary.requests === 0) throw new Error(`${url.href}: no response in ${seconds} s`);
  if (summary.bytes < summary.requests * responseBytes) {
    const bytesEach = Math.floor(summary.bytes / summary.requests);
    throw new Error(`${url.href}: responses of ${bytesEach} bytes under load, ${responseBytes} before`);
  }
  return {
    requests: summary.requests,
    requestsPerSecond: summary.requests / (summary.microseconds / 1e6),
    latencyMedian: summary.p50 / 1000,
    latencyP99: summary.p99 / 1000,
  };
}

/** The output of wrk. */
async function runWrk(
  { url, requests = [], host, headers = {}, seconds, connections: clients = connections }: Load,
  signal: AbortSignal,
): Promise<string> {
  requireHost(url, host);
  const options = [`-t${threads}`, `-c${clients}`, `-d${seconds}s`, '--timeout', '30s', '-s', script];
  const headerOptions = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const args = [...options, ...headerOptions, url.href, '--', ...requests];
  return (await run({ file: 'wrk', args }, signal)).stdout;
}

/** Repeats the load for a second to count statuses, because counting during the measurement would slow wrk down. */
async function countStatuses(requested: Load, signal: AbortSignal): Promise<string> {
  const stdout = await runWrk(
    { ...requested, seconds: 1, requests: ['statuses', ...(requested.requests ?? [])] },
    signal,
  );
  const counts: Record<string, number> = {};
  for (const [, status = '', count] of stdout.matchAll(/^status (\d+) (\d+)$/gm)) {
    counts[status] = (counts[status] ?? 0) + Number(count);
  }
  const found = Object.entries(counts).map(([status, count]) => `${count} × ${status}`);
  return `a repetition for a second returned: ${found.join(', ') || 'no response'}`;
}

const script = join(import.meta.dirname, 'wrk.lua');

/** Parses the line of wrk.lua. Its format is trusted, because the script is part of the benchmarks. */
interface Summary {
  readonly microseconds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly connect: number;
  readonly read: number;
  readonly write: number;
  readonly status: number;
  readonly timeout: number;
}

function parseSummary(stdout: string): Summary {
  const json = /^summary (.*)$/m.exec(stdout)?.[1];
  if (json === undefined) throw new Error(`wrk ended without its summary:\n${stdout}`);
  return JSON.parse(json);
}
