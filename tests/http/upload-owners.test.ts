import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { readOnly } from '../../src/stores/layers/read-only.ts';
import { EVERYONE, type GuardedService, grant, startGuardedService } from '../access/guarded-service.ts';
import { disk } from '../contract/backend.ts';
import { assertFailure, type Call, type HttpResponse, jsonOf } from './client.ts';

const TUS = { 'tus-resumable': '1.0.0' } as const;

const beginAt = (path: string, size: number, headers: Record<string, string> = {}): Call => ({
  method: 'POST',
  headers: {
    ...TUS,
    'upload-length': String(size),
    'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
    ...headers,
  },
});
const partAt = (offset: number, body: string): Call => ({
  method: 'PATCH',
  headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
  body,
});
const HEAD: Call = { method: 'HEAD', headers: TUS };
const DELETE: Call = { method: 'DELETE', headers: TUS };
const urlOf = ({ status, headers, body }: HttpResponse) => {
  assert.equal(status, 201, body.toString());
  return String(headers.location);
};

describe('The owner of a resumable upload', () => {
  let service: GuardedService;
  /** Whether the process seems to end right after a commit. */
  let losesCommits = false;
  /** Whether the store has no space left. */
  let isFull = false;
  /** The error of each commit. */
  let commitError: Error | undefined;
  /** Whether the service seems to have `READ_ONLY`. */
  let isReadOnly = false;
  let contents: Store;
  const wrap = (store: Store): Store => ({
    ...(contents = store),
    async openUpload(id, options) {
      const upload = await (isReadOnly ? readOnly(store) : store).openUpload?.(id, options);
      assert.ok(upload);
      return {
        ...upload,
        append: (...args) =>
          isFull ? Promise.reject(new StoreError('store-full', 'The disk is full.')) : upload.append(...args),
        commit: async (...args) => {
          if (commitError) throw commitError;
          const file = await upload.commit(...args);
          if (losesCommits) throw new Error('The process ended.');
          return file;
        },
      };
    },
  });
  before(async () => {
    service = await startGuardedService(disk, { hasJobs: true, wrap });
  });
  after(() => service.stop());

  it('can see, continue and cancel it, and no other user can', async () => {
    service.grant(grant('', ['read', 'write']), grant('open/', ['read', 'write'], EVERYONE));
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('open/a', 4)));
    assert.equal((await service.asAnn(url, partAt(0, 'ab'))).headers['upload-offset'], '2');
    for (const call of [HEAD, partAt(2, 'cd'), DELETE]) {
      assert.equal((await service.asAnonymous(url, call)).status, 404, String(call.method));
    }
    const { uploads } = jsonOf(await service.asAnn('/-/uploads')) as { uploads: { path: string; offset: number }[] };
    assert.deepEqual(
      uploads.map(({ path, offset }) => ({ path, offset })),
      [{ path: 'open/a', offset: 2 }],
    );
    assert.deepEqual(jsonOf(await service.asAnonymous('/-/uploads')), { success: true, uploads: [] });
    assert.equal((await service.asAnn(url, partAt(2, 'cd'))).status, 204);
    assert.deepEqual(await service.contents(), { 'open/a': 'abcd' });

    const anonymous = urlOf(await service.asAnonymous('/-/uploads', beginAt('open/b', 2)));
    assert.equal((await service.asAnn(anonymous, HEAD)).status, 404);
    assert.equal((await service.asAnonymous(anonymous, DELETE)).status, 204);
  });

  it('has an hour to begin to send it, if they are anonymous', async () => {
    service.grant(grant('', ['read', 'write']), grant('open/', ['read', 'write'], EVERYONE));
    const hoursOf = ({ headers }: HttpResponse) =>
      Math.round((Date.parse(String(headers['upload-expires'])) - Date.now()) / 3_600_000);
    const [anonymous, own] = [
      await service.asAnonymous('/-/uploads', beginAt('open/c', 4)),
      await service.asAnn('/-/uploads', beginAt('open/d', 4)),
    ];
    assert.deepEqual([anonymous, own].map(hoursOf), [1, 7 * 24]);
    const empty = await service.asAnonymous(urlOf(anonymous), partAt(0, ''));
    assert.deepEqual([empty.status, hoursOf(empty)], [204, 1]);
    assert.equal(hoursOf(await service.asAnonymous(urlOf(anonymous), partAt(0, 'ab'))), 7 * 24);
    assert.equal(hoursOf(await service.asAnonymous(urlOf(anonymous), HEAD)), 7 * 24);
    assert.equal((await service.asAnonymous(urlOf(anonymous), DELETE)).status, 204);
    assert.equal((await service.asAnn(urlOf(own), DELETE)).status, 204);
  });

  it('loses it on a full disk, if they are anonymous', async () => {
    service.grant(grant('', ['read', 'write']), grant('open/', ['read', 'write'], EVERYONE));
    const anonymous = urlOf(await service.asAnonymous('/-/uploads', beginAt('open/c', 4)));
    const own = urlOf(await service.asAnn('/-/uploads', beginAt('open/d', 4)));
    const asAnonymous = (call: Call) => service.asAnonymous(anonymous, call);
    const asAnn = (call: Call) => service.asAnn(own, call);
    for (const send of [asAnonymous, asAnn]) assert.equal((await send(partAt(0, 'ab'))).status, 204);
    isFull = true;
    for (const send of [asAnonymous, asAnn]) assert.equal((await send(partAt(2, 'cd'))).status, 507);
    isFull = false;
    assert.equal((await asAnonymous(HEAD)).status, 404);
    await assert.rejects(async () => contents.openUpload?.(anonymous.split('/').at(-1) ?? ''), { code: 'not-found' });
    assert.equal((await asAnn(DELETE)).status, 204);
  });

  it('sees it while the service is read-only, and can neither continue nor cancel it', async () => {
    service.grant(grant('', ['read', 'write']));
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('kept', 4)));
    assert.equal((await service.asAnn(url, partAt(0, 'ab'))).status, 204);
    isReadOnly = true;
    const { uploads } = jsonOf(await service.asAnn('/-/uploads')) as { uploads: { path: string; offset: number }[] };
    assert.deepEqual(
      uploads.map(({ path, offset }) => ({ path, offset })),
      [{ path: 'kept', offset: 2 }],
    );
    assert.equal((await service.asAnn(url, HEAD)).headers['upload-offset'], '2');
    for (const call of [partAt(2, 'cd'), DELETE]) {
      assertFailure(await service.asAnn(url, call), 403, /read-only/);
    }
    isReadOnly = false;
    assert.equal((await service.asAnn(url, DELETE)).status, 204);
  });

  it('needs the permission when it begins, and still at its end', async () => {
    service.grant(grant('own/', ['write']));
    await service.plant({ 'own/taken': 'old' });
    assertFailure(await service.asAnn('/-/uploads', beginAt('other/a', 1)), 403, /other\/a/);
    assertFailure(await service.asAnonymous('/-/uploads', beginAt('own/a', 1)), 401, /sign in/i);
    // Without manage, an upload must not replace a file.
    assert.ok([403, 412].includes((await service.asAnn('/-/uploads', beginAt('own/taken', 1))).status));
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('own/a', 4)));
    assert.equal((await service.asAnn(url, partAt(0, 'ab'))).status, 204);
    service.grant(grant('own/', ['read']));
    assertFailure(await service.asAnn(url, partAt(2, 'cd')), 403, /./);
    service.grant(grant('own/', ['write']));
    assert.equal((await service.asAnn(url, HEAD)).status, 200);
    const offset = Number((await service.asAnn(url, HEAD)).headers['upload-offset']);
    assert.equal((await service.asAnn(url, partAt(offset, 'abcd'.slice(offset)))).status, 204);
    assert.deepEqual(await service.contents(), { 'own/a': 'abcd', 'own/taken': 'old' });
    service.events();
  });

  it('learns that it is complete, although the process ended right after the commit', async () => {
    service.grant(grant('', ['read', 'write']));
    await service.plant({});
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('lost', 4)));
    losesCommits = true;
    assert.equal((await service.asAnn(url, partAt(0, 'abcd'))).status, 500);
    losesCommits = false;
    const state = await service.asAnn(url, HEAD);
    assert.deepEqual([state.status, state.headers['upload-offset']], [200, '4']);
    assert.equal(state.headers['content-location'], '/file/lost');
    assert.equal((await service.asAnn(url, partAt(4, ''))).status, 204);
    assert.deepEqual(await service.contents(), { lost: 'abcd' });
  });

  it('learns that its content is lost after a commit failed', async () => {
    service.grant(grant('', ['read', 'write']));
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('gone', 4)));
    commitError = new StoreError('name-taken', 'The file already exists.');
    assert.equal((await service.asAnn(url, partAt(0, 'abcd'))).status, 412);
    commitError = undefined;
    const content = await contents.openUpload?.(url.slice(url.lastIndexOf('/') + 1));
    await content?.remove();
    assert.equal((await service.asAnn(url, HEAD)).status, 404);
    service.events();
  });

  it('gets a file for a complete upload, although the process ended before the commit', async () => {
    service.grant(grant('', ['read', 'write']));
    await service.plant({});
    const url = urlOf(await service.asAnn('/-/uploads', beginAt('late', 4)));
    commitError = new StoreError('store-busy', 'The store is busy.');
    assert.equal((await service.asAnn(url, partAt(0, 'abcd'))).status, 503);
    const locked = await service.asAnn(url, HEAD);
    assert.deepEqual([locked.status, locked.headers['retry-after']], [423, '1'], 'clients retry after 423 alone');
    commitError = new StoreError('name-taken', 'The file already exists.');
    assert.equal((await service.asAnn(url, HEAD)).status, 412);
    commitError = undefined;
    service.grant(grant('', ['read']));
    assert.equal((await service.asAnn(url, HEAD)).status, 403);
    service.grant(grant('', ['read', 'write']));
    const state = await service.asAnn(url, HEAD);
    assert.deepEqual([state.status, state.headers['upload-offset']], [200, '4']);
    assert.equal(state.headers['content-location'], '/file/late');
    assert.ok(state.headers['x-change-id']);
    assert.deepEqual(await service.contents(), { late: 'abcd' });
    assert.equal((await service.asAnn(url, HEAD)).headers.etag, state.headers.etag);
    service.events();
  });
});

describe('Unfinished uploads of anonymous users', () => {
  it('are limited for each network, and not for users', async (t) => {
    const service = await startGuardedService(disk, { hasJobs: true });
    t.after(() => service.stop());
    service.grant(grant('', ['read', 'write'], EVERYONE), grant('', ['read', 'write']));
    const begin = (name: number) => service.asAnonymous('/-/uploads', beginAt(`${name}`, 5));
    const first = urlOf(await begin(0));
    for (let name = 1; name < 100; name++) urlOf(await begin(name));
    assertFailure(await begin(100), 400, /^Anonymous users of your network already have 100 unfinished uploads/);
    urlOf(await service.asAnn('/-/uploads', beginAt('ann', 5)));
    assert.equal((await service.asAnonymous(first, DELETE)).status, 204);
    urlOf(await begin(100));
  });
});
