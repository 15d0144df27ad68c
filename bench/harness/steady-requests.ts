import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireHost } from './requests.ts';

/** Requests that come at their own pace, whatever becomes of those before them. */
export interface SteadyRequests {
  /** Asked for in turn. */
  readonly urls: readonly URL[];
  readonly perSecond: number;
  readonly seconds: number;
}

/**
 * Sends each request when it is due, and says how long after that its whole answer was there: milliseconds, one a request.
 * A load that waits for an answer before it asks again, as wrk's does, sees a server that stands still only once for each
 * connection; this one sees it for each request that is due meanwhile. Rejects for every answer but 200.
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
      const answer = timeFrom(due, url, agent, signal);
      // It is waited for below; until then, nobody would take its failure.
      answer.catch(() => undefined);
      responses.push(answer);
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
