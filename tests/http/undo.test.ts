import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { parseFolder } from '../../src/model/path.ts';
import { form, type GuardedService, grant, json, NDJSON, startGuardedService } from '../access/guarded-service.ts';
import { disk, memory } from '../contract/backend.ts';
import { longPath } from '../contract/bytes.ts';
import { assertFailure, type HttpResponse, jsonOf, postJson } from './client.ts';
import { startService } from './service.ts';
import { maxPathBytesIn, segmentsOf } from './wrong-paths.ts';

const upload = (prefix: string, name: string, content: string) =>
  form([
    { name: 'prefix', value: prefix },
    { name: 'file', filename: name, value: content },
  ]);

describe('POST /-/undo', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(grant('', PERMISSIONS));
    await service.plant({ 'd/a': 'one' });
    service.events();
  });

  const changeOf = (response: HttpResponse): string => {
    assert.equal(response.status, 200, response.body.toString());
    const { change } = jsonOf(response);
    assert.equal(typeof change, 'string', response.body.toString());
    return String(change);
  };
  const undo = (change: string, headers = {}) => service.asAnn('/-/undo', json({ change }, headers));

  it('undoes the change of each response', async () => {
    const requests = [
      () => service.asAnn('/upload', upload('d', 'a', 'three')),
      () => service.asAnn('/rename/d/a', json({ newName: 'b' })),
      () => service.asAnn('/copy', json({ source: 'd/a', destination: 'd/b', is_folder: false })),
      () => service.asAnn('/move', json({ source: 'd', destination: 'e', is_folder: true })),
      () => service.asAnn('/rename_folder/d', json({ newName: 'e' })),
      () => service.asAnn('/create_folder', json({ path: 'f' })),
      () => service.asAnn('/delete/d/a', { method: 'DELETE' }),
      () => service.asAnn('/delete_folder/d', { method: 'DELETE' }),
    ];
    for (const request of requests) {
      const change = changeOf(await request());
      const response = await undo(change);
      const { changes } = jsonOf(response) as unknown as { changes: { type: string; path: string }[] };
      assert.equal(changes.length, 1, response.body.toString());
      assert.notEqual(changeOf(response), change);
      assert.deepEqual(await service.contents(), { 'd/a': 'one' });
    }
  });

  it('undoes what was restored from the trash and from a version', async () => {
    changeOf(await service.asAnn('/upload', upload('d', 'a', 'three')));
    const { versions } = jsonOf(await service.asAnn('/-/versions/d/a')) as { versions: { id: string }[] };
    await undo(changeOf(await service.asAnn('/-/versions/d/a', json({ version: versions[0]?.id }))));
    assert.deepEqual(await service.contents(), { 'd/a': 'three' });
    await service.asAnn('/delete/d/a', { method: 'DELETE' });
    const { entries } = jsonOf(await service.asAnn('/-/trash')) as { entries: { id: string }[] };
    await undo(changeOf(await service.asAnn(`/-/trash/${entries[0]?.id}/restore`, { method: 'POST' })));
    assert.deepEqual(await service.contents(), {});
  });

  it('returns 409 for a move whose folder another program replaced', async () => {
    const change = changeOf(await service.asAnn('/move', json({ source: 'd', destination: 'e', is_folder: true })));
    await service.store.moveFolder?.(parseFolder('e'), parseFolder('x'), { replace: false });
    await service.store.createFolder(parseFolder('e'));
    assertFailure(await undo(change), 409, /folder has changed since/);
    assert.deepEqual(await service.contents(), { 'x/a': 'one' });
    for (const folder of ['e', 'x']) await service.store.removeTree?.(parseFolder(folder));
  });

  it('returns the change of a new folder only if it did not exist, and to users who see it', async () => {
    await service.store.createFolder(parseFolder('p/q'));
    const create = async (path: string) => jsonOf(await service.asAnn('/create_folder', json({ path })));
    assert.equal((await create('p'))['change'], undefined);
    assert.equal(typeof (await create('new'))['change'], 'string');
    service.grant(grant('', ['write']));
    assert.deepEqual(await create('hidden'), await create('p'));
    for (const folder of ['p', 'new', 'hidden']) await service.store.removeTree?.(parseFolder(folder));
  });

  it('reports progress, and returns the change in the last line', async () => {
    const moved = await service.asAnn('/move', json({ source: 'd', destination: 'e', is_folder: true }, NDJSON));
    const last = moved.body.toString().trim().split('\n').at(-1) ?? '';
    const response = await undo(JSON.parse(last).change, NDJSON);
    const { status, change } = JSON.parse(response.body.toString().trim().split('\n').at(-1) ?? '');
    assert.deepEqual([status, typeof change], [200, 'string']);
    assert.deepEqual(await service.contents(), { 'd/a': 'one' });
  });

  it('returns 404 for an unknown change, and for one that the user sees only in part', async () => {
    const change = changeOf(await service.asAnn('/move', json({ source: 'd', destination: 'e', is_folder: true })));
    service.grant(grant('e', PERMISSIONS));
    for (const id of ['', 'x', 'AAAAAAAAAAAAAAAAAAAAAA', change]) {
      assert.equal(jsonOf(await undo(id))['code'], 'change-not-found', id);
    }
    assert.equal((await undo(change)).status, 404);
  });

  it('requires the permissions of the reverse operation, and records it in the audit log', async () => {
    const change = changeOf(await service.asAnn('/upload', upload('d', 'b', 'x')));
    service.events();
    service.grant(grant('', ['read', 'write']));
    assertFailure(await undo(change), 403, /change "d\/b"/);
    service.grant(grant('', PERMISSIONS));
    assert.equal((await undo(change)).status, 200);
    assert.deepEqual(
      service.events().map(({ action, outcome, path }) => [action, outcome, path]),
      [
        ['delete', 'refused', 'd/b'],
        ['delete', 'done', 'd/b'],
      ],
    );
  });

  it('returns 409 with the reason', async () => {
    const change = changeOf(await service.asAnn('/rename/d/a', json({ newName: 'b' })));
    changeOf(await service.asAnn('/delete/d/b', { method: 'DELETE' }));
    const response = await undo(change);
    assertFailure(response, 409, /file\.deleted "d\/b"/);
    assert.equal(jsonOf(response)['code'], 'not-undoable');
  });

  it('is refused while the service is read-only', async () => {
    const readOnly = await startService(memory, { hasJobs: true, readOnly: true });
    try {
      const response = await postJson(readOnly.port, '/-/undo', { change: 'x' });
      assert.equal(jsonOf(response)['code'], 'read-only');
    } finally {
      await readOnly.stop();
    }
  });
});

describe('POST /-/undo for the longest paths on a disk', () => {
  let service: GuardedService;
  let limit: number;
  before(async () => {
    service = await startGuardedService(disk, { hasJobs: true });
    service.grant(grant('', PERMISSIONS));
    limit = maxPathBytesIn(await service.asAnn('/create_folder', json({ path: segmentsOf(4095) })));
  });
  after(() => service.stop());

  const SHAPES: Record<string, { readonly path: () => string; readonly hasVersions: boolean }> = {
    'long names': { path: () => longPath('d1234567', limit), hasVersions: true },
    // Each folder takes two more bytes among the versions, for which the limit leaves 512.
    'many folders': { path: () => `${'d1234567/'.repeat(Math.floor(limit / 9) - 1)}b`, hasVersions: false },
  };
  for (const [name, { path: pathOf, hasVersions }] of Object.entries(SHAPES)) {
    it(`undoes changes, or refuses them before anything changes: ${name}`, async () => {
      const path = pathOf();
      const [parent, file] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
      const put = (content: string) => service.asAnn('/upload', upload(parent, file, content));
      await service.plant({ [path]: 'one' });
      const transfer = { source: path, destination: `${parent}/${file.replaceAll(/./g, 'c')}`, is_folder: false };
      const requests = {
        replace: () => put('two'),
        delete: () => service.asAnn(`/delete/${path}`, { method: 'DELETE' }),
        'delete its folder': () => service.asAnn(`/delete_folder/${parent}`, { method: 'DELETE' }),
        'delete all folders': () => service.asAnn('/delete_folder/d1234567', { method: 'DELETE' }),
        copy: () => service.asAnn('/copy', json(transfer)),
        move: () => service.asAnn('/move', json(transfer)),
        rename: () => service.asAnn(`/rename/${path}`, json({ newName: file.replaceAll(/./g, 'z') })),
        'move all folders': () =>
          service.asAnn('/move', json({ source: 'd1234567', destination: 'e1234567', is_folder: true })),
      };
      for (const [what, request] of Object.entries(requests)) {
        const response = await request();
        if (what === 'replace' && !hasVersions) {
          assert.deepEqual([response.status, jsonOf(response)['code']], [400, 'path-too-long'], what);
        } else {
          const { change } = jsonOf(response);
          const undone = await service.asAnn('/-/undo', json({ change }));
          assert.equal(undone.status, 200, `${what}: ${response.body.toString()} ${undone.body.toString()}`);
        }
        assert.equal((await service.asAnn(`/file/${path}`)).body.toString(), 'one', what);
      }
    });
  }
});
