import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, assertSuccess, postJson, send } from '../http/client.ts';
import { temporaryFilesOf } from '../process/temporary-files.ts';
import { isComplete, plantTree, treeOf } from './trees.ts';

const TREE = treeOf(120);
const LARGER_TREE = treeOf(160);

const MOVE = { source: 'from/', destination: 'new/to/', is_folder: true };
const REPLACEMENT = { source: 'replacing', destination: 'replaced', is_folder: true, overwrite: true };
const COPY = { source: 'copied', destination: 'copy', is_folder: true };

// tests/faults/power-loss.test.ts checks the disk after each system call of such operations.
it('recovers from folder operations that kill -9 interrupts', async (t) => {
  const killed = await startHoldall(t);
  const { root } = killed;
  const at = (path: string) => join(root, path);
  for (const folder of ['from', 'replacing', 'copied', 'gone too']) await plantTree(at(folder), TREE);
  for (const folder of ['replaced', 'gone']) await plantTree(at(folder), LARGER_TREE);

  const requests = Promise.allSettled([
    postJson(killed.port, '/copy', COPY),
    postJson(killed.port, '/move', MOVE),
    postJson(killed.port, '/move', REPLACEMENT),
    send(killed.port, '/delete_folder/gone?permanent=true', { method: 'DELETE' }),
  ]);
  let haveEnded = false;
  void requests.finally(() => {
    haveEnded = true;
  });
  await until(
    'some files are copied, or the requests have ended',
    async () => haveEnded || (await temporaryFilesOf(root)).files.length > 30,
  );
  await killed.kill();
  await requests;

  const wasMoved = await isComplete(at('new/to'), TREE);
  assert.ok(wasMoved !== (await isComplete(at('from'), TREE)), 'It is complete at exactly one of the two paths.');
  const wasReplaced = await isComplete(at('replaced'), TREE);
  assert.ok(wasReplaced || (await isComplete(at('replacing'), TREE)));
  const wasCopied = existsSync(at('copy'));
  assert.equal(await isComplete(at('copy'), TREE), wasCopied, 'An incomplete copy has no name.');
  const wasRemoved = !existsSync(at('gone'));
  assert.ok(wasRemoved || (await isComplete(at('gone'), LARGER_TREE)));

  const { port } = await startInProcess(t, { root });
  assert.deepEqual(await temporaryFilesOf(root), { owners: [process.pid], files: [] });
  const moved = await postJson(port, '/move', MOVE);
  if (wasMoved) assertFailure(moved, 404, 'The folder "from/" does not exist.');
  else assertSuccess(moved, { message: 'Item moved successfully' });
  assert.equal((await postJson(port, '/move', REPLACEMENT)).status, wasReplaced ? 404 : 200);
  assert.equal((await postJson(port, '/copy', COPY)).status, wasCopied ? 409 : 200);
  const removed = await send(port, '/delete_folder/gone?permanent=true', { method: 'DELETE' });
  assert.equal(removed.status, wasRemoved ? 404 : 200);
  for (const folder of ['new/to', 'replaced', 'copied', 'copy', 'gone too']) {
    assert.ok(await isComplete(at(folder), TREE), folder);
  }
  for (const folder of ['from', 'replacing', 'gone']) assert.ok(!existsSync(at(folder)), folder);
});
