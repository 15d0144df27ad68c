import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import { mountFileSystemOfWindows } from '../faults/mounts.ts';
import { send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { BEARER, startDav } from './dav-service.ts';
import { treeIn } from './trees.ts';

export const needs: readonly Need[] = ['windows-file-systems'];

it('COPY and MOVE never delete their source under another spelling, on a disk that ignores case', async (t) => {
  const base = await temporaryFolder(t);
  const mounted = join(base, 'mounted');
  const image = { image: join(base, 'exfat.img'), folder: mounted };
  assert.equal(await mountFileSystemOfWindows(t, 'exfat', image), undefined);
  const root = join(mounted, 'files');
  await mkdir(root);
  const service = await startDav(t, { root, settings: { STATE_DIR: join(base, 'state'), TRASH_DAYS: '0' } });
  const statusOf = async (method: string, path: string, headers = {}) => {
    const response = await send(service.port, `/-/dav/${path}`, { method, headers: { ...BEARER, ...headers } });
    return response.status;
  };
  const transfer = (method: 'COPY' | 'MOVE', from: string, to: string, depth = 'infinity') =>
    statusOf(method, from, { destination: `/-/dav/${to}`, depth });
  assert.equal(await statusOf('MKCOL', 'Docs/'), 201);
  assert.equal(await statusOf('MKCOL', 'Docs/Deep/'), 201);
  const put = { method: 'PUT', headers: BEARER, body: 'text' };
  assert.equal((await send(service.port, '/-/dav/Docs/Deep/a.txt', put)).status, 201);
  const files = { 'Docs/Deep/a.txt': 'text' };

  for (const [method, from, to, depth] of [
    ['COPY', 'Docs/', 'docs/', '0'],
    ['COPY', 'Docs/', 'DOCS/'],
    ['COPY', 'Docs/Deep/', 'docs/', '0'],
    ['COPY', 'Docs/Deep/', 'docs/'],
    ['COPY', 'Docs/', 'docs/deep/', '0'],
    ['COPY', 'Docs/Deep/a.txt', 'docs/deep'],
    ['COPY', 'Docs/Deep/a.txt', 'Docs/Deep/A.TXT'],
    ['MOVE', 'Docs/Deep/', 'docs/'],
    ['MOVE', 'Docs/', 'docs/deep/'],
    ['MOVE', 'Docs/Deep/a.txt', 'docs/deep'],
    ['MOVE', 'Docs/Deep/a.txt', 'docs'],
  ] as const) {
    const name = [method, from, to, depth].join(' ');
    assert.equal(await transfer(method, from, to, depth), 403, name);
    assert.deepEqual(await treeIn(root), files, name);
  }
  assert.ok([201, 204].includes(await transfer('MOVE', 'Docs/Deep/a.txt', 'docs/Deep/A.txt')));
  assert.ok([201, 204].includes(await transfer('MOVE', 'Docs/', 'DOCS/')));
  assert.deepEqual(await treeIn(root), { 'DOCS/Deep/A.txt': 'text' });
});
