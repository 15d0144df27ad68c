import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { OPERATIONS } from '../../src/http/api-operations.ts';
import { memory } from '../contract/backend.ts';
import { type Call, type HttpResponse, jsonOf, send } from '../http/client.ts';
import { EVERYONE, form, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const LOCK_BODY =
  '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>Ann Owner</owner></lockinfo>';

/** A user who has left traces everywhere, and anonymous users with all permissions. */
describe('Anonymous users', () => {
  let service: GuardedService;
  const ids: Record<string, string> = {};
  let lockToken = '';
  let trashed = '';
  let version = '';
  let linkToken = '';

  const asAnn = async (path: string, call?: Call) => {
    const response = await service.asAnn(path, call);
    assert.ok(response.status < 300, `${path}: ${response.status} ${response.body.toString()}`);
    return response;
  };
  const put = (path: string, body: string) => asAnn(`/file/${path}`, { method: 'PUT', body });

  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
    service.grant(grant('', PERMISSIONS), grant('', PERMISSIONS, EVERYONE));
    await put('notes/a.txt', 'old secret');
    await put('notes/a.txt', 'new');
    await put('notes/gone.txt', 'deleted secret');
    await asAnn('/file/notes/gone.txt', { method: 'DELETE' });
    await put('notes/locked.txt', 'text');
    const locked = await asAnn('/-/dav/notes/locked.txt', { method: 'LOCK', body: LOCK_BODY });
    lockToken = String(locked.headers['lock-token']).replace(/^<urn:uuid:|>$/g, '');
    const folderJob = await service.asAnn('/delete_folder/missing', {
      method: 'DELETE',
      headers: { prefer: 'respond-async' },
    });
    ids['job'] = (jsonOf(folderJob) as { job?: { id: string } }).job?.id ?? '';
    const link = jsonOf(await asAnn('/-/links', json({ path: 'notes/', permissions: ['read', 'write'] })));
    ids['link'] = (link['link'] as { id: string }).id;
    linkToken = String(link['token']);
    const { entries = [] } = jsonOf(await asAnn('/-/trash')) as { entries?: { id: string }[] };
    trashed = entries[0]?.id ?? '';
    const { versions = [] } = jsonOf(await asAnn('/-/versions/notes/a.txt')) as { versions?: { id: string }[] };
    version = versions[0]?.id ?? '';
  });
  after(() => service.stop());

  const assertSilent = (what: string, { status, headers, body }: HttpResponse) => {
    const text = `${JSON.stringify(headers)}\n${body.toString()}`;
    assert.ok(status < 500, `${what}: ${text}`);
    for (const secret of [/\bann\b/i, /old secret|deleted secret/, new RegExp(lockToken)]) {
      assert.doesNotMatch(text, secret, `${what}: ${status}`);
    }
  };

  it('learn no usernames, lock owners, lock tokens and earlier contents by any request that reads', async () => {
    const paths = Object.keys(OPERATIONS)
      .filter((operation) => operation.startsWith('GET '))
      .flatMap((operation) => {
        const path = operation.slice(4);
        return ['notes/a.txt', 'notes/locked.txt', 'notes', ''].map((file) =>
          path
            .replace('{path}', file)
            .replace(/\{(\w+)\}/g, (_, name) =>
              path.includes('jobs') ? (ids['job'] ?? name) : path.includes('links') ? (ids['link'] ?? name) : trashed,
            ),
        );
      });
    assert.ok(paths.length > 100);
    const queries = [
      '/-/changes?since=oldest',
      '/-/links?below=',
      '/-/locks?folder=notes/',
      '/-/jobs',
      '/-/zip/notes/',
    ];
    queries.push(`/file/notes/a.txt?version=${version}`, `/thumb/notes/a.txt?version=${version}`);
    for (const path of new Set([...paths, ...queries])) {
      assertSilent(path, await service.asAnonymous(path));
      assertSilent(path, await send(service.port, `/-/s/${linkToken}${path}`));
    }
    for (const depth of ['0', '1']) {
      for (const path of ['', 'notes/', 'notes/locked.txt']) {
        assertSilent(
          `PROPFIND ${path}`,
          await service.asAnonymous(`/-/dav/${path}`, { method: 'PROPFIND', headers: { depth } }),
        );
      }
    }
  });

  it('learn none of them by requests that fail because of a lock', async () => {
    const path = 'notes/locked.txt';
    const requests: readonly [string, Call][] = [
      [`/file/${path}`, { method: 'PUT', body: 'x' }],
      [`/-/dav/${path}`, { method: 'PUT', body: 'x' }],
      [`/-/dav/${path}`, { method: 'LOCK', body: LOCK_BODY.replace('Ann Owner', '') }],
      [`/-/dav/${path}`, { method: 'DELETE' }],
      [
        '/upload',
        form([
          { name: 'prefix', value: 'notes/' },
          { name: 'file', filename: 'locked.txt', value: 'x' },
        ]),
      ],
      ['/move', json({ source: path, destination: 'b.txt' })],
      ['/rename_folder/notes', json({ newName: 'b' }, { prefer: 'respond-async, wait=10' })],
      ['/rename_folder/notes', json({ newName: 'b' }, { accept: 'application/x-ndjson' })],
    ];
    for (const [url, call] of requests) assertSilent(`${call.method} ${url}`, await service.asAnonymous(url, call));
  });

  it('get 401 for the trash, versions and webhooks, and no ID of their changes', async () => {
    for (const path of ['/-/trash', '/-/versions/notes/a.txt', `/file/notes/a.txt?version=${version}`, '/-/webhooks']) {
      assert.equal((await service.asAnonymous(path)).status, 401, path);
    }
    const restored = await service.asAnonymous(`/-/trash/${trashed}/restore`, json({}));
    assert.equal(restored.status, 401, restored.body.toString());
    assert.equal((await service.asAnonymous(`/-/trash/${trashed}`, { method: 'DELETE' })).status, 401);
    assert.equal((await service.asAnonymous('/-/trash', { method: 'DELETE' })).status, 401);
    const version404 = await service.asAnonymous('/-/versions/notes/a.txt', json({ version }));
    assert.equal(version404.status, 401);
    const stored = await service.asAnonymous('/file/new.txt', { method: 'PUT', body: 'x' });
    assert.equal(stored.status, 201);
    assert.equal(jsonOf(stored)['change'], undefined);
  });
});
