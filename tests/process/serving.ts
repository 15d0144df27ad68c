import assert from 'node:assert/strict';
import type { Holdall, LogLine } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { send } from '../http/client.ts';

/** Sends requests until as many processes as there are to be have each answered one, and gives their ids. */
export async function untilAllServe(holdall: Holdall): Promise<number[]> {
  const count = Number(holdall.ready['workers']);
  return until(`${count} processes serve`, async () => {
    assert.equal((await send(holdall.port, '/')).status, 200);
    const serving = holdall.serving();
    return serving.length === count && haveAnswered(holdall.log, serving) ? serving : undefined;
  });
}

/** Whether each of the processes has a request in this log. */
export function haveAnswered(log: readonly LogLine[], pids: readonly number[]): boolean {
  return pids.every((wanted) => log.some(({ pid, msg }) => pid === wanted && msg === 'request'));
}
