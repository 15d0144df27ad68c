import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { postForm } from '../http/client.ts';

it('gives new files and folders the permissions that UMASK leaves, and keeps its own folder private', async (t) => {
  const { port, root } = await startHoldall(t, { settings: { UMASK: '007' } });
  const { status } = await postForm(port, [
    { name: 'prefix', value: 'f/' },
    { name: 'file', filename: 'a', value: 'x' },
  ]);
  assert.equal(status, 200);
  const modeOf = async (path: string) => ((await stat(join(root, path))).mode & 0o777).toString(8);
  assert.deepEqual(await Promise.all(['f', 'f/a', '.holdall'].map(modeOf)), ['770', '660', '700']);
});
