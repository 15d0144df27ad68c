import assert from 'node:assert/strict';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, begin, postJson } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

const MOVE = { source: 'a', destination: 'b', is_folder: true };

// For a branch, a process that is killed is one of which no more requests arrive.
it('A folder move of which no more requests arrive leaves the branch as it is, and completes when it is sent to another service', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`a/${index}`, 'x']));
  const hosted = await hostRepository({ files });
  atEnd(t, () => hosted.remove());
  const { repository, host } = hosted;
  const settings = settingsOfRepository(hosted);
  const first = await startInProcess(t, { settings });
  const never = Promise.withResolvers<'cut'>();
  atEnd(t, () => never.resolve('cut'));
  let isReached = false;
  host.intercept(async ({ method }) => {
    if (method !== 'PATCH' || isReached) return undefined;
    isReached = true;
    return never.promise;
  });
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(MOVE) };
  begin(first.port, '/move', request).response.catch(() => {});
  await until('the branch update arrives', () => isReached);
  assert.equal(await repository.git('rev-list', '--count', 'main'), '1');

  const second = await startInProcess(t, { settings });
  assertSuccess(await postJson(second.port, '/move', MOVE), { message: 'Item moved successfully' });
  assert.equal((await repository.git('ls-tree', '-r', '--name-only', 'main', 'b/')).split('\n').length, 50);
  assert.equal(await repository.git('ls-tree', 'main', 'a'), '');
});
