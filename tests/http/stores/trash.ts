import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { before, describe, it } from 'node:test';
import { newKeptId } from '../../../src/model/kept-ids.ts';
import { parseFile } from '../../../src/model/path.ts';
import { type Backend, memory, testsOf } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  escapePath,
  type HttpResponse,
  jsonOf,
  plant,
  postJson,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { servedEmpty, startService } from '../service.ts';

interface TrashEntry {
  readonly id: string;
  readonly type: string;
  readonly path: string;
  readonly size?: number;
  readonly deletedAt: string;
}

interface TrashPage {
  readonly entries: readonly TrashEntry[];
  readonly cursor?: string;
}

const RESTORED = { message: 'Item restored successfully' };

/** Ids that no store has issued: some would name other files if they were part of a path. */
const HOSTILE_IDS = ['..', '.', '../a.txt', 'a/b', 'a\\b', '.json', '\u0000', 'ä', ' ', 'x'.repeat(2000), '%2e%2e%2f'];

/** Deletes to the trash, restores and permanent deletes. */
export function trashSuite(): void {
  describe('The trash over HTTP', () => {
    const service = servedEmpty(memory);
    let port: number;
    before(() => ({ port } = service));

    const trash = async (query = ''): Promise<TrashPage> => {
      const response = await send(port, `/-/trash${query}`);
      assert.equal(response.status, 200, response.body.toString());
      return jsonOf(response) as unknown as TrashPage;
    };
    const pathsInTrash = async (query = '') => (await trash(query)).entries.map(({ path }) => path);
    const remove = async (path: string, query = '') => {
      const route = path.endsWith('/') ? '/delete_folder/' : '/delete/';
      const response = await send(port, `${route}${escapePath(path)}${query}`, { method: 'DELETE' });
      assert.equal(response.status, 200, response.body.toString());
    };
    const idOf = async (path: string): Promise<string> =>
      (await trash()).entries.find((entry) => entry.path === path)?.id ?? assert.fail(`${path} is not in the trash`);
    const restore = async (path: string, body: object = {}): Promise<HttpResponse> =>
      postJson(port, `/-/trash/${await idOf(path)}/restore`, body);

    it('lists a deleted file, and restores it with the same bytes', async () => {
      await plant(port, { 'f/ä b%.txt': 'text', 'f/c': 'x' });
      const started = Date.now();
      await remove('f/ä b%.txt');
      assert.deepEqual(await treeOf(port), { 'f/': null, 'f/c': 'x' });
      const [entry, ...others] = (await trash()).entries;
      assert.ok(entry);
      const { id, deletedAt, ...rest } = entry;
      assert.deepEqual([rest, others], [{ type: 'file', path: 'f/ä b%.txt', size: 4 }, []]);
      assert.ok(Math.abs(Date.parse(deletedAt) - started) < 60_000, deletedAt);
      const response = await send(port, `/-/trash/${id}/restore`, { method: 'POST' });
      assertSuccess(response, { ...RESTORED, path: 'f/ä b%.txt' });
      assert.deepEqual(await treeOf(port), { 'f/': null, 'f/c': 'x', 'f/ä b%.txt': 'text' });
      assert.deepEqual(await pathsInTrash(), []);
      assertFailure(await send(port, `/-/trash/${id}/restore`, { method: 'POST' }), 404, /^The trash has no item/);
    });

    it('restores a folder with everything in it, and creates its parents', async () => {
      const tree = { 'a/': null, 'a/b/': null, 'a/b/c/': null, 'a/b/c/1': 'one', 'a/b/empty/': null };
      await plant(port, tree);
      await remove('a/b/');
      await remove('a/');
      assertSuccess(await restore('a/b/'), { ...RESTORED, path: 'a/b/' });
      assert.deepEqual(await treeOf(port), tree);
      assert.deepEqual(await pathsInTrash(), ['a/']);
    });

    it('deletes permanently with ?permanent=true, and with all versions', async () => {
      await plant(port, { a: 'old', 'f/b': 'old' });
      await plant(port, { a: 'new', 'f/b': 'new' });
      await remove('a', '?permanent=true');
      await remove('f/', '?permanent=true');
      assert.deepEqual([await treeOf(port), await pathsInTrash()], [{}, []]);
      for (const path of ['a', 'f/b']) {
        assertSuccess(await send(port, `/-/versions/${path}`), { versions: [] });
      }
      await plant(port, { c: '1' });
      assertFailure(
        await send(port, '/delete/c?permanent=yes', { method: 'DELETE' }),
        400,
        'The field "permanent" of the query must be boolean, but is "yes".',
      );
      await remove('c', '?permanent=false');
      assert.deepEqual(await pathsInTrash(), ['c']);
    });

    it('returns 409 for a taken name, or chooses a numbered name with "onConflict": "rename"', async () => {
      await plant(port, { 'a.tar.gz': 'old', 'f/1': 'old' });
      await remove('a.tar.gz');
      await remove('f/');
      const present = { 'a (2).tar.gz': '2', 'a.tar.gz': 'new', 'f/': null, 'f/2': 'new' };
      await plant(port, present);
      const hint = 'Set "onConflict": "rename" to restore it with another name.';
      assertFailure(await restore('a.tar.gz'), 409, `The file "a.tar.gz" already exists. ${hint}`);
      assertFailure(await restore('f/', { onConflict: 'fail' }), 409, `The folder "f/" already exists. ${hint}`);
      assert.deepEqual(await treeOf(port), present);
      const rename = { onConflict: 'rename' };
      assertSuccess(await restore('a.tar.gz', rename), { ...RESTORED, path: 'a (3).tar.gz' });
      assertSuccess(await restore('f/', rename), { ...RESTORED, path: 'f (2)/' });
      assert.deepEqual(await treeOf(port), {
        'a (2).tar.gz': '2',
        'a (3).tar.gz': 'old',
        'a.tar.gz': 'new',
        'f (2)/': null,
        'f (2)/1': 'old',
        'f/': null,
        'f/2': 'new',
      });
    });

    it('restores to another path, which must have the kind of the item', async () => {
      await plant(port, { a: '1', 'f/b': '2' });
      await remove('a');
      await remove('f/');
      assertFailure(await restore('a', { to: 'x/' }), 400, /empty segment/);
      assertFailure(
        await restore('f/', { to: '' }),
        400,
        "The root can't be the destination. Name the restored folder.",
      );
      assertFailure(await restore('a', { to: '../a' }), 400, /has the segment "\.\."/);
      assertFailure(await restore('a', { onConflict: 'overwrite' }), 400, /must be "fail" or "rename"/);
      assertSuccess(await restore('a', { to: '/x/y/A' }), { ...RESTORED, path: 'x/y/A' });
      assertSuccess(await restore('f/', { to: 'x/F' }), { ...RESTORED, path: 'x/F/' });
      assert.deepEqual(await treeOf(port), { 'x/': null, 'x/F/': null, 'x/F/b': '2', 'x/y/': null, 'x/y/A': '1' });
    });

    it('returns 409 where a parent is now a file, and chooses another name where the other kind has the name', async () => {
      await plant(port, { 'f/a': '1', 'f/b': '2', 'g/': null });
      await remove('f/a');
      await remove('f/');
      await remove('g/');
      await plant(port, { f: 'file', g: 'file', 'x/': null });
      const rename = { onConflict: 'rename' };
      for (const body of [{}, rename]) assertFailure(await restore('f/a', body), 409, /"f"/);
      assertFailure(await restore('g/'), 409, /"g"/);
      assertSuccess(await restore('g/', rename), { ...RESTORED, path: 'g (2)/' });
      assertSuccess(await restore('f/a', { ...rename, to: 'x' }), { ...RESTORED, path: 'x (2)' });
    });

    it('lists only items from a folder, at any depth', async () => {
      await plant(port, { 'a/1': '1', 'a/b/2': '2', 'ab/3': '3', 4: '4' });
      for (const path of ['a/1', 'a/b/2', 'ab/3', '4']) await remove(path);
      assert.deepEqual(await pathsInTrash('?folder=a'), ['a/b/2', 'a/1']);
      assert.deepEqual(await pathsInTrash('?folder=/a/b/'), ['a/b/2']);
      assert.deepEqual(await pathsInTrash('?folder=missing'), []);
      assertFailure(await send(port, '/-/trash?folder=a//b'), 400, /empty segment/);
    });

    it('lists in pages, which items that come and go do not shift', async () => {
      const names = Array.from({ length: 7 }, (_, index) => `f/${index}`);
      await plant(port, Object.fromEntries([...names, 'other'].map((name) => [name, name])));
      for (const name of names) {
        await remove(name);
        if (name === 'f/3') await remove('other');
      }
      const found: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await trash(`?folder=f&limit=2${cursor}`);
        found.push(...page.entries.map(({ path }) => path));
        if (page.cursor === undefined) break;
        cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
        const [first] = page.entries;
        if (first) await send(port, `/-/trash/${first.id}`, { method: 'DELETE' });
        await upload(port, 'late', 'late');
        await remove('late');
      }
      assert.deepEqual(found, names.toReversed());
      assertFailure(await send(port, '/-/trash?cursor=../x'), 400, /cursor/);
      assertFailure(await send(port, '/-/trash?limit=0'), 400, /"limit"/);
    });

    it('deletes one item, or all items from a folder, permanently', async () => {
      await plant(port, { 'a/1': '1', 'a/2': '2', 'b/3': '3', 4: '4' });
      for (const path of ['a/1', 'a/2', 'b/', '4']) await remove(path);
      const id = await idOf('4');
      const gone = { message: 'Item deleted permanently' };
      assertSuccess(await send(port, `/-/trash/${id}`, { method: 'DELETE' }), gone);
      assertFailure(await send(port, `/-/trash/${id}`, { method: 'DELETE' }), 404, /^The trash has no item/);
      const empty = { message: 'Trash emptied successfully' };
      assertFailure(await send(port, '/-/trash?foldr=a', { method: 'DELETE' }), 400, /unknown field "foldr"/);
      assertFailure(await send(port, '/-/trash?folder=', { method: 'DELETE' }), 400, /"folder"/);
      assertSuccess(await send(port, '/-/trash?folder=a', { method: 'DELETE' }), { ...empty, removed: 2 });
      assert.deepEqual(await pathsInTrash(), ['b/']);
      assertSuccess(await send(port, '/-/trash', { method: 'DELETE' }), { ...empty, removed: 1 });
      assertSuccess(await send(port, '/-/trash', { method: 'DELETE' }), { ...empty, removed: 0 });
      assert.deepEqual(await treeOf(port), { 'a/': null });
    });

    it('reports progress for clients that accept it', async () => {
      await plant(port, { 'a/1': '1', b: '2' });
      await remove('a/');
      await remove('b');
      const headers = { accept: 'application/x-ndjson', 'content-type': 'application/json' };
      const lastLineOf = ({ body }: HttpResponse) => JSON.parse(body.toString().trimEnd().split('\n').at(-1) ?? '');
      const restored = await send(port, `/-/trash/${await idOf('a/')}/restore`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      assert.deepEqual(lastLineOf(restored), { success: true, ...RESTORED, path: 'a/', status: 200 });
      const lines = await send(port, '/-/trash', { method: 'DELETE', headers });
      const result = { success: true, message: 'Trash emptied successfully', removed: 1, status: 200 };
      assert.deepEqual(lastLineOf(lines), result);
    });

    it('returns 404 for unknown ids and 400 for ids that no store can issue', async () => {
      for (const id of [newKeptId(), 'a', '_', `${newKeptId()}.json`]) {
        for (const [path, method] of [
          [id, 'DELETE'],
          [`${id}/restore`, 'POST'],
        ] as const) {
          assertFailure(await send(port, `/-/trash/${path}`, { method }), 404, `The trash has no item "${id}".`);
        }
      }
      for (const id of HOSTILE_IDS) {
        const { status, body } = await send(port, `/-/trash/${encodeURIComponent(id)}/restore`, { method: 'POST' });
        assert.ok(status >= 400 && status < 500, `${id}: ${status} ${body.toString()}`);
        assert.equal((await send(port, `/-/trash/${encodeURIComponent(id)}`, { method: 'DELETE' })).status, status);
      }
    });

    it('keeps a folder that a copy or a move replaces', async () => {
      await plant(port, { 'a/1': 'a', 'b/2': 'b', 'c/3': 'c' });
      const transfer = { is_folder: true, overwrite: true };
      assert.equal((await postJson(port, '/copy', { ...transfer, source: 'a', destination: 'b' })).status, 200);
      assert.equal((await postJson(port, '/move', { ...transfer, source: 'a', destination: 'c' })).status, 200);
      assert.deepEqual(await treeOf(port), { 'b/': null, 'b/1': 'a', 'c/': null, 'c/1': 'a' });
      assert.deepEqual(await pathsInTrash(), ['c/', 'b/']);
      assertSuccess(await restore('b/', { to: 'd' }), { ...RESTORED, path: 'd/' });
      assert.deepEqual(await treeOf(port, 'd/'), { 'd/2': 'b' });
    });
  });
}

/** Tests a service whose trash is off, or whose store has none. */
export function withoutTrashSuite(backend: Backend): void {
  describe(`Without a trash: ${backend.name}`, () => {
    it('deletes at once, and keeps what is in the trash already', async (context) => {
      const service = await startService(backend, { retention: { trash: false, versions: false } });
      context.after(() => service.stop());
      const { port } = service;
      await plant(port, { a: '1', 'f/b': '2' });
      assert.equal((await send(port, '/delete/a', { method: 'DELETE' })).status, 200);
      assert.equal((await send(port, '/delete_folder/f', { method: 'DELETE' })).status, 200);
      assert.deepEqual(await treeOf(port), {});
      const list = await send(port, '/-/trash');
      if (service.store.moveToTrash) assertSuccess(list, { entries: [] });
      else assertFailure(list, 501, 'The store has no trash. Deletes are permanent.');
    });

    testsOf(backend)(
      ['moveToTrash', 'listVersions'],
      'keeps earlier items until a user deletes them permanently',
      async (context) => {
        const service = await startService(backend, { retention: { trash: false, versions: false } });
        context.after(() => service.stop());
        const { port, store } = service;
        assert.ok(store.moveToTrash && store.listVersions);
        await plant(port, { a: 'old', 'f/b': '1' });
        const newContent = { body: Readable.from([Buffer.from('new')]), type: 'text/plain' };
        await store.write(parseFile('a'), newContent, { keep: {} });
        await store.moveToTrash(parseFile('f/b'), { id: newKeptId() });
        const versionsOf = async () => (jsonOf(await send(port, '/-/versions/a')) as { versions: object[] }).versions;
        assert.equal((await send(port, '/delete/a', { method: 'DELETE' })).status, 200);
        assert.equal((await versionsOf()).length, 1);
        const response = await send(port, '/delete/a?permanent=true', { method: 'DELETE' });
        assertFailure(response, 404, 'The file "a" does not exist.');
        assert.deepEqual(await versionsOf(), []);
        assertSuccess(await send(port, '/-/trash', { method: 'DELETE' }), {
          message: 'Trash emptied successfully',
          removed: 1,
        });
      },
    );
  });
}
