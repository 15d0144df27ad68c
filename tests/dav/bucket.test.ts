import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { BEARER, startDav } from './dav-service.ts';

export const needs: readonly Need[] = ['bucket'];

describe('WebDAV on a bucket, below BASE_PATH', () => {
  it('replaces a folder by a file and a file by a folder', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    const service = await startDav(t, { basePath: '/our/files', settings: settingsOf(bucket) });

    const request = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}) => {
      const body = method === 'PUT' ? path : undefined;
      const call = { method, headers: { ...BEARER, ...headers }, ...(body !== undefined && { body }) };
      return await send(service.port, service.path + path, call);
    };
    const over = async (method: string, from: string, to: string) =>
      (await request(method, from, { destination: service.path + to })).status;
    for (const folder of ['folder/', 'other/']) assert.equal((await request('MKCOL', folder)).status, 201);
    for (const file of ['folder/in', 'other/in', 'file']) assert.equal((await request('PUT', file)).status, 201);
    const lock = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    const locked = await send(service.port, `${service.path}folder/in`, {
      method: 'LOCK',
      headers: BEARER,
      body: lock,
    });
    assert.equal(await over('COPY', 'file', 'folder'), 423);
    assert.equal(await over('MOVE', 'file', 'folder'), 423);
    assert.equal((await request('GET', 'file')).status, 200);
    assert.equal((await request('PROPFIND', 'folder', { depth: '0' })).body.toString().includes('collection'), true);
    const token = String(locked.headers['lock-token']);
    assert.equal((await request('UNLOCK', 'folder/in', { 'lock-token': token })).status, 204);
    // A bucket could hold a file and a folder of one name, which clients can't tell apart.
    assert.equal(await over('COPY', 'file', 'folder'), 204);
    assert.equal((await request('GET', 'folder')).body.toString(), 'file');
    assert.equal((await request('PROPFIND', 'folder/', { depth: '1' })).status, 404);
    assert.equal(await over('MOVE', 'other', 'file'), 204);
    assert.equal((await request('GET', 'file/in')).body.toString(), 'other/in');
    assert.equal((await request('PROPFIND', 'other/', { depth: '0' })).status, 404);
    assert.equal((await request('PUT', 'file')).status, 405);
    assert.equal((await request('MKCOL', 'folder/')).status, 405);
  });
});
