import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import type { HttpResponse } from '../http/client.ts';
import { form, type GuardedService, grant, json, NDJSON, startGuardedService } from './guarded-service.ts';

describe('The audit log', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService();
  });
  after(() => service.stop());
  beforeEach(async () => {
    await service.plant({ 'a/x.txt': 'x', 'b/y.txt': 'y' });
    service.grant(grant('a/', PERMISSIONS), grant('b/', ['write']));
    service.events();
  });

  const byAnn = { who: 'ann', way: 'token' };

  it('records each change with its paths and outcome', async () => {
    const upload = form([
      { name: 'file', filename: 'new.txt', value: '' },
      { name: 'prefix', value: '/a' },
    ]);
    const copy = { source: '/a/new.txt', destination: 'b/new.txt', is_folder: false };
    for (const [path, call, event] of [
      ['/upload', upload, { action: 'upload', path: 'a/new.txt' }],
      ['/create_folder', json({ path: '/a/f' }), { action: 'create folder', path: 'a/f/' }],
      ['/rename/a/x.txt', json({ newName: 'z.txt' }), { action: 'rename', path: 'a/x.txt', destination: 'a/z.txt' }],
      ['/copy', json(copy), { action: 'copy', path: 'a/new.txt', destination: 'b/new.txt' }],
      ['/delete/a/new.txt', { method: 'DELETE' }, { action: 'delete', path: 'a/new.txt' }],
      [
        '/copy',
        json({ source: 'a/f', destination: 'a/g', is_folder: true }, NDJSON),
        { action: 'copy folder', path: 'a/f/', destination: 'a/g/' },
      ],
      ['/rename_folder/a/g', json({ newName: 'h' }), { action: 'rename folder', path: 'a/g/', destination: 'a/h/' }],
      ['/delete_folder/a/h/', { method: 'POST' }, { action: 'delete folder', path: 'a/h/' }],
    ] as const) {
      assert.equal((await service.asAnn(path, call)).status, 200, path);
      assert.deepEqual(service.events(), [{ event: 'change', ...event, outcome: 'done', ...byAnn }]);
    }
  });

  it('records each allowed change that failed, with the reason', async () => {
    assert.equal((await service.asAnn('/delete/a/no.txt', { method: 'DELETE' })).status, 404);
    const [{ reason = '', ...event } = {}, ...others] = service.events();
    assert.deepEqual(event, { event: 'change', action: 'delete', path: 'a/no.txt', outcome: 'failed', ...byAnn });
    assert.match(String(reason), /a\/no\.txt/);
    assert.deepEqual(others, []);
  });

  it('records each denied request once, with the requested path', async () => {
    const requested = json({ source: 'a/x.txt', destination: 'c/x.txt', is_folder: false });
    for (const [path, call, event] of [
      ['/c/', {}, { action: 'list', path: 'c/' }],
      ['/?prefix=c', {}, { action: 'list', path: 'c/' }],
      ['/file/b%2Fy.txt', {}, { action: 'fetch', path: 'b/y.txt' }],
      ['/copy', requested, { action: 'copy', path: 'c/x.txt' }],
      ['/delete/b/y.txt', { method: 'POST' }, { action: 'delete', path: 'b/y.txt' }],
    ] as const) {
      assert.equal((await service.asAnn(path, call)).status, 403, path);
      const events = service.events();
      assert.deepEqual(
        events.map((written) => ({ ...written, reason: undefined })),
        [{ event: 'refusal', ...event, outcome: 'refused', reason: undefined, ...byAnn }],
      );
    }
    assert.equal((await service.asAnonymous('/file/a/x.txt')).status, 401);
    assert.deepEqual(service.events(), [
      {
        event: 'refusal',
        action: 'fetch',
        path: 'a/x.txt',
        outcome: 'refused',
        reason: 'Sign in to read "a/x.txt".',
        who: undefined,
        way: undefined,
      },
    ]);
  });

  it('records an upload without permission to replace a file only as a refusal', async () => {
    const upload = form([
      { name: 'prefix', value: 'b/' },
      { name: 'file', filename: 'y.txt', value: 'new' },
    ]);
    assert.equal((await service.asAnn('/upload', upload)).status, 403);
    const events = service.events();
    assert.deepEqual(
      events.map(({ event, path }) => ({ event, path })),
      [{ event: 'refusal', path: 'b/y.txt' }],
    );
  });

  it('does not record reads without AUDIT_READS', async () => {
    const responses: HttpResponse[] = [];
    for (const path of ['/', '/a/', '/file/a/x.txt', '/-/health/live']) responses.push(await service.asAnn(path));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.deepEqual(service.events(), []);
  });
});
