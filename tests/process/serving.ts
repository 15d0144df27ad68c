import assert from 'node:assert/strict';
import type { Holdall, LogLine } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { send } from '../http/client.ts';

/** Sends requests until every worker has responded to one. Returns the ids of the processes. */
export async function untilAllServe(holdall: Holdall): Promise<number[]> {
  const count = Number(holdall.ready['workers']);
  return until(`${count} processes serve`, async () => {
    assert.equal((await send(holdall.port, '/')).status, 200);
    const serving = holdall.serving();
    return serving.length === count && haveResponded(holdall.log, serving) ? serving : undefined;
  });
}

/** Returns whether the log contains a request of each process. */
export function haveResponded(log: readonly LogLine[], pids: readonly number[]): boolean {
  return pids.every((wanted) => log.some(({ pid, msg }) => pid === wanted && msg === 'request'));
}
