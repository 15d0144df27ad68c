import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, postJson, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['immutable-files'];

it('A folder with a file that can not be deleted: each way of deleting it fails, and the next attempt completes it', async (t) => {
  const { port, root } = await startInProcess(t, { settings: { TRASH_DAYS: '0' } });
  await mkdir(join(root, 'f/sub'), { recursive: true });
  const immutable = join(root, 'f/sub/immutable');
  await writeFile(immutable, 'x');
  const setImmutable = (sign: '+' | '-') => execFileSync('chattr', [`${sign}i`, immutable]);
  setImmutable('+');
  atEnd(t, () => existsSync(immutable) && setImmutable('-'));
  const error =
    'The operating system denied access to "f/sub/immutable". Check its owner and permissions. The rest of "f/" was deleted.';
  const remove = (headers = {}) =>
    send(port, '/delete_folder/f?permanent=true', { method: 'DELETE', headers: { ...headers } });
  const jobOf = async () => {
    const { headers } = await remove({ prefer: 'respond-async' });
    return until('the job has ended', async () => {
      const { job } = jsonOf(await send(port, String(headers.location))) as { job: Record<string, unknown> };
      return 'finishedAt' in job ? job : undefined;
    });
  };

  await writeFile(join(root, 'f/other'), 'x');
  const response = await remove();
  assert.deepEqual([response.status, jsonOf(response)], [403, { success: false, code: 'denied', error }]);
  const dav = await send(port, '/-/dav/f/', { method: 'DELETE' });
  assert.deepEqual([dav.status, dav.body.toString().includes('f/sub/immutable')], [403, true]);
  const job = await jobOf();
  assert.deepEqual([job['status'], job['failure']], ['failed', { code: 'denied', error }]);
  assert.deepEqual(await readdir(join(root, 'f'), { recursive: true }), ['sub', 'sub/immutable']);
  const { changes } = jsonOf(await send(port, '/-/changes?since=oldest')) as { changes: { type: string }[] };
  assert.deepEqual([...new Set(changes.map(({ type }) => type))], ['folder.changed']);

  setImmutable('-');
  assert.equal((await jobOf())['status'], 'succeeded');
  assert.deepEqual(await readdir(root), ['.holdall']);
});

it('A file whose names can not be removed: its move fails, and the next attempt completes it', async (t) => {
  const { port, root } = await startInProcess(t);
  for (const name of ['from', 'to']) await mkdir(join(root, name));
  await writeFile(join(root, 'from/a'), 'content');
  const folders = [join(root, 'from'), join(root, 'to')];
  // Folders to which names can only be added.
  const setAppendOnly = (sign: '+' | '-') => execFileSync('chattr', [`${sign}a`, ...folders]);
  setAppendOnly('+');
  atEnd(t, () => setAppendOnly('-'));
  const move = () => postJson(port, '/move', { source: 'from/a', destination: 'to/a', is_folder: false });
  const failed = await move();
  assert.deepEqual([failed.status, jsonOf(failed)['code']], [403, 'denied']);
  assert.deepEqual(await Promise.all(folders.map((folder) => readdir(folder))), [['a'], ['a']]);
  setAppendOnly('-');
  assert.equal((await move()).status, 200);
  assert.deepEqual(await Promise.all(folders.map((folder) => readdir(folder))), [[], ['a']]);
  assert.equal(await readFile(join(root, 'to/a'), 'utf8'), 'content');
});
