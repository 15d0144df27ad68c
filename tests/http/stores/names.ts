import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { assertFailure, assertSuccess, escapePath, jsonOf, postJson, send, treeOf, upload } from '../client.ts';
import { startService, type TestService } from '../service.ts';
import { segmentsOf } from '../wrong-paths.ts';

/** That names come back unchanged from every endpoint, and that what is no path is refused by every one. */
export function namesSuite(backend: Backend): void {
  describe(`Names over HTTP: ${backend.name}`, () => {
    let service: TestService;
    let port: number;

    beforeEach(async () => {
      service = await startService(backend);
      ({ port } = service);
    });
    afterEach(() => service.stop());

    it('keeps every file name in uploads, listings, downloads, renames, copies, moves and deletions', async () => {
      const keep = async (name: string, number: number) => {
        const path = `f/${name}/${name}`;
        assert.equal(jsonOf(await upload(port, path, name))['path'], path);
        assert.deepEqual(await namesIn(port, `f/${name}`), [name]);
        assert.equal((await send(port, `/file/${escapePath(path)}`)).body.toString(), name);
        assert.equal((await send(port, `/file/${escapePath(path)}`, { method: 'HEAD' })).status, 200, name);

        const away = await postJson(port, `/rename/${escapePath(path)}`, { newName: `r${number}` });
        assertSuccess(away, { message: 'File renamed successfully', newKey: `f/${name}/r${number}` });
        const back = await postJson(port, `/rename/${escapePath(`f/${name}/r${number}`)}`, { newName: name });
        assertSuccess(back, { message: 'File renamed successfully', newKey: path });

        const copy = `copies/${number}/${name}`;
        const copied = await postJson(port, '/copy', { source: path, destination: copy, is_folder: false });
        assertSuccess(copied, { message: 'Item copied successfully' });
        const moved = await postJson(port, '/move', {
          source: copy,
          destination: `moved/${number}/${name}`,
          is_folder: false,
        });
        assertSuccess(moved, { message: 'Item moved successfully' });
        assert.deepEqual(await namesIn(port, `moved/${number}`), [name]);
        assert.equal((await send(port, `/file/moved/${number}/${escapePath(name)}`)).body.toString(), name);
        const deleted = await send(port, `/delete/moved/${number}/${escapePath(name)}`, { method: 'DELETE' });
        assertSuccess(deleted, { message: 'File deleted successfully' });
        if (backend.lacks['emptied-folders'])
          assertFailure(await send(port, `/moved/${number}`), 404, `There is no folder "moved/${number}/".`);
        else assert.deepEqual(await namesIn(port, `moved/${number}`), []);
      };
      await Promise.all(NAMES.map(keep));
      assert.deepEqual(await namesIn(port, 'f'), byBytes(NAMES.map((name) => `${name}/`)));
    });

    it('keeps every folder name in creations, listings, renames, copies, moves and deletions', async () => {
      const keep = async (name: string, number: number) => {
        assertSuccess(await postJson(port, '/create_folder', { path: `f/${name}` }), {
          message: 'Folder created successfully',
        });
        await upload(port, `f/${name}/in`, name);
        const byPath = jsonOf(await send(port, `/f/${escapePath(name)}`));
        const byQuery = jsonOf(await send(port, `/?prefix=${encodeURIComponent(`f/${name}`)}`));
        assert.equal(byPath['prefix'], `f/${name}/`);
        assert.deepEqual(byQuery, byPath);

        const away = await postJson(port, `/rename_folder/f/${escapePath(name)}`, { newName: `r${number}` });
        assertSuccess(away, { message: 'Folder renamed successfully', newPrefix: `f/r${number}/` });
        const back = await postJson(port, `/rename_folder/f/r${number}/`, { newName: name });
        assertSuccess(back, { message: 'Folder renamed successfully', newPrefix: `f/${name}/` });

        const copy = { source: `f/${name}/`, destination: `copies/${number}/${name}`, is_folder: true };
        assertSuccess(await postJson(port, '/copy', copy), { message: 'Item copied successfully' });
        const move = { source: `copies/${number}/${name}`, destination: `moved/${number}/${name}/`, is_folder: true };
        assertSuccess(await postJson(port, '/move', move), { message: 'Item moved successfully' });
        assert.deepEqual(await treeOf(port, `moved/${number}`), {
          [`moved/${number}/${name}/`]: null,
          [`moved/${number}/${name}/in`]: name,
        });
        const deleted = await send(port, `/delete_folder/moved/${number}/${escapePath(name)}/`, { method: 'DELETE' });
        assertSuccess(deleted, { message: 'Folder deleted successfully' });
        if (backend.lacks['emptied-folders'])
          assertFailure(await send(port, `/moved/${number}`), 404, `There is no folder "moved/${number}/".`);
        else assert.deepEqual(await namesIn(port, `moved/${number}`), []);
      };
      await Promise.all(NAMES.map(keep));
      assert.deepEqual(await namesIn(port, 'f'), byBytes(NAMES.map((name) => `${name}/`)));
    });

    it('compares names by bytes, without trimming, case folding or normalization', async () => {
      const alike = ['a', 'A', ' a', 'a ', 'a.', '\u00e9', 'e\u0301', '\ufb01', 'fi', 'a\u200b', '\u00a0a'];
      for (const name of alike) await upload(port, name, `that of ${name}`);
      assert.deepEqual(await treeOf(port), Object.fromEntries(alike.map((name) => [name, `that of ${name}`])));
    });

    it('accepts a path of 1,024 bytes everywhere, including the slash of a folder', async () => {
      const longest = segmentsOf(1024);
      const slash = longest.lastIndexOf('/');
      await upload(port, longest, 'x');
      assert.equal((await send(port, `/file/${longest}`)).body.toString(), 'x');
      const renamed = await postJson(port, `/rename/${longest}`, { newName: 'z'.repeat(1023 - slash) });
      assert.equal(renamed.status, 200, renamed.body.toString());
      const other = `${longest.slice(0, slash + 1)}${'z'.repeat(1023 - slash)}`;
      const moved = await postJson(port, '/move', { source: other, destination: longest, is_folder: false });
      assertSuccess(moved, { message: 'Item moved successfully' });
      assert.deepEqual(await namesIn(port, longest.slice(0, slash)), [longest.slice(slash + 1)]);
      assert.equal((await send(port, `/delete/${longest}`, { method: 'DELETE' })).status, 200);

      assert.equal((await postJson(port, '/create_folder', { path: segmentsOf(1023) })).status, 200);
      assert.equal((await postJson(port, '/create_folder', { path: `${segmentsOf(1022)}z/` })).status, 200);
      assertFailure(await postJson(port, '/create_folder', { path: longest }), 400, /1025 bytes/);
    });
  });
}

async function namesIn(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/${escapePath(folder)}`)) as { entries: { path: string }[] };
  return entries.map(({ path }) => path.slice(folder.length + 1));
}

const byBytes = (names: readonly string[]) =>
  names.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
