import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import sharp from 'sharp';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { disk } from '../contract/backend.ts';
import { assertFailure, type Call } from '../http/client.ts';
import { EVERYONE, form, type GuardedService, grant, json, NDJSON, startGuardedService } from './guarded-service.ts';

describe('A file without read permission', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(disk);
    const picture = await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    await service.plant({ 'a/x.txt': 'secret', 'a/x.png': picture, 'a/large.bin': Buffer.alloc(6 * 1024 * 1024) });
  });
  after(() => service.stop());

  /** Metadata from when the file was readable. */
  async function etagOf(path: string): Promise<string> {
    service.grant(grant('a/', ['read']));
    const { status, headers } = await service.asAnn(path);
    assert.equal(status, 200);
    return headers.etag ?? assert.fail(path);
  }

  it('returns 403 for full, range and conditional requests, even with the current ETag', async () => {
    for (const path of ['/file/a/x.txt', '/file/a/x.txt?download=1', '/thumb/a/x.png']) {
      const etag = await etagOf(path);
      service.grant(grant('a/', ['write', 'manage']));
      const conditions: Record<string, string>[] = [
        {},
        { 'if-none-match': etag },
        { 'if-none-match': '*' },
        { 'if-match': etag },
        { range: 'bytes=0-0' },
        { range: 'bytes=100-' },
      ];
      for (const headers of conditions) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers: found } = await service.asAnn(path, { method, headers });
          assert.equal(status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
          assert.equal(found.etag, undefined);
        }
      }
    }
  });

  it('has no new signed URL, and an existing signed URL works only for its file', async () => {
    service.grant(grant('a/', ['read']));
    const { status, headers } = await service.asAnn('/file/a/large.bin');
    assert.equal(status, 302);
    const signed = new URL(headers.location ?? '', 'http://service/file/a/large.bin');
    service.grant();
    for (const method of ['GET', 'HEAD']) {
      const refused = await service.asAnn('/file/a/large.bin', { method });
      assert.equal(refused.status, 403);
      assert.equal(refused.headers.location, undefined);
    }
    // The URL itself is the permission for this file until it expires, and for nothing else.
    assert.equal((await service.asAnonymous(signed.pathname + signed.search)).status, 200);
    for (const path of ['/-/signed/a/large.bin', signed.pathname.replace('large.bin', 'x.txt') + signed.search]) {
      assertFailure(await service.asAnonymous(path), 403, /signature/);
    }
  });

  it('returns the web UI to a browser that opens its link', async () => {
    service.grant(grant('a/', ['read']));
    const { status, headers, body } = await service.asAnonymous('/file/a/x.txt', { headers: { accept: 'text/html' } });
    assert.equal(status, 401);
    assert.match(headers['content-type'] ?? '', /^text\/html/);
    assert.match(body.toString(), /Sign in to read/);
  });
});

describe('An operation on a folder that contains a closed folder', () => {
  const TREE = { 'a/closed/secret.txt': 'secret', 'a/x.txt': 'x', 'b/y.txt': 'y' };
  const COPY = json({ source: 'a', destination: 'c', is_folder: true });
  const REQUESTS: readonly (readonly [string, Call])[] = [
    ['/delete_folder/a', { method: 'DELETE' }],
    ['/delete_folder/a', { method: 'POST' }],
    ['/rename_folder/a', json({ newName: 'c' })],
    ['/copy', COPY],
    ['/move', json({ source: 'a', destination: 'c', is_folder: true })],
    ['/copy', json({ source: 'b', destination: 'a', is_folder: true, overwrite: true })],
    ['/move', json({ source: 'b', destination: 'a', is_folder: true, overwrite: true })],
    ['/rename_folder/b', json({ newName: 'a', overwrite: true })],
  ];

  let service: GuardedService;
  before(async () => {
    service = await startGuardedService();
    await service.plant(TREE);
  });
  after(() => service.stop());
  beforeEach(() => {
    service.grant(grant('', PERMISSIONS), grant('a/closed/', []));
    service.events();
  });

  it('returns 403 and changes nothing', async () => {
    for (const [path, call] of REQUESTS) {
      assertFailure(
        await service.asAnn(path, call),
        403,
        /^You are signed in as "ann" and don't have permission to .+ all of "a\/"\.$/,
      );
    }
    assert.deepEqual(await service.contents(), TREE);
  });

  it('returns 403 when one required right is missing in a subfolder', async () => {
    service.grant(grant('', PERMISSIONS), grant('a/closed/', ['read', 'write']));
    for (const [path, call] of REQUESTS.filter(([, request]) => request !== COPY)) {
      assertFailure(await service.asAnn(path, call), 403, /all of "a\/"/);
    }
    assert.deepEqual(await service.contents(), TREE);
  });

  it('returns 403 instead of a progress stream', async () => {
    for (const [path, call] of REQUESTS) {
      const response = await service.asAnn(path, { ...call, headers: { ...call.headers, ...NDJSON } });
      assertFailure(response, 403, /all of "a\/"/);
    }
    assert.deepEqual(await service.contents(), TREE);
    const refusals = service.events().filter(({ event }) => event === 'refusal');
    assert.equal(refusals.length, REQUESTS.length);
  });

  it('succeeds when the closed folder is closed only to other subjects', async () => {
    service.grant(
      grant('', PERMISSIONS),
      grant('a/closed/', [], EVERYONE),
      grant('a/closed/', [], { kind: 'group', name: 'g' }),
    );
    assert.equal((await service.asAnn('/copy', COPY)).status, 200);
    assert.equal((await service.asAnn('/delete_folder/c', { method: 'DELETE' })).status, 200);
    assert.deepEqual(await service.contents(), TREE);
  });
});

describe('A file that changes how the store treats other files', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService();
    service.store.isPrivileged = (path) => path.endsWith('.gitattributes');
  });
  beforeEach(() => service.plant({ 'a/x.txt': 'x' }));
  after(() => service.stop());

  const REQUESTS: readonly (readonly [string, Call])[] = [
    ['/rename/a/x.txt', json({ newName: '.gitattributes' })],
    ['/copy', json({ source: 'a/x.txt', destination: 'a/b/.gitattributes', is_folder: false })],
    ['/move', json({ source: 'a/x.txt', destination: 'a/.gitattributes', is_folder: false })],
  ];

  const UPLOAD = [
    { name: 'prefix', value: 'a/' },
    { name: 'file', filename: '.gitattributes', value: '* filter=lfs' },
  ];

  it('can be written only by users who can manage the root', async () => {
    for (const [path, call] of REQUESTS) {
      service.grant(grant('a/', PERMISSIONS), grant('', ['read', 'write']));
      assertFailure(await service.asAnn(path, call), 403, /manage/);
      assert.deepEqual(await service.contents(), { 'a/x.txt': 'x' });
    }
    for (const parts of [UPLOAD, UPLOAD.toReversed()]) {
      assertFailure(await service.asAnn('/upload', form(parts)), 403, /manage/);
      assert.deepEqual(await service.contents(), { 'a/x.txt': 'x' });
    }
    service.grant(grant('', PERMISSIONS));
    assert.equal((await service.asAnn('/upload', form(UPLOAD))).status, 200);
    assert.deepEqual(await service.contents(), { 'a/.gitattributes': '* filter=lfs', 'a/x.txt': 'x' });
  });
});
