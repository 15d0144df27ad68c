import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { form, type GuardedService, grant, json, NDJSON, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, type HttpResponse, jsonOf, postJson } from './client.ts';
import { startService } from './service.ts';

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
