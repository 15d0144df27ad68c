import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, assertSuccess, postForm, postJson, send, upload } from '../http/client.ts';

it('returns 503 while the root is unmounted and stores nothing at the mount point', async (t) => {
  const { port, root } = await startInProcess(t);
  await upload(port, 'a/kept', 'kept');
  // Like the empty folder on which a file system was mounted.
  const away = `${root}-away`;
  await rename(root, away);
  atEnd(t, () => rm(away, { recursive: true, force: true }));
  await mkdir(root);

  const json = { source: 'a/kept', destination: 'copy', is_folder: false };
  // Concurrent, because the service retries some for a moment.
  const responses = await Promise.all([
    send(port, '/-/health/ready'),
    send(port, '/'),
    send(port, '/a'),
    send(port, '/file/a/kept'),
    send(port, '/file/another'),
    postForm(port, [FILE]),
    postForm(port, [{ name: 'prefix', value: 'b' }, FILE]),
    postJson(port, '/create_folder', { path: 'made/deep' }),
    postJson(port, '/copy', json),
    send(port, '/delete/a/kept', { method: 'DELETE' }),
    send(port, '/delete_folder/a', { method: 'DELETE' }),
  ]);
  for (const response of responses) assertFailure(response, 503, /was replaced since the start/);
  assert.deepEqual(await readdir(root), [], 'Nothing of the service’s own is made there either.');

  await rm(root, { recursive: true });
  await rename(away, root);
  await until('the root is available again', async () => (await send(port, '/-/health/ready')).status === 200);
  assert.equal((await send(port, '/file/a/kept')).body.toString(), 'kept');
  assertSuccess(await upload(port, 'b/new', 'new'), { message: 'File uploaded successfully', path: 'b/new' });
});

const FILE = { name: 'file', filename: 'new', value: 'new' };
