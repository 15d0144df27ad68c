import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { percentile } from './figures.ts';
import { requireHost } from './requests.ts';

/** The times of many requests. */
export interface RequestTimes {
  readonly seconds: number;
  /** Milliseconds. */
  readonly latencyP99: number;
}

/** Requests each URL once over keep-alive connections. Rejects if a response is not a JPEG. */
export async function requestEach(
  urls: readonly URL[],
  concurrency: number,
  signal: AbortSignal,
): Promise<RequestTimes> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  const remaining = urls.values();
  const work = async () => {
    for (const url of remaining) {
      const began = performance.now();
      await requestJpeg(url, agent, signal);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    agent.destroy();
  }
  return { seconds: (performance.now() - began) / 1000, latencyP99: percentile(latencies, 99) };
}

async function requestJpeg(url: URL, agent: Agent, signal: AbortSignal): Promise<void> {
  requireHost(url);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { agent, signal }, resolve).on('error', reject).end();
  });
  const body = await buffer(response);
  const isJpeg = response.statusCode === 200 && body[0] === 0xff && body[1] === 0xd8;
  if (!isJpeg) throw new Error(`GET ${url.href}: ${response.statusCode} ${body.toString('utf8', 0, 1000)}`);
}
