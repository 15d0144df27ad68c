import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { isError, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { jsonOf, postForm, postJson, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['strace'];

const OLD = ['f/copied', 'f/deleted', 'f/moved', 'f/renamed', 'f/folder/file', 'f/trashed/file', 'f/gone/file'];

it('Changes that the disk can not confirm return 503 and are in the change log', async (t) => {
  const root = await temporaryFolder(t);
  for (const path of OLD) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), path);
  }
  await mkdir(join(root, 'other'));
  // The kernel confirms no change of names in this folder: each fsync(2) of it fails.
  const inject = ['-P', join(root, 'f'), '-e', 'trace=fsync', '-e', 'inject=fsync:error=EIO'];
  const output = join(await temporaryFolder(t), 'calls');
  const command = ['strace', '-f', '-qq', '-o', output, ...inject, process.execPath] as const;
  const { port, log } = await startHoldall(t, { root, command: [...command] });

  const transfer = (source: string, destination: string, is_folder = false) => ({ source, destination, is_folder });
  const remove = (url: string) => send(port, url, { method: 'DELETE' });
  const changes: Record<string, { readonly send: () => ReturnType<typeof send>; readonly done: readonly string[] }> = {
    upload: {
      send: () =>
        postForm(port, [
          { name: 'prefix', value: 'f/' },
          { name: 'file', filename: 'new', value: 'new' },
        ]),
      done: ['new'],
    },
    copy: { send: () => postJson(port, '/copy', transfer('f/copied', 'f/copy')), done: ['copied', 'copy'] },
    rename: { send: () => postJson(port, '/rename/f/renamed', { newName: 'another' }), done: ['another'] },
    move: { send: () => postJson(port, '/move', transfer('f/moved', 'other/moved')), done: [] },
    'a new folder': { send: () => postJson(port, '/create_folder', { path: 'f/made' }), done: ['made'] },
    'a move of a folder': { send: () => postJson(port, '/move', transfer('f/folder', 'other/folder', true)), done: [] },
    'a delete': { send: () => remove('/delete/f/deleted'), done: [] },
    'a delete of a folder': { send: () => remove('/delete_folder/f/trashed'), done: [] },
    'a permanent delete': { send: () => remove('/delete_folder/f/gone?permanent=true'), done: [] },
  };
  let seen = 0;
  const recorded = async () => {
    const page = jsonOf(await send(port, '/-/changes?since=oldest')) as { changes: { type: string; path: string }[] };
    const added = page.changes.slice(seen);
    seen = page.changes.length;
    return added;
  };
  for (const [name, change] of Object.entries(changes)) {
    const response = await change.send();
    const { code } = jsonOf(response);
    assert.deepEqual([response.status, code], [503, 'outcome-unknown'], `${name}: ${response.body.toString()}`);
    const added = await recorded();
    assert.ok(added.length > 0, `${name} is in the change log`);
    assert.ok(
      added.every(
        ({ type, path }) => type === 'folder.changed' && ['f/', 'other/'].some((folder) => path.startsWith(folder)),
      ),
      `${name}: ${JSON.stringify(added)}`,
    );
  }
  const done = Object.values(changes).flatMap((change) => change.done);
  assert.deepEqual((await readdir(join(root, 'f'))).toSorted(), done.toSorted());
  assert.deepEqual((await readdir(join(root, 'other'))).toSorted(), ['folder', 'moved']);
  assert.deepEqual(
    log.filter((line) => isError(line) && Number(line['status']) !== 503),
    [],
  );
});
