import { join } from 'node:path';
import { run } from '../../testing/processes.ts';
import { requireHost } from './requests.ts';

/** One URL asked for over and over, or what is made of it. */
export interface Load {
  readonly url: URL;
  /** Which requests wrk.lua makes of the URL, with what that takes; GET of the URL itself where it is absent. */
  readonly requests?: readonly string[];
  /** The host that it may go to, where that is not this machine. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly seconds: number;
  /** As many requests at once; 32 where it is absent. */
  readonly connections?: number;
  /** Each answer's body has at least so many bytes; none where it is absent. */
  readonly responseBytes?: number;
}

/** What came of it. Times in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly latencyMedian: number;
  readonly latencyP99: number;
}

/** How a load is made that does not say otherwise; told in the results. */
export const connections = 32;
export const threads = 2;

/**
 * Loads a URL with wrk. Rejects when a single request failed, and when less was received than the answers'
 * length: wrk itself counts neither a redirect nor a short answer as a failure.
 */
export async function load(requested: Load, signal: AbortSignal): Promise<LoadResult> {
  const { url, seconds, responseBytes = 0 } = requested;
  const summary = parseSummary(await runWrk(requested, signal));
  for (const kind of ['connect', 'read', 'write', 'status', 'timeout'] as const) {
    if (summary[kind] === 0) continue;
    const failed = `${url.href}: ${summary[kind]} of ${summary.requests} requests failed (${kind})`;
    throw new Error(kind === 'status' ? `${failed}; ${await countStatuses(requested, signal)}` : failed);
  }
  if (summary.requests === 0) throw new Error(`${url.href}: not one answer in ${seconds} s`);
  if (summary.bytes < summary.requests * responseBytes) {
    const bytesEach = Math.floor(summary.bytes / summary.requests);
    throw new Error(`${url.href}: answers of ${bytesEach} bytes under load, ${responseBytes} before`);
  }
  return {
    requests: summary.requests,
    requestsPerSecond: summary.requests / (summary.microseconds / 1e6),
    latencyMedian: summary.p50 / 1000,
    latencyP99: summary.p99 / 1000,
  };
}

/** What wrk wrote. */
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

/** The same load again, for a second: to count statuses all along would slow wrk down, and so bend what is measured. */
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
  return `asked once more, for a second: ${found.join(', ') || 'no answer'}`;
}

const script = join(import.meta.dirname, 'wrk.lua');

/** The line that wrk.lua writes: the script is ours, so its shape is trusted. */
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
