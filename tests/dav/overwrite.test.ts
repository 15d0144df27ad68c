import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import type { Owner } from '../../testing/holdall.ts';
import { memory } from '../contract/backend.ts';
import { file, upload } from '../contract/bytes.ts';
import { type HttpResponse, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
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

describe('A MOVE to a path that another client uses meanwhile', () => {
  let service: TestService;
  /** What another client writes before the store moves a file. */
  let meanwhile: string | undefined;
  before(async () => {
    const openMemory = async () => {
      const opened = await memory.open();
      const { store } = opened;
      const move: Store['move'] = async (from, to, options) => {
        if (meanwhile !== undefined) await store.write(file(to), upload(meanwhile));
        meanwhile = undefined;
        return store.move?.(from, to, options);
      };
      await store.write(file('source'), upload('source'));
      return { ...opened, store: { ...store, move } };
    };
    service = await startService({ ...memory, open: openMemory }, { hasJobs: true });
  });
  after(() => service.stop());

  const move = (from: string, to: string, overwrite: 'T' | 'F') =>
    send(service.port, `/-/dav/${from}`, { method: 'MOVE', headers: { destination: `/-/dav/${to}`, overwrite } });

  it('fails with Overwrite: F, and replaces the file with Overwrite: T', async () => {
    meanwhile = 'of another client';
    assert.equal((await move('source', 'target', 'F')).status, 412);
    assert.equal((await send(service.port, '/-/dav/target')).body.toString(), 'of another client');
    meanwhile = 'of another client';
    assert.equal((await move('source', 'other', 'T')).status, 204);
    assert.equal((await send(service.port, '/-/dav/other')).body.toString(), 'source');
    assert.equal((await send(service.port, '/-/dav/source')).status, 404);
  });
});
