import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { parseFolder } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { disk, memory } from '../contract/backend.ts';
import { jsonOf, send } from './client.ts';

const ALL = grant('', PERMISSIONS);

/** Buckets and branches have no identities: only the changes of Holdall tell what became of an item. */
function withoutIdentities(store: Store): Store {
  const { identify: _, ...others } = store;
  return others;
}

for (const [name, backend, wrap] of [
  ['disk', disk, undefined],
  ['memory', memory, undefined],
  ['a store without identities', memory, withoutIdentities],
] as const) {
  describe(`A share link and its item: ${name}`, () => {
    let service: GuardedService;
    before(async () => {
      service = await startGuardedService(backend, { hasJobs: true, ...(wrap && { wrap }) });
    });
    after(() => service.stop());
    beforeEach(async () => {
      service.grant(ALL);
      await service.plant({ 'p/s/a.txt': 'shared', 'p/s/b/c.txt': 'deep', 'q/x.txt': 'other' });
    });

    const call = async (path: string, body: object | undefined, method = 'POST') => {
      const response = await service.asAnn(path, body ? { ...json(body), method } : { method });
      assert.ok(response.status < 300, `${path}: ${response.status} ${response.body.toString()}`);
      return jsonOf(response);
    };
    const put = (path: string, body: string) => service.asAnn(`/file/${path}`, { method: 'PUT', body });
    const move = (source: string, destination: string, more: object = {}) =>
      call('/move', { source, destination, is_folder: !source.endsWith('.txt'), ...more });
    const trashIdOf = async (path: string) => {
      const { entries } = (await call('/-/trash', undefined, 'GET')) as { entries: { id: string; path: string }[] };
      return entries.find((entry) => entry.path === path)?.id ?? assert.fail(path);
    };
    const share = async (path: string) => {
      const { token, link } = (await call('/-/links', { path })) as { token: string; link: { id: string } };
      return {
        /** Returns what visitors get: the text of a file, or the status of a failure. */
        text: async (file: string) => {
          const { status, body } = await send(service.port, `/-/s/${token}/file/${file}`);
          return status === 200 ? body.toString() : status;
        },
        state: async () => {
          const found = (await call(`/-/links/${link.id}`, undefined, 'GET')) as { link: Record<string, unknown> };
          return [found.link['path'], found.link['inactiveReason']];
        },
      };
    };

    it('stay together when the item or a folder above it is renamed or moved', async () => {
      const [folder, file] = [await share('p/s/'), await share('p/s/a.txt')];
      await call('/rename_folder/p/s', { newName: 't' });
      await move('p', 'q/p');
      await call('/rename/q/p/t/a.txt', { newName: 'z.txt' });
      assert.deepEqual([await folder.text('z.txt'), await file.text('z.txt')], ['shared', 'shared']);
      assert.deepEqual(
        [await folder.state(), await file.state()],
        [
          ['q/p/t/', undefined],
          ['q/p/t/z.txt', undefined],
        ],
      );
      await put('p/s/a.txt', 'later');
      assert.equal(await folder.text('a.txt'), 404);
    });

    it('part when the item moves to where the creator does not manage it', async () => {
      service.grant(ALL, grant('q/', ['read', 'write']));
      const link = await share('p/s/');
      await move('p/s', 'q/s');
      assert.deepEqual([await link.text('a.txt'), (await link.state())[1]], [404, 'permission']);
      await put('p/s/a.txt', 'later');
      assert.equal(await link.text('a.txt'), 404);
    });

    it('part when the item is deleted, also if a new one takes its path, until it is restored', async () => {
      const [folder, inside, file] = [await share('p/s/'), await share('p/s/b/'), await share('p/s/a.txt')];
      await call('/delete_folder/p/s', undefined, 'DELETE');
      await put('p/s/a.txt', 'later');
      await put('p/s/b/c.txt', 'later');
      const texts = async () => [await folder.text('a.txt'), await inside.text('c.txt'), await file.text('a.txt')];
      assert.deepEqual(await texts(), [404, 404, 404]);
      assert.deepEqual([(await folder.state())[1], (await file.state())[1]], ['item', 'item']);
      await call(`/-/trash/${await trashIdOf('p/s/')}/restore`, { to: 'p/again' });
      assert.deepEqual(await texts(), ['shared', 'deep', 'shared']);
      assert.deepEqual(await inside.state(), ['p/again/b/', undefined]);
    });

    it('part when the item is deleted permanently', async () => {
      const file = await share('p/s/a.txt');
      await call('/delete/p/s/a.txt?permanent=true', undefined, 'DELETE');
      await put('p/s/a.txt', 'later');
      assert.equal(await file.text('a.txt'), 404);
    });

    it('are together again after an undo', async () => {
      const [folder, file] = [await share('p/s/'), await share('q/x.txt')];
      const { change: deleted } = await call('/delete/q/x.txt', undefined, 'DELETE');
      const { change: replaced } = await move('q', 'p/s', { overwrite: true });
      assert.equal(await folder.text('a.txt'), 404);
      for (const id of [replaced, deleted]) await call('/-/undo', { change: id });
      assert.deepEqual([await folder.text('a.txt'), await file.text('x.txt')], ['shared', 'other']);
    });

    it('stay together when a file is replaced by an upload, a copy or a move', async () => {
      const file = await share('p/s/a.txt');
      await put('p/s/a.txt', 'uploaded');
      assert.equal(await file.text('a.txt'), 'uploaded');
      await call('/copy', { source: 'q/x.txt', destination: 'p/s/a.txt', is_folder: false, overwrite: true });
      assert.equal(await file.text('a.txt'), 'other');
      await put('p/s/a.txt.tmp.txt', 'saved');
      await move('p/s/a.txt.tmp.txt', 'p/s/a.txt', { overwrite: true });
      assert.equal(await file.text('a.txt'), 'saved');
    });

    if (!wrap) {
      it('part when another program puts another folder at the path', async () => {
        const { store } = service;
        const [from, aside] = [parseFolder('p/s'), parseFolder('p/aside')];
        const link = await share('p/s/');
        await store.moveFolder?.(from, aside, { replace: false });
        assert.deepEqual(await link.state(), ['p/s/', 'item']);
        await store.createFolder(from);
        assert.deepEqual([await link.text('a.txt'), (await link.state())[1]], [404, 'item']);
        await store.removeFolder(from);
        await store.moveFolder?.(aside, from, { replace: false });
        assert.deepEqual([await link.text('a.txt'), (await link.state())[1]], ['shared', undefined]);
        await store.moveToTrash?.(from, { id: newKeptId() });
        assert.equal(await link.text('a.txt'), 404);
      });
    }
  });
}
