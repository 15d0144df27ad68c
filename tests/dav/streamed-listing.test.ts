import assert from 'node:assert/strict';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { plant } from '../contract/bytes.ts';
import { begin } from '../http/client.ts';
import { startService } from '../http/service.ts';

// The memory of a process that lists 100,000 files: tests/long/memory.test.ts.
it('The listing of a folder of several pages is sent page by page: each one before the next one is read', async (t) => {
  let pages = 0;
  let allowed = 1;
  const service = await startService(memory, {
    hasJobs: true,
    wrap: (store) => ({
      ...store,
      async list(folder, options) {
        if (folder === 'many/') {
          const page = ++pages;
          await until(`page ${page} may be read`, () => page <= allowed);
        }
        return store.list(folder, options);
      },
    }),
  });
  atEnd(t, () => service.stop());
  const names = Array.from({ length: 2500 }, (_, index) => `many/${1000 + index}`);
  await plant(service.store, Object.fromEntries(names.map((name) => [name, 'x'])));
  const { response } = begin(service.port, '/-/dav/many/', { method: 'PROPFIND', headers: { depth: '1' } });
  const received = await response;
  assert.equal(received.statusCode, 207);
  let text = '';
  received.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  for (const [number, last] of [1999, 2999, 3499].entries()) {
    await until(`the page up to ${last} has arrived`, () => text.includes(`/many/${last}<`));
    assert.ok(!text.includes(`/many/${last + 1}<`));
    allowed = number + 2;
  }
  await until('the response is complete', () => received.complete);
});
