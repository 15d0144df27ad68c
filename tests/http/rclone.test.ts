import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { memory } from '../contract/backend.ts';
import { plant } from '../contract/bytes.ts';
import { NAMES } from '../contract/names.ts';
import type { Need } from '../runner/needs.ts';
import { send } from './client.ts';
import { startService, type TestService } from './service.ts';

export const needs: readonly Need[] = ['rclone'];

const run = promisify(execFile);

/** The names that rclone itself does not change. */
const PORTABLE = NAMES.filter((name) => Buffer.byteLength(name) < 200);

describe('The http backend of rclone', () => {
  let service: TestService;
  const many = Array.from({ length: 1005 }, (_, number) => `many/${number}.txt`);
  const tree = { 'a.txt': 'at the root', 'sub/b.txt': 'below', 'file/hidden.txt': 'hidden' };
  /** The folder of each page that the service reads. */
  const lists: string[] = [];
  const odd = PORTABLE.map((name) => [`odd/${name}`, name] as const);
  before(async () => {
    service = await startService({
      ...memory,
      async open() {
        const opened = await memory.open();
        await plant(opened.store, {
          ...tree,
          ...Object.fromEntries([...odd, ...many.map((path) => [path, ''] as const)]),
        });
        const { store } = opened;
        const list: typeof store.list = (folder, options) => {
          lists.push(folder);
          return store.list(folder, options);
        };
        return { ...opened, store: { ...store, list } };
      },
    });
  });
  after(() => service.stop());

  const rclone = async (...args: string[]) => {
    const url = `http://127.0.0.1:${service.port}/`;
    return (await run('rclone', ['--config', '/dev/null', '--http-url', url, ...args])).stdout;
  };

  it('lists folders and files, with their sizes', async () => {
    const lines = (await rclone('lsf', '--format', 'sp', ':http:')).trim().split('\n').toSorted();
    assert.deepEqual(lines, ['-1;many/', '-1;odd/', '-1;sub/', '11;a.txt']);
  });

  it('lists all pages of a folder', async () => {
    const paths = (await rclone('lsf', '--http-no-head', '--recursive', ':http:')).split('\n');
    assert.deepEqual(paths.filter((path) => path.startsWith('many/') && path !== 'many/').toSorted(), many.toSorted());
  });

  it('reads only one page for HEAD', async () => {
    const headers = { 'user-agent': 'rclone/v1.60.1' };
    lists.length = 0;
    const response = await send(service.port, '/many/', { method: 'HEAD', headers });
    assert.deepEqual([response.status, response.headers['content-type']], [200, 'text/html; charset=utf-8']);
    // A second page would be read before the response to the next request.
    await send(service.port, '/sub/', { headers });
    assert.deepEqual(lists, ['many/', 'sub/']);
  });

  it('reads files with special characters in their names', async () => {
    for (const name of PORTABLE.slice(2, 8)) assert.equal(await rclone('cat', `:http:odd/${name}`), name);
  });

  it('is redirected from a file below its folder; other clients get 404 for a missing folder', async () => {
    const headers = { 'user-agent': 'rclone/v1.60.1' };
    const response = await send(service.port, '/sub/b.txt', { headers });
    assert.deepEqual([response.status, response.headers.location], [302, '../file/sub/b.txt']);
    assert.equal((await send(service.port, '/sub/c.txt', { headers })).status, 404);
    assert.equal((await send(service.port, '/sub/b.txt')).status, 404);
  });
});
