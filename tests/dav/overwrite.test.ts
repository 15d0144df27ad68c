import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Owner } from '../../testing/holdall.ts';
import { type HttpResponse, send } from '../http/client.ts';
import { BEARER, type DavService, startDav } from './dav-service.ts';
import { treeIn } from './trees.ts';

const LOCK_BODY =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

describe('A COPY or MOVE over something of another kind', () => {
  let service: DavService;
  const ends: (() => Promise<void>)[] = [];
  const owner: Owner = { after: (end) => void ends.push(end) };
  before(async () => {
    // Without a trash, a wrong delete would be permanent.
    service = await startDav(owner, {
      settings: { TRASH_DAYS: '0' },
      grants: [{ folder: '/readable/', rights: ['read'] }],
    });
    for (const folder of ['readable', 'target/full', 'source']) {
      await mkdir(join(service.root, folder), { recursive: true });
    }
    await writeFile(join(service.root, 'readable/file'), 'readable');
    await writeFile(join(service.root, 'source/file'), 'source');
    await writeFile(join(service.root, 'target/full/kept'), 'kept');
    await writeFile(join(service.root, 'target/file'), 'kept as well');
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const request = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: string) =>
    send(service.port, service.path + path, {
      method,
      headers: { ...BEARER, ...headers },
      ...(body !== undefined && { body }),
    });
  const over = (method: 'COPY' | 'MOVE', from: string, to: string): Promise<HttpResponse> =>
    request(method, from, { destination: service.path + to });

  it('keeps the destination if the user may not move the source', async () => {
    const stored = await treeIn(service.root);
    assert.equal((await over('MOVE', 'readable/file', 'target/full')).status, 403);
    assert.equal((await over('MOVE', 'readable/', 'target/file')).status, 403);
    assert.deepEqual(await treeIn(service.root), stored);
  });

  it('keeps the destination if the source is locked', async () => {
    const stored = await treeIn(service.root);
    const locked = await request('LOCK', 'source/file', {}, LOCK_BODY);
    assert.equal(locked.status, 200);
    assert.equal((await over('MOVE', 'source/file', 'target/full')).status, 423);
    assert.equal((await over('MOVE', 'source/', 'target/file')).status, 423);
    assert.deepEqual(await treeIn(service.root), stored);
    const token = String(locked.headers['lock-token']);
    assert.equal((await request('UNLOCK', 'source/file', { 'lock-token': token })).status, 204);
  });

  it('replaces a folder by a file, and a file by a folder', async () => {
    assert.equal((await over('COPY', 'readable/file', 'target/full')).status, 204);
    assert.equal((await over('MOVE', 'source/', 'target/file')).status, 204);
    assert.deepEqual(await treeIn(service.root), {
      'readable/file': 'readable',
      'target/file/file': 'source',
      'target/full': 'readable',
    });
  });
});
