import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { assertSuccess, escapePath, jsonOf, namesIn, postJson, send, treeOf, upload } from '../client.ts';
import { served } from '../service.ts';

describe('Names at each endpoint', () => {
  const service = served(memory);

  it('keeps every file name in uploads, listings, downloads, renames, copies, moves and deletions', async () => {
    const keep = async (name: string, number: number) => {
      const path = `f/${name}/${name}`;
      assert.equal(jsonOf(await upload(service.port, path, name))['path'], path);
      assert.deepEqual(await namesIn(service.port, `f/${name}`), [name]);
      assert.equal((await send(service.port, `/file/${escapePath(path)}`)).body.toString(), name);
      assert.equal((await send(service.port, `/file/${escapePath(path)}`, { method: 'HEAD' })).status, 200, name);

      const away = await postJson(service.port, `/rename/${escapePath(path)}`, { newName: `r${number}` });
      assertSuccess(away, { message: 'File renamed successfully', newKey: `f/${name}/r${number}` });
      const back = await postJson(service.port, `/rename/${escapePath(`f/${name}/r${number}`)}`, { newName: name });
      assertSuccess(back, { message: 'File renamed successfully', newKey: path });

      const copy = `copies/${number}/${name}`;
      const copied = await postJson(service.port, '/copy', { source: path, destination: copy, is_folder: false });
      assertSuccess(copied, { message: 'Item copied successfully' });
      const moved = await postJson(service.port, '/move', {
        source: copy,
        destination: `moved/${number}/${name}`,
        is_folder: false,
      });
      assertSuccess(moved, { message: 'Item moved successfully' });
      assert.deepEqual(await namesIn(service.port, `moved/${number}`), [name]);
      assert.equal((await send(service.port, `/file/moved/${number}/${escapePath(name)}`)).body.toString(), name);
      const deleted = await send(service.port, `/delete/moved/${number}/${escapePath(name)}`, { method: 'DELETE' });
      assertSuccess(deleted, { message: 'File deleted successfully' });
      assert.deepEqual(await namesIn(service.port, `moved/${number}`), []);
    };
    await Promise.all(NAMES.map(keep));
    assert.deepEqual(await namesIn(service.port, 'f'), byBytes(NAMES.map((name) => `${name}/`)));
  });

  it('keeps every folder name in creations, listings, renames, copies, moves and deletions', async () => {
    const keep = async (name: string, number: number) => {
      assertSuccess(await postJson(service.port, '/create_folder', { path: `g/${name}` }), {
        message: 'Folder created successfully',
      });
      await upload(service.port, `g/${name}/in`, name);
      const byPath = jsonOf(await send(service.port, `/g/${escapePath(name)}`));
      const byQuery = jsonOf(await send(service.port, `/?prefix=${encodeURIComponent(`g/${name}`)}`));
      assert.equal(byPath['prefix'], `g/${name}/`);
      assert.deepEqual(byQuery, byPath);

      const away = await postJson(service.port, `/rename_folder/g/${escapePath(name)}`, { newName: `r${number}` });
      assertSuccess(away, { message: 'Folder renamed successfully', newPrefix: `g/r${number}/` });
      const back = await postJson(service.port, `/rename_folder/g/r${number}/`, { newName: name });
      assertSuccess(back, { message: 'Folder renamed successfully', newPrefix: `g/${name}/` });

      const copy = { source: `g/${name}/`, destination: `copies/${number}/${name}`, is_folder: true };
      assertSuccess(await postJson(service.port, '/copy', copy), { message: 'Item copied successfully' });
      const move = { source: `copies/${number}/${name}`, destination: `moved/${number}/${name}/`, is_folder: true };
      assertSuccess(await postJson(service.port, '/move', move), { message: 'Item moved successfully' });
      assert.deepEqual(await treeOf(service.port, `moved/${number}`), {
        [`moved/${number}/${name}/`]: null,
        [`moved/${number}/${name}/in`]: name,
      });
      const deleted = await send(service.port, `/delete_folder/moved/${number}/${escapePath(name)}/`, {
        method: 'DELETE',
      });
      assertSuccess(deleted, { message: 'Folder deleted successfully' });
      assert.deepEqual(await namesIn(service.port, `moved/${number}`), []);
    };
    await Promise.all(NAMES.map(keep));
    assert.deepEqual(await namesIn(service.port, 'g'), byBytes(NAMES.map((name) => `${name}/`)));
  });
});

const byBytes = (names: readonly string[]) =>
  names.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
