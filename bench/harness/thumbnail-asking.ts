import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { percentile } from './figures.ts';
import { requireHost } from './requests.ts';

/** What came of asking for many things once each. */
export interface Asked {
  readonly seconds: number;
  /** Milliseconds. */
  readonly latencyP99: number;
}

/** Asks for each URL once, so many at a time, on connections that stay. Rejects when one is not answered with a JPEG. */
export async function askForEach(urls: readonly URL[], atOnce: number, signal: AbortSignal): Promise<Asked> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  const waiting = urls.values();
  const work = async () => {
    for (const url of waiting) {
      const began = performance.now();
      await askForJpeg(url, agent, signal);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  try {
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    agent.destroy();
  }
  return { seconds: (performance.now() - began) / 1000, latencyP99: percentile(latencies, 99) };
}

async function askForJpeg(url: URL, agent: Agent, signal: AbortSignal): Promise<void> {
  requireHost(url);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { agent, signal }, resolve).on('error', reject).end();
  });
  const body = await buffer(response);
  const isJpeg = response.statusCode === 200 && body[0] === 0xff && body[1] === 0xd8;
  if (!isJpeg) throw new Error(`GET ${url.href}: ${response.statusCode} ${body.toString('utf8', 0, 1000)}`);
}
