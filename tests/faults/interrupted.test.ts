import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { type Holdall, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, assertSuccess, postJson, send } from '../http/client.ts';
import { temporaryFilesOf } from '../process/temporary-files.ts';
import { representatives } from '../representatives.ts';
import { isComplete, plantTree, treeOf } from './trees.ts';

const TREE = treeOf(200);

type Condition = (root: string) => boolean | Promise<boolean>;

const hasTemporaryFiles: Condition = async (root) => (await temporaryFilesOf(root)).files.length > 0;
const manyAreCopied: Condition = async (root) => (await temporaryFilesOf(root)).files.length > 30;

it('recovers from a folder operation that kill -9 interrupts', async (t) => {
  let holdall = await startHoldall(t);
  const { root } = holdall;
  const at = (path: string) => join(root, path);

  /** Starts the service again, which must not find temporary files of interrupted operations. */
  const restart = async () => {
    holdall = await startHoldall(t, { root });
    assert.deepEqual(await temporaryFilesOf(root), { owners: [holdall.pid], files: [] });
  };

  const moments: Record<string, Condition> = {
    'the request was sent': () => true,
    'the parent of the destination is made': () => existsSync(at('the parent of the destination is made')),
  };
  for (const [moment, condition] of representatives(moments, 'the parent of the destination is made')) {
    await t.test(`completes a retried move after a kill when ${moment}`, async () => {
      await plantTree(at('from'), TREE);
      const move = { source: 'from/', destination: `${moment}/to/`, is_folder: true };
      await killWhen(holdall, '/move', move, condition);
      const wasMoved = await isComplete(at(move.destination), TREE);
      assert.ok(
        wasMoved !== (await isComplete(at('from'), TREE)),
        'The folder is complete at exactly one of the two paths.',
      );

      await restart();
      const response = await postJson(holdall.port, '/move', move);
      if (wasMoved) assertFailure(response, 404, 'The folder "from/" does not exist.');
      else assertSuccess(response, { message: 'Item moved successfully' });
      assert.ok(await isComplete(at(move.destination), TREE));
      assert.ok(!existsSync(at('from')));
    });
  }

  await t.test('completes a retried move after a kill during the removal of the replaced folder', async () => {
    await plantTree(at('from'), TREE);
    await plantTree(at('replaced'), treeOf(300));
    const move = { source: 'from', destination: 'replaced', is_folder: true, overwrite: true };
    await killWhen(holdall, '/move', move, hasTemporaryFiles);
    const wasMoved = await isComplete(at('replaced'), TREE);
    assert.ok(wasMoved || (await isComplete(at('from'), TREE)));

    await restart();
    const response = await postJson(holdall.port, '/move', move);
    assert.equal(response.status, wasMoved ? 404 : 200);
    assert.ok(await isComplete(at('replaced'), TREE));
    assert.ok(!existsSync(at('from')));
  });

  await t.test('leaves only copied files after an interrupted copy and completes a retry', async () => {
    await plantTree(at('from'), TREE);
    const copy = { source: 'from', destination: 'copy', is_folder: true };
    await killWhen(holdall, '/copy', copy, manyAreCopied);
    assert.ok(!existsSync(at('copy')), 'An incomplete copy has no name.');

    await restart();
    assertSuccess(await postJson(holdall.port, '/copy', copy), { message: 'Item copied successfully' });
    assert.ok(await isComplete(at('from'), TREE));
    assert.ok(await isComplete(at('copy'), TREE));
  });

  await t.test('removes a folder completely or not at all and keeps its sibling', async () => {
    await plantTree(at('gone'), treeOf(300));
    await plantTree(at('gone too'), TREE);
    await killWhen(holdall, '/delete_folder/gone', {}, hasTemporaryFiles);
    const wasRemoved = !existsSync(at('gone'));
    assert.ok(wasRemoved || (await isComplete(at('gone'), treeOf(300))));

    await restart();
    const { status } = await send(holdall.port, '/delete_folder/gone', { method: 'DELETE' });
    assert.equal(status, wasRemoved ? 404 : 200);
    assert.ok(!existsSync(at('gone')));
    assert.ok(await isComplete(at('gone too'), TREE));
  });
});

/** Sends the request and kills the service when the condition holds, or when the response has arrived. */
async function killWhen(holdall: Holdall, path: string, body: object, condition: Condition): Promise<void> {
  let hasResponse = false;
  const ended = Promise.allSettled([postJson(holdall.port, path, body)]).finally(() => {
    hasResponse = true;
  });
  await until(
    'the condition holds or the response has arrived',
    async () => hasResponse || (await condition(holdall.root)),
  );
  await holdall.kill();
  await ended;
}
