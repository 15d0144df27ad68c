import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { assertFailure, assertSuccess, namesIn, plant, postJson, send, treeOf, upload } from '../client.ts';
import { servedEmpty } from '../service.ts';
import { maxPathBytesOf, segmentsOf } from '../wrong-paths.ts';

/** Tests that names stay unchanged. `protocol/names.test.ts` tests each endpoint with each name. */
export function namesSuite(): void {
  describe('Names over HTTP', () => {
    const service = servedEmpty(memory);
    let port: number;

    beforeEach(() => {
      ({ port } = service);
    });

    it('keeps every name of files and folders in uploads, listings, downloads and folder operations', async () => {
      const named = (folder: string) =>
        Object.fromEntries(
          NAMES.flatMap((name) => [
            [`${folder}/${name}/`, null],
            [`${folder}/files/${name}`, name],
          ]),
        );
      await plant(port, named('a'));
      assert.deepEqual(await namesIn(port, 'a'), byBytes(['files/', ...NAMES.map((name) => `${name}/`)]));
      assertSuccess(await postJson(port, '/copy', { source: 'a', destination: 'b', is_folder: true }), COPIED);
      assertSuccess(await postJson(port, '/move', { source: 'b', destination: 'c', is_folder: true }), MOVED);
      assertSuccess(await send(port, '/delete_folder/a', { method: 'DELETE' }), DELETED);
      assert.deepEqual(await treeOf(port), { 'c/': null, 'c/files/': null, ...named('c') });
    });

    it('compares names by bytes, without trimming, case folding or normalization', async () => {
      const alike = ['a', 'A', ' a', 'a ', 'a.', '\u00e9', 'e\u0301', '\ufb01', 'fi', 'a\u200b', '\u00a0a'];
      for (const name of alike) await upload(port, name, `that of ${name}`);
      assert.deepEqual(await treeOf(port), Object.fromEntries(alike.map((name) => [name, `that of ${name}`])));
    });

    it('accepts a path up to the limit everywhere, including the slash of a folder', async () => {
      const limit = await maxPathBytesOf(port);
      const longest = segmentsOf(limit);
      const slash = longest.lastIndexOf('/');
      await upload(port, longest, 'x');
      assert.equal((await send(port, `/file/${longest}`)).body.toString(), 'x');
      const renamed = await postJson(port, `/rename/${longest}`, { newName: 'z'.repeat(limit - 1 - slash) });
      assert.equal(renamed.status, 200, renamed.body.toString());
      const other = `${longest.slice(0, slash + 1)}${'z'.repeat(limit - 1 - slash)}`;
      const moved = await postJson(port, '/move', { source: other, destination: longest, is_folder: false });
      assertSuccess(moved, { message: 'Item moved successfully' });
      assert.deepEqual(await namesIn(port, longest.slice(0, slash)), [longest.slice(slash + 1)]);
      assert.equal((await send(port, `/delete/${longest}`, { method: 'DELETE' })).status, 200);

      assert.equal((await postJson(port, '/create_folder', { path: segmentsOf(limit - 1) })).status, 200);
      assert.equal((await postJson(port, '/create_folder', { path: `${segmentsOf(limit - 2)}z/` })).status, 200);
      assertFailure(await postJson(port, '/create_folder', { path: longest }), 400, new RegExp(`${limit + 1} bytes`));
    });
  });
}

const COPIED = { message: 'Item copied successfully' };
const MOVED = { message: 'Item moved successfully' };
const DELETED = { message: 'Folder deleted successfully' };

const byBytes = (names: readonly string[]) =>
  names.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
