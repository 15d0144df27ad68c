import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireHost } from './requests.ts';

/** Requests at a constant rate, independent of earlier responses. */
export interface SteadyRequests {
  /** Requested in turn. */
  readonly urls: readonly URL[];
  readonly perSecond: number;
  readonly seconds: number;
}

/**
 * Sends each request at its scheduled time. Returns the milliseconds from that time to the end of each response. A load that
 * waits for a response before the next request, as that of wrk, notices a blocked server only once per connection. This one
 * notices it for each scheduled request. Rejects for every response except 200.
 */
export async function sendSteadily(
  { urls, perSecond, seconds }: SteadyRequests,
  signal: AbortSignal,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const began = performance.now();
  const responses: Promise<number>[] = [];
  try {
    while (responses.length < perSecond * seconds) {
      const due = began + (responses.length * 1000) / perSecond;
      const url = urls[responses.length % urls.length];
      if (!url) throw new Error('no URL to ask for');
      await sleep(Math.max(0, due - performance.now()), undefined, { signal });
      const response = timeFrom(due, url, agent, signal);
      // It is awaited below. Until then, its failure would be an unhandled rejection.
      response.catch(() => undefined);
      responses.push(response);
    }
    return await Promise.all(responses);
  } finally {
    agent.destroy();
  }
}

function timeFrom(due: number, url: URL, agent: Agent, signal: AbortSignal): Promise<number> {
  requireHost(url);
  return new Promise((resolve, reject) => {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
    const request = httpRequest(url, { agent, signal: ends }, (response) => {
      response.on('error', reject).on('end', () => resolve(performance.now() - due));
      response.resume();
      if (response.statusCode !== 200) reject(new Error(`GET ${url.href}: ${response.statusCode}`));
    });
    request.on('error', reject).end();
  });
}
