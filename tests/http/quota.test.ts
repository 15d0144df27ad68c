import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Quota } from '../../src/domain/store.ts';
import { observe } from '../../src/layers/observe.ts';
import { readOnly } from '../../src/layers/read-only.ts';
import { memory } from '../contract/backend.ts';
import { jsonOf, send } from './client.ts';
import { startService } from './service.ts';

/** The service on a store whose backend says before each answer that one request less is left. */
async function start(t: TestContext, quota: () => Quota | undefined): Promise<number> {
  const service = await startService(memory, {
    wrap: (store) => readOnly(observe({ ...store, quota }, () => {})),
  });
  t.after(() => service.stop());
  return service.port;
}

const QUOTA: Quota = { limit: 5000, remaining: 4987, reset: new Date('2026-11-21T14:00:00.500Z') };

describe('The quota of a store', () => {
  it('stands in the answer about readiness', async (t) => {
    const port = await start(t, () => QUOTA);
    assert.deepEqual(jsonOf(await send(port, '/-/health/ready')), {
      success: true,
      message: 'The service is ready.',
      quota: { limit: 5000, remaining: 4987, reset: '2026-11-21T14:00:00.500Z' },
    });
  });

  it('is not spoken of where the backend told none, and where there is none', async (t) => {
    const untold = await start(t, () => undefined);
    const service = await startService(memory);
    t.after(() => service.stop());
    for (const port of [untold, service.port]) {
      const { headers, ...answer } = await send(port, '/-/health/ready', { headers: { prefer: 'quota' } });
      assert.deepEqual(jsonOf({ ...answer, headers }), { success: true, message: 'The service is ready.' });
      assert.deepEqual([headers['x-store-quota'], headers['preference-applied']], [undefined, undefined]);
    }
  });

  for (const [path, method, status] of [
    ['/', 'GET', 200],
    ['/file/missing', 'GET', 404],
    ['/file/missing', 'HEAD', 404],
    ['/file/missing', 'PUT', 405],
    ['/-/nothing', 'GET', 404],
    ['/delete_folder/missing', 'DELETE', 403],
  ] as const) {
    it(`comes as a header of the answer to ${method} ${path} when it is preferred`, async (t) => {
      const port = await start(t, () => QUOTA);
      const answer = await send(port, path, { method, headers: { prefer: 'quota' } });
      assert.equal(answer.status, status);
      assert.equal(answer.headers['x-store-quota'], 'limit=5000, remaining=4987, reset=1795269601');
      assert.equal(answer.headers['preference-applied'], 'quota');
      const plain = await send(port, path, { method });
      assert.equal(plain.headers['x-store-quota'], undefined);
    });
  }

  it('comes with the lines of progress', async (t) => {
    const port = await start(t, () => QUOTA);
    const headers = { prefer: 'quota', accept: 'application/x-ndjson' };
    const answer = await send(port, '/delete_folder/missing', { method: 'DELETE', headers });
    assert.equal(answer.headers['x-store-quota'], 'limit=5000, remaining=4987, reset=1795269601');
  });

  it('is found among other preferences, in any case, and nowhere else', async (t) => {
    const port = await start(t, () => QUOTA);
    const isTold = async (prefer: string) =>
      (await send(port, '/', { headers: { prefer } })).headers['x-store-quota'] !== undefined;
    for (const prefer of ['QUOTA', 'respond-async, quota', 'a=1;b="c",\tquota , d'])
      assert.ok(await isTold(prefer), prefer);
    for (const prefer of ['', ',', 'quotas', 'quota=0', 'x="quota"', 'no quota', 'quota;x', '\u00ff']) {
      assert.ok(!(await isTold(prefer)), prefer);
    }
  });
});
