import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { StoreError } from '../../src/model/error.ts';
import { parseFile } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import { type GuardedService, grant, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { assertFailure, begin, type Call, type HttpResponse, plant, postJson, send, upload } from './client.ts';
import { startService, type TestService } from './service.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

const contentsOf = ({ body }: HttpResponse): Record<string, string> =>
  Object.fromEntries(parseArchive(body).map(({ name, content }) => [name, content.toString()]));

describe('ZIP archives', () => {
  let service: TestService;
  /** Called before each read of the store. */
  let onRead: (path: string, store: Store) => Promise<void> = async () => {};
  before(async () => {
    service = await startService(memory, {
      hasJobs: true,
      wrap: (store) => ({
        ...store,
        read: async (path, options) => {
          await onRead(path, store);
          return store.read(path, options);
        },
      }),
    });
    await plant(service.port, {
      'photos/2026/a.txt': 'A',
      'photos/2026/sub/b.txt': 'B',
      'photos/2026/empty/': null,
      'photos/naïve “x”/c.txt': 'C',
      'notes.txt': 'N',
    });
  });
  after(() => service.stop());

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(service.port, path, { method, headers });

  it('have the headers of a download, with their length and a strong ETag', async () => {
    const response = await get('/-/zip/photos/2026/');
    assert.equal(response.status, 200);
    const { headers } = response;
    assert.equal(headers['content-type'], 'application/zip');
    assert.equal(headers['content-disposition'], `attachment; filename="2026.zip"; filename*=UTF-8''2026.zip`);
    assert.equal(headers['content-length'], String(response.body.length));
    assert.match(String(headers.etag), /^"[\w-]{32}"$/);
    assert.equal(headers['accept-ranges'], 'bytes');
    assert.equal(headers['cache-control'], 'private, no-cache');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(String(headers['content-security-policy']), /^sandbox; default-src 'none'/);
    assert.deepEqual(contentsOf(response), { '2026/a.txt': 'A', '2026/empty/': '', '2026/sub/b.txt': 'B' });

    const head = await get('/-/zip/photos/2026', {}, 'HEAD');
    assert.equal(head.status, 200);
    assert.equal(head.body.length, 0);
    for (const name of ['etag', 'content-length', 'content-disposition'])
      assert.equal(head.headers[name], headers[name], name);
  });

  it('are named after the folder in UTF-8, and the root is files.zip', async () => {
    const name = async (path: string) => String((await get(path, {}, 'HEAD')).headers['content-disposition']);
    assert.match(
      await name('/-/zip/photos/na%C3%AFve%20%E2%80%9Cx%E2%80%9D'),
      /UTF-8''na%C3%AFve%20%E2%80%9Cx%E2%80%9D\.zip$/,
    );
    assert.match(await name('/-/zip/'), /filename="files\.zip"/);
  });

  it('honour ranges, If-Range, If-None-Match and If-Match', async () => {
    const path = '/-/zip/photos/';
    const whole = await get(path);
    const etag = whole.headers.etag ?? '';
    const size = whole.body.length;
    const part = await get(path, { range: 'bytes=10-29' });
    assert.equal(part.status, 206);
    assert.equal(part.headers['content-range'], `bytes 10-29/${size}`);
    assert.equal(part.headers['content-length'], '20');
    assert.equal(part.headers.etag, etag);
    assert.ok(part.body.equals(whole.body.subarray(10, 30)));
    for (const [range, start] of [
      [`bytes=${size - 1}-`, size - 1],
      ['bytes=-5', size - 5],
      ['bytes=40-999999', 40],
    ] as const) {
      const { status, body } = await get(path, { range, 'if-range': etag });
      assert.equal(status, 206, range);
      assert.ok(body.equals(whole.body.subarray(start)), range);
    }
    for (const ifRange of ['"other"', `W/${etag}`, new Date().toUTCString()]) {
      const { status, body } = await get(path, { range: 'bytes=5-', 'if-range': ifRange });
      assert.equal(status, 200, ifRange);
      assert.ok(body.equals(whole.body));
    }
    const outside = await get(path, { range: `bytes=${size}-` });
    assertFailure(outside, 416, /range/);
    assert.equal(outside.headers['content-range'], `bytes */${size}`);
    const same = await get(path, { 'if-none-match': etag });
    assert.equal(same.status, 304);
    assert.equal(same.headers.etag, etag);
    assertFailure(await get(path, { 'if-match': '"other"' }), 412, /ETag of the archive/);
    assert.equal((await get(path, { 'if-match': etag })).status, 200);
  });

  it('contain a selection, by JSON or by a form', async () => {
    const paths = ['photos/2026/sub/', 'photos/2026/a.txt', 'photos/2026/sub/b.txt'];
    const json = await postJson(service.port, '/-/zip', { paths });
    assert.equal(json.status, 200);
    assert.match(json.headers['content-disposition'] ?? '', /filename="2026\.zip"/);
    assert.deepEqual(contentsOf(json), { 'a.txt': 'A', 'sub/b.txt': 'B' });
    const body = paths.map((path) => `paths=${encodeURIComponent(path)}`).join('&');
    const form = await send(service.port, '/-/zip', { method: 'POST', headers: FORM, body });
    assert.ok(form.body.equals(json.body));
    const names = 'paths=photos%2Fna%C3%AFve+%E2%80%9Cx%E2%80%9D/c.txt&paths=notes.txt';
    const other = await send(service.port, '/-/zip', { method: 'POST', headers: FORM, body: names });
    assert.deepEqual(contentsOf(other), { 'notes.txt': 'N', 'photos/naïve “x”/c.txt': 'C' });
    const range = { ...FORM, range: 'bytes=7-' };
    const rest = await send(service.port, '/-/zip', { method: 'POST', headers: range, body: names });
    assert.equal(rest.status, 206);
    assert.ok(rest.body.equals(other.body.subarray(7)));
    const condition = { ...FORM, 'if-none-match': other.headers.etag ?? '' };
    assertFailure(await send(service.port, '/-/zip', { method: 'POST', headers: condition, body: names }), 412, /ETag/);
  });

  it('are refused for unknown paths and invalid requests, with the value', async () => {
    assertFailure(await get('/-/zip/nope/'), 404, /"nope\/"/);
    assertFailure(await get('/-/zip/notes.txt'), 404, /"notes\.txt\/"/);
    assertFailure(await get('/-/zip/a//b'), 400, /empty segment/);
    const json = (body: unknown) => postJson(service.port, '/-/zip', body);
    assertFailure(await json({ paths: ['notes.txt', 'nope.txt'] }), 404, /"nope\.txt"/);
    assertFailure(await json({ paths: ['photos'] }), 404, /"photos"/);
    assertFailure(await json({ paths: [] }), 400, /"paths"/);
    assertFailure(await json({ paths: 'notes.txt' }), 400, /must be array, but is "notes\.txt"/);
    assertFailure(await json({ paths: [1] }), 400, /"paths\/0"/);
    assertFailure(await json({ paths: ['../x'] }), 400, /".."/);
    assertFailure(await json({}), 400, /lacks "paths"/);
    assertFailure(await json([]), 400, /JSON object/);
    assertFailure(await json({ paths: Array.from({ length: 10_001 }, () => 'a') }), 400, /10000/);
    assertFailure(await json({ paths: ['x'.repeat(2 ** 21)] }), 413, /2 MiB/);
    const form = (body: string, call: Call = {}) =>
      send(service.port, '/-/zip', { method: 'POST', headers: FORM, body, ...call });
    assertFailure(await form('paths=%ff'), 400, /not UTF-8: "%ff"/i);
    assertFailure(await form('path=notes.txt'), 400, /unknown field "path"/);
    assertFailure(await form(''), 400, /"paths"/);
    assertFailure(await form('paths=a%0Ab'), 400, /control character/);
    assertFailure(await send(service.port, '/-/zip', { method: 'POST' }), 400, /"paths"/);
    assertFailure(await form('x', { headers: { 'content-type': 'text/plain' } }), 400, /JSON/);
    assertFailure(await get('/-/zip'), 405, /POST/);
  });

  it('are refused as scripts and from pages of other sites', async () => {
    const active = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'script' };
    assertFailure(await get('/-/zip/photos/', active), 403, /script/);
    const foreign = { ...FORM, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const response = await send(service.port, '/-/zip', { method: 'POST', headers: foreign, body: 'paths=notes.txt' });
    assertFailure(response, 403, /Cross-site/);
  });

  it('break off if a file changes during the download, with one line in the log', async () => {
    for (const change of ['replaced', 'removed'] as const) {
      const first = randomBytes(900_000);
      await upload(service.port, 'changing/a', first);
      await upload(service.port, 'changing/b', randomBytes(900_000));
      const logged = service.log.length;
      onRead = async (path, store) => {
        if (path !== 'changing/a') return;
        if (change === 'removed') await store.remove(parseFile('changing/b'));
        else await upload(service.port, 'changing/b', randomBytes(900_000));
      };
      const response = await begin(service.port, '/-/zip/changing/').response;
      assert.equal(response.statusCode, 200);
      await assert.rejects(Array.fromAsync(response), { code: 'ECONNRESET' });
      onRead = async () => {};
      const lines = service.log.slice(logged).filter(({ level }) => Number(level) >= 40);
      assert.deepEqual(
        lines.map(({ msg }) => msg),
        ['A ZIP download ended before its end'],
      );
      assert.match(String(lines[0]?.['reason']), /"changing\/b"/);
      // The archive is another one now: a client that resumes starts again.
      const { status } = await get('/-/zip/changing/', {
        range: 'bytes=100-',
        'if-range': String(response.headers.etag),
      });
      assert.equal(status, 200);
    }
  });

  it('are limited per client, and a client that leaves frees its place', async () => {
    await upload(service.port, 'large', randomBytes(20_000_000));
    const downloads = Array.from({ length: 8 }, () => begin(service.port, '/-/zip/'));
    const responses = await Promise.all(downloads.map(({ response }) => response));
    for (const response of responses) assert.equal(response.statusCode, 200);
    const refused = await get('/-/zip/');
    assertFailure(refused, 503, /8 archives/);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    for (const { disconnect } of downloads) disconnect();
    await until('another archive is accepted', async () => (await get('/-/zip/', {}, 'HEAD')).status === 200);
    await send(service.port, '/delete/large?permanent=true', { method: 'DELETE' });
  });
});

describe('Permissions of ZIP archives', () => {
  let guarded: GuardedService;
  before(async () => {
    guarded = await startGuardedService(memory);
    await guarded.plant({
      'a/open.txt': 'open',
      'a/private/secret.txt': 'secret',
      'a/private/shared/public.txt': 'public',
      'b/other.txt': 'other',
    });
  });
  after(() => guarded.stop());

  it('omit what the user may not read, and refuse what the user names', async () => {
    guarded.grant(grant('a/', ['read']), grant('a/private/', []), grant('a/private/shared/', ['read']));
    const archive = await guarded.asAnn('/-/zip/a/');
    assert.deepEqual(contentsOf(archive), { 'a/open.txt': 'open', 'a/private/shared/public.txt': 'public' });
    assert.deepEqual(contentsOf(await guarded.asAnn('/-/zip/')), contentsOf(archive));
    assertFailure(await guarded.asAnn('/-/zip/b/'), 403, /"b\/"/);
    const body = JSON.stringify({ paths: ['a/open.txt', 'a/private/secret.txt'] });
    const headers = { 'content-type': 'application/json' };
    assertFailure(await guarded.asAnn('/-/zip', { method: 'POST', headers, body }), 403, /secret\.txt/);
    assertFailure(await guarded.asAnonymous('/-/zip/a/'), 401, /Sign in/);
    guarded.grant(grant('a/', ['write', 'manage']));
    // As in a listing: the user may see the folder, and nothing in it.
    assert.deepEqual(contentsOf(await guarded.asAnn('/-/zip/a/')), { 'a/': '' });
  });

  it('list missing items only for users who may read their folder', async () => {
    const hidden = await startGuardedService(memory, {
      wrap: (store) => ({
        ...store,
        list: async (folder, options) => {
          if (folder === 'a/private/sealed/') throw new StoreError('denied', 'Denied.');
          const page = await store.list(folder, options);
          return folder === 'a/private/' ? { ...page, omitted: ['line\nfeed'] } : page;
        },
      }),
    });
    try {
      await hidden.plant({ 'a/1': '1', 'a/private/2': '2', 'a/private/sealed/3': '3' });
      hidden.grant(grant('a/', ['read']), grant('a/private/', []));
      assert.deepEqual(contentsOf(await hidden.asAnn('/-/zip/a/')), { 'a/1': '1' });
      hidden.grant(grant('a/', ['read']));
      assert.deepEqual(contentsOf(await hidden.asAnn('/-/zip/a/')), {
        'a/1': '1',
        'a/private/2': '2',
        'Missing files.txt':
          'This archive is incomplete. Holdall could not read:\n\n' +
          '"a/private/line\\nfeed": its name is not valid, or its path is too long\n' +
          '"a/private/sealed/": the service has no permission\n',
      });
    } finally {
      await hidden.stop();
    }
  });

  it('have another ETag for a user who may read less', async () => {
    guarded.grant(grant('a/', ['read']));
    const all = await guarded.asAnn('/-/zip/a/', { method: 'HEAD' });
    guarded.grant(grant('a/', ['read']), grant('a/private/', []));
    const less = await guarded.asAnn('/-/zip/a/', { method: 'HEAD' });
    assert.notEqual(less.headers.etag, all.headers.etag);
  });
});
