import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { StoreError } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { kindConflict } from '../../src/model/store-errors.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { until } from '../../testing/until.ts';
import { form, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { disk } from '../contract/backend.ts';
import { silentLog } from '../contract/bytes.ts';
import { begin, beginUpload, type Call, type HttpResponse, jsonOf, send, within } from './client.ts';

const ALL = grant('', PERMISSIONS);
const FILES = { 'p/s/a.txt': 'text', 'p/s/b/c.txt': 'deep', 'p/sx.txt': 'sibling', 'p/other/d.txt': 'other' };
const LARGE = 'x'.repeat(6 * 1024 * 1024);

const codeOf = (response: HttpResponse) => (jsonOf(response) as { code?: string }).code;
const is = (response: HttpResponse, status: number, code?: string) => {
  assert.deepEqual([response.status, codeOf(response)], [status, code], response.body.toString());
};
const cookieOf = (response: HttpResponse) => String(response.headers['set-cookie']).split(';')[0] ?? '';
const parts = (name: string, fields: Readonly<Record<string, string>> = {}, value = 'new') => [
  ...Object.entries(fields).map(([field, text]) => ({ name: field, value: text })),
  { name: 'file', filename: name, value },
];

/** Refuses to open `p/s/refused/`, and to change `p/s/read-only/`, which exists, as the system does for a user other than root. */
function refusing(store: Store): Store {
  const denied = () => new StoreError('denied', 'The operating system denied access.');
  return {
    ...store,
    hasFolder: async (path, options) => {
      if (path === 'p/s/refused/') throw denied();
      return path === 'p/s/read-only/' || (await store.hasFolder?.(path, options)) === true;
    },
    stat: async (path, options) => {
      if (path.startsWith('p/s/refused/')) throw denied();
      return store.stat(path, options);
    },
    stage: async (...args) => {
      const staged = (await store.stage?.(...args)) ?? assert.fail('The store can stage.');
      return {
        commit: async (path, ...rest) => {
          if (path === 'p/s/refused') throw kindConflict(path);
          if (/^p\/s\/(refused|read-only)\//.test(path)) throw denied();
          return staged.commit(path, ...rest);
        },
        abort: () => staged.abort(),
      };
    },
  };
}

describe('A visitor of a share link', () => {
  let service: GuardedService;
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-visitors-'));
    const open = async () => {
      const { store } = await openDisk({ root, log: silentLog });
      return { store, streamsLargeFiles: true, close: async () => store.close?.() };
    };
    service = await startGuardedService({ ...disk, open }, { hasJobs: true, wrap: refusing });
  });
  after(async () => {
    await service.stop();
    await rm(root, { recursive: true });
  });
  beforeEach(async () => {
    service.grant(ALL);
    await service.plant(FILES);
    service.events();
  });

  /** Creates a link as Ann, and returns how its visitor sends requests. */
  const share = async (settings: object = {}) => {
    const response = await service.asAnn('/-/links', json({ path: 'p/s/', ...settings }));
    const { token, link } = jsonOf(response) as { token: string; link: { id: string } };
    const base = `/-/s/${token}`;
    return {
      base,
      token,
      id: link.id,
      get: (path: string, headers: Readonly<Record<string, string>> = {}, call: Call = {}) =>
        send(service.port, base + path, { ...call, headers }),
      upload: (...args: Parameters<typeof parts>) => send(service.port, `${base}/upload`, form(parts(...args))),
      admin: async () => (jsonOf(await service.asAnn(`/-/links/${link.id}`)) as { link: Record<string, unknown> }).link,
      change: (body: object) => service.asAnn(`/-/links/${link.id}`, { ...json(body), method: 'PATCH' }),
      revoke: () => service.asAnn(`/-/links/${link.id}`, { method: 'DELETE' }),
      enter: (password: string, headers: Readonly<Record<string, string>> = {}) =>
        send(service.port, `${base}/-/link/session`, json({ password }, headers)),
    };
  };

  /** Creates a link with a password whose hash takes little time. */
  const shareProtected = async (password: string, settings: object = {}) => {
    const link = await share(settings);
    const { table } = service.links ?? assert.fail('The service has links.');
    const stored = await table.find(link.id);
    assert.ok(stored && (await table.change(stored, { ...stored, passwordHash: hashForTest(password) })));
    return link;
  };

  describe('with a password', () => {
    it('can do nothing without it, by any route and method', async () => {
      const link = await shareProtected('right password', { permissions: ['read', 'write'] });
      for (const [method, path] of [
        ['GET', '/'],
        ['GET', '/b/'],
        ['GET', '/?prefix=b'],
        ['GET', '/file/a.txt'],
        ['GET', '/file/missing'],
        ['GET', '/file/a.txt?download=1'],
        ['GET', '/thumb/a.txt'],
        ['GET', '/-/preview/a.txt?width=320'],
        ['GET', '/-/media/a.txt'],
        ['POST', '/-/media'],
        ['GET', '/-/link'],
        ['GET', '/-/signed/a.txt?expires=9999999999&signature=x'],
        ['POST', '/upload'],
        ['POST', '/create_folder'],
        ['POST', '/copy'],
        ['DELETE', '/delete/a.txt'],
      ] as const) {
        const response = await link.get(path, {}, { method });
        const expected = path.startsWith('/-/signed') ? [403, 'invalid-signature'] : [401, 'link-password-required'];
        assert.deepEqual([response.status, codeOf(response)], expected, `${method} ${path}`);
        assert.equal(response.headers['www-authenticate'], undefined);
      }
      assert.equal((await link.get('/file/a.txt', {}, { method: 'HEAD' })).status, 401);
      const secrets = ['?password=right+password', '?token=x'];
      for (const query of secrets) is(await link.get(`/file/a.txt${query}`), 401, 'link-password-required');
      const basic = `Basic ${Buffer.from('x:right password').toString('base64')}`;
      is(await link.get('/file/a.txt', { authorization: basic }), 401, 'link-password-required');
    });

    it('gets a cookie for the URLs of the link only', async () => {
      const link = await share({ password: 'right password' });
      const entered = await link.enter('right password');
      const setCookie = String(entered.headers['set-cookie']);
      assert.match(setCookie, new RegExp(`; Path=${link.base};? `));
      assert.match(setCookie, /HttpOnly/);
      assert.match(setCookie, /SameSite=Lax/);
      const cookie = cookieOf(entered);
      assert.equal((await link.get('/file/a.txt', { cookie })).body.toString(), 'text');
      const other = await shareProtected('right password');
      is(await other.enter('wrong password'), 401, 'wrong-link-password');
      is(await other.get('/file/a.txt', { cookie }), 401, 'link-password-required');
      const forged = cookie.replace(/=\d+/, '=9999999999999');
      is(await link.get('/file/a.txt', { cookie: forged }), 401, 'link-password-required');
    });

    it('loses access when the password changes', async () => {
      const link = await shareProtected('right password');
      const cookie = cookieOf(await link.enter('right password'));
      await link.change({ password: 'another password' });
      is(await link.get('/file/a.txt', { cookie }), 401, 'link-password-required');
      await link.change({ password: null });
      assert.equal((await link.get('/file/a.txt')).status, 200);
    });

    it('is throttled, whatever the address in a header says', async () => {
      const link = await shareProtected('right password');
      let response = await link.enter('wrong 0');
      for (let attempt = 1; attempt < 40 && response.status === 401; attempt++) {
        response = await link.enter(`wrong ${attempt}`, { 'x-forwarded-for': `192.0.2.${attempt}` });
      }
      assert.equal(response.status, 429, response.body.toString());
      assert.match(String(response.headers['retry-after']), /^\d+$/);
      assert.equal((await link.enter('right password')).status, 429);
    });

    it('refuses the form of another site', async () => {
      const link = await shareProtected('right password', { permissions: ['read', 'write'] });
      const headers = { origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' };
      const cookie = cookieOf(await link.enter('right password'));
      is(await link.get('/upload', { ...headers, cookie }, { method: 'POST' }), 403, 'cross-site-request');
    });
  });

  describe('whose link ends', () => {
    const GONE = [404, 'link-not-found'] as const;

    it('gets the same response as for a link that never existed', async () => {
      const [revoked, expired, unshared] = [await share(), await share(), await share({ path: 'p/other/' })];
      await revoked.revoke();
      await expired.change({ expiresAt: new Date(Date.now() + 50).toISOString() });
      await until('the link to expire', async () => (await expired.get('/')).status === 404);
      service.grant(grant('p/s', PERMISSIONS));
      const never = { get: (path: string) => send(service.port, `/-/s/${'A'.repeat(32)}${path}`) };
      for (const path of ['/', '/file/a.txt', '/file/missing', '/-/link', '/-/assets/x', '/thumb/a.txt']) {
        const expected = await never.get(path);
        for (const link of [revoked, expired, unshared]) {
          const response = await link.get(path);
          const { 'x-request-id': _, date: __, ...headers } = response.headers;
          const { 'x-request-id': ___, date: ____, ...other } = expected.headers;
          assert.deepEqual([response.status, headers], [expected.status, other], path);
          assert.deepEqual(response.body, expected.body, path);
        }
      }
      is(await revoked.get('/'), ...GONE);
    });

    it('loses access with the permissions of its creator, and gets it back with them', async () => {
      const link = await share();
      service.grant(grant('p/other', PERMISSIONS));
      is(await link.get('/file/a.txt'), ...GONE);
      service.grant(ALL, grant('p/s/b', []));
      assert.equal((await link.get('/file/a.txt')).status, 200);
      is(await link.get('/file/b/c.txt'), 403, 'permission-denied');
      service.removeAnn();
      is(await link.get('/file/a.txt'), ...GONE);
    });

    it('loses downloads in progress', async () => {
      await service.plant({ 'p/s/large.bin': LARGE.repeat(8) });
      const link = await share();
      const { location } = (await link.get('/file/large.bin')).headers;
      const url = new URL(String(location), `http://127.0.0.1${link.base}/file/large.bin`);
      const download = begin(service.port, url.pathname + url.search);
      const response = await download.response;
      assert.equal(response.statusCode, 200);
      await link.revoke();
      // Slower than the file could be sent, so that the download is still in progress when the link ends.
      const readSlowly = async () => {
        for await (const _ of response) await delay(20);
      };
      await assert.rejects(within('the end of the download', readSlowly()), /aborted/);
      is(await send(service.port, url.pathname + url.search), ...GONE);
    });
  });

  describe('of a file request', () => {
    const request = (settings: object = {}) => share({ permissions: ['write'], ...settings });

    it('sees nothing, whether it exists or not', async () => {
      const link = await request();
      for (const path of [
        '/file/a.txt',
        '/file/missing',
        '/thumb/a.txt',
        '/-/preview/a.txt?width=320',
        '/file/b/c.txt',
        '/file/a.txt/x',
      ]) {
        is(await link.get(path), 403, 'permission-denied');
        assert.equal((await link.get(path, {}, { method: 'HEAD' })).status, 403, path);
      }
      for (const path of ['/', '/b/', '/missing/', '/a.txt/']) {
        const response = await link.get(path);
        const { prefix: _, ...listing } = jsonOf(response);
        assert.deepEqual(listing, { success: true, entries: [], rights: ['write'] }, path);
      }
      const { entries } = jsonOf(await link.get('/?name=a.txt&name=b%2F')) as { entries: readonly unknown[] };
      assert.deepEqual(entries, []);
    });

    it('gets the same responses for names that are taken and free', async () => {
      const link = await request();
      const summaryOf = (response: HttpResponse) => {
        const { 'x-request-id': _, date: __, ...headers } = response.headers;
        return { status: response.status, headers: Object.keys(headers), body: { ...jsonOf(response), path: '' } };
      };
      const free = summaryOf(await link.upload('free.txt'));
      assert.equal(free.status, 200);
      for (const [name, fields] of [
        ['a.txt', {}],
        ['b', {}],
        ['x.txt', { prefix: 'a.txt/' }],
        ['c.txt', { prefix: 'b/' }],
      ] as const) {
        assert.deepEqual(summaryOf(await link.upload(name, fields)), free, name);
      }
      const contents = await service.contents();
      assert.deepEqual([contents['p/s/a.txt'], contents['p/s/a (2).txt']], ['text', 'new']);
      assert.equal(contents['p/s/b/c (2).txt'], 'new');
    });

    it('gets the same responses for names that are locked and free', async () => {
      const lock = async (path: string, depth: string) => {
        const xml =
          '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
        const response = await service.asAnn(`/-/dav/${path}`, { method: 'LOCK', headers: { depth }, body: xml });
        assert.ok([200, 201].includes(response.status), response.body.toString());
        return String(response.headers['lock-token']);
      };
      const unlock = (path: string, token: string) =>
        service.asAnn(`/-/dav/${path}`, { method: 'UNLOCK', headers: { 'lock-token': token } });
      const link = await request();
      await service.plant({ ...FILES, 'p/s/b/low/x': 'x' });
      const uploads = (name: string) =>
        Promise.all([
          link.upload(name, { prefix: 'b/' }),
          link.upload(name, { prefix: 'b/low/' }),
          link.upload(name, { prefix: 'b/novel/' }),
          link.upload(name, { prefix: 'novel/' }),
          link.upload(name),
          link.get(`/file/b/${name}`, {}, { method: 'PUT', body: 'new' }),
        ]);
      for (const [index, [path, depth]] of (
        [
          ['p/s/b/', 'infinity'],
          ['p/s/b/', '0'],
          ['p/s/a.txt', '0'],
        ] as const
      ).entries()) {
        const token = await lock(path, depth);
        const filesIn = async () => Object.keys(await service.contents()).filter((each) => each.startsWith('p/s/b/'));
        const present = await filesIn();
        const statuses = (await uploads(`${index}.txt`)).map(({ status }) => status);
        assert.deepEqual(statuses, [200, 200, 200, 200, 200, 201], path + depth);
        is(await link.upload('a.txt'), 200);
        if (path === 'p/s/b/') assert.deepEqual(await filesIn(), present);
        await unlock(path, token);
      }
      for (const [path, depth] of [
        ['p/s/', 'infinity'],
        ['p/s/', '0'],
        ['p/', 'infinity'],
      ] as const) {
        const token = await lock(path, depth);
        for (const response of await uploads('root.txt')) is(response, 409, 'locked');
        await unlock(path, token);
      }
    });

    it('gets the same responses for long paths and names, and for names that are taken many times', async () => {
      const link = await request();
      const statusOf = async (...upload: Parameters<typeof link.upload>) => {
        const { status, body } = await link.upload(...upload);
        return `${status} ${body.toString().replaceAll(/taken|novel|\\"[^"]*"/g, '')}`;
      };
      const long = 'x'.repeat(246);
      const numbered = Array.from({ length: 100 }, (_, index) => `p/s/taken (${index + 2})`);
      const taken = ['p/s/taken', ...numbered, `p/s/taken${long}.txt`];
      await service.plant({ ...FILES, ...Object.fromEntries(taken.map((path) => [path, 'old'])) });
      assert.match(await statusOf('taken'), /^200/);
      assert.equal(await statusOf(`taken${long}.txt`), await statusOf(`novel${long}.txt`));
      const deep = `/${'y'.repeat(200)}`.repeat(4);
      for (const bytes of [100, 123, 124, 125, 203, 205, 208, 209]) {
        const rest = `${deep}/${'z'.repeat(bytes)}`;
        assert.equal(
          await statusOf('f', { prefix: `taken${rest}` }),
          await statusOf('f', { prefix: `novel${rest}` }),
          `${bytes}`,
        );
      }
    });

    it('gets the same errors for names that are taken and free', async () => {
      const [plain, asking] = [await request(), await request({ askSender: true })];
      const deep = 'd/'.repeat(33);
      const long = 'x'.repeat(256);
      const errorOf = async (link: typeof plain, name: string, path: string, headers = {}) => {
        const [onPath, inForm] = [name + path, { prefix: `${name}/${path.slice(1, path.lastIndexOf('/'))}` }];
        const sent = await Promise.all([
          link.get(`/file/${onPath}`, headers, { method: 'PUT', body: 'new' }),
          send(
            service.port,
            `${link.base}/upload`,
            form(parts(path.slice(path.lastIndexOf('/') + 1), inForm), headers),
          ),
          link.get(`/file${path}?sender=${name}`, headers, { method: 'PUT', body: 'new' }),
        ]);
        return sent.map(({ status, body }) => `${status} ${body.toString().replaceAll(name, 'NAME')}`);
      };
      for (const link of [plain, asking]) {
        for (const [path, headers] of [
          ['/x', { 'if-match': '"x"' }],
          ['/x', { 'if-match': '*' }],
          [`/${deep}x`, {}],
          [`/${long}`, {}],
        ] as const) {
          const taken = await errorOf(link, 'a.txt', path, headers);
          assert.deepEqual(taken, await errorOf(link, 'n.txt', path, headers), path);
          assert.ok(!taken.join('').includes('(2)'), String(taken));
        }
      }
      const { uploads } = await plain.admin();
      assert.equal(uploads, 0);
    });

    it('gets the same responses for the names of symbolic links, and of folders that the store does not let it use', async () => {
      const link = await request();
      const statuses = async (name: string) => {
        const put = await link.get(`/file/${name}`, {}, { method: 'PUT', body: 'new' });
        const below = await link.get(`/file/${name}/x/y`, {}, { method: 'PUT', body: 'new' });
        const sent = [put, below, await link.upload('f', { prefix: `${name}/` })];
        return sent.map(({ status, body }) => `${status} ${body.toString().replaceAll(name, 'NAME')}`);
      };
      const free = await statuses('free');
      assert.ok(
        free.every((each) => /^20[01] /.test(each)),
        String(free),
      );
      await symlink('/etc', join(root, 'p/s/linked'));
      await symlink('nowhere', join(root, 'p/s/dangling'));
      try {
        for (const name of ['linked', 'dangling', 'refused', 'read-only'])
          assert.deepEqual(await statuses(name), free, name);
      } finally {
        for (const name of ['linked', 'dangling']) await unlink(join(root, 'p/s', name));
      }
      assert.equal((await service.contents())['p/s/linked (2)/x/y'], undefined);
      assert.equal((await service.contents())['p/s/linked (3)/x/y'], 'new');
    });

    it('puts files into the folder of the sender, and needs the name', async () => {
      const link = await request({ askSender: true });
      is(await link.upload('a.txt'), 400, 'sender-required');
      for (const sender of ['', ' ', '..', '.', 'a/b', '../up', 'x'.repeat(101)]) {
        is(await link.upload('a.txt', { sender }), 400, 'sender-required');
      }
      const response = await link.upload('a.txt', { sender: 'Zoë Ünal', prefix: 'photos/' });
      assert.equal(response.status, 200, response.body.toString());
      assert.equal((await service.contents())['p/s/Zoë Ünal/photos/a.txt'], 'new');
    });

    it('can send as many files as allowed, of the allowed size', async () => {
      const link = await request({ maxUploads: 3, maxUploadBytes: 10 });
      is(await link.upload('big.txt', {}, 'x'.repeat(11)), 413, 'upload-too-large');
      is(await link.upload('bad/../.', {}), 400, 'invalid-path');
      const statuses = (await Promise.all(Array.from({ length: 8 }, (_, i) => link.upload(`${i}.txt`)))).map(
        ({ status }) => status,
      );
      assert.equal(statuses.filter((status) => status === 200).length, 3, String(statuses));
      const stored = Object.keys(await service.contents()).filter((path) => /^p\/s\/\d\.txt$/.test(path));
      assert.equal(stored.length, 3);
      assert.deepEqual([(await link.admin())['uploads'], (await link.admin())['inactiveReason']], [3, 'uploads']);
      is(await link.upload('more.txt'), 404, 'link-not-found');
    });

    it('uses up no upload before its content has arrived', async () => {
      const link = await request({ maxUploads: 1 });
      const stalled = beginUpload(service.port, {}, { method: 'PUT', path: `${link.base}/file/stalled.txt` });
      await stalled.write(Buffer.from('x'));
      await until('the upload has begun', async () => (await link.admin())['lastUsedAt'] !== undefined);
      is(await link.upload('a2.txt'), 200, undefined);
      is(await stalled.finish(), 403, 'link-exhausted');
      assert.deepEqual([(await link.admin())['uploads'], (await link.admin())['inactiveReason']], [1, 'uploads']);
    });

    it('records changes with the ID of the link, and without its token', async () => {
      const link = await request();
      await link.upload('sent.txt');
      const { changes } = jsonOf(await service.asAnn('/-/changes?since=oldest')) as {
        changes: readonly Record<string, unknown>[];
      };
      const change = changes.at(-1);
      assert.deepEqual([change?.['path'], change?.['link'], change?.['user']], ['p/s/sent.txt', link.id, undefined]);
      const events = service.events();
      assert.ok(
        events.some(({ action, link: id, path }) => action === 'upload' && id === link.id && path === 'p/s/sent.txt'),
      );
      assert.ok(!JSON.stringify(events).includes(link.token));
    });
  });

  describe('of a link with a download limit', () => {
    it('gets exactly so many responses with content, also at once', async () => {
      const link = await share({ maxDownloads: 3 });
      assert.equal((await link.get('/file/a.txt', {}, { method: 'HEAD' })).status, 200);
      is(await link.get('/file/missing'), 404, 'not-found');
      const { etag = '' } = (await link.get('/file/a.txt')).headers;
      assert.equal((await link.get('/file/a.txt', { 'if-none-match': etag })).status, 304);
      const ranges = Array.from({ length: 8 }, (_, i) => link.get('/file/a.txt', { range: `bytes=${i % 4}-` }));
      const delivered = (await Promise.all(ranges)).filter(({ status }) => status === 206);
      assert.equal(delivered.length, 2);
      const { downloads, inactiveReason } = await link.admin();
      assert.deepEqual([downloads, inactiveReason], [3, 'downloads']);
      is(await link.get('/file/a.txt'), 404, 'link-not-found');
    });

    it('gets small previews without limit, and large ones as downloads', async () => {
      const picture =
        '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="9" height="9"/></svg>';
      await service.plant({ 'p/s/picture.svg': picture });
      const link = await share({ maxDownloads: 1 });
      const preview = (width: number, method = 'GET') =>
        link.get(`/-/preview/picture.svg?width=${width}`, {}, { method });
      for (const width of [640, 640]) assert.equal((await preview(width)).status, 200);
      assert.equal((await preview(1024, 'HEAD')).status, 200);
      assert.equal((await link.admin())['downloads'], 0);
      assert.equal((await preview(1024)).status, 200);
      assert.equal((await link.admin())['downloads'], 1);
      is(await preview(1024), 404, 'link-not-found');
    });

    it('gets exactly so many responses with content at the signed URL of a large file', async () => {
      await service.plant({ 'p/s/large.bin': LARGE });
      const link = await share({ maxDownloads: 2 });
      for (const method of ['GET', 'HEAD'])
        assert.equal((await link.get('/file/large.bin', {}, { method })).status, 302);
      const { status, headers } = await link.get('/file/large.bin');
      assert.equal(status, 302);
      assert.equal((await link.admin())['downloads'], 0);
      assert.match(String(headers.location), /^\.\.\/-\/signed\/large\.bin\?/);
      const url = new URL(String(headers.location), `http://x${link.base}/file/large.bin`);
      const part = await send(service.port, url.pathname + url.search, { headers: { range: 'bytes=10-19' } });
      assert.deepEqual([part.status, part.body.toString()], [206, 'x'.repeat(10)]);
      assert.equal((await send(service.port, url.pathname + url.search, { method: 'HEAD' })).status, 200);
      const requests = Array.from({ length: 4 }, (_, i) =>
        send(service.port, url.pathname + url.search, { headers: { range: `bytes=${i}-${i}` } }),
      );
      const statuses = (await Promise.all(requests)).map((response) => response.status);
      assert.deepEqual(
        statuses.toSorted((left, right) => left - right),
        [206, 403, 403, 403],
      );
      assert.deepEqual([(await link.admin())['downloads'], (await link.admin())['inactiveReason']], [2, 'downloads']);
      const other = await share();
      const elsewhere = url.pathname.replace(link.base, other.base) + url.search;
      is(await send(service.port, elsewhere), 403, 'invalid-signature');
      const renamed = url.pathname.replace('large.bin', 'a.txt') + url.search;
      is(await send(service.port, renamed), 403, 'invalid-signature');
    });
  });

  describe('who downloads everything as a ZIP archive', () => {
    it('gets the shared files under relative names, and counts as one download', async () => {
      service.grant(ALL, grant('p/s/b', []));
      const link = await share({ maxDownloads: 1 });
      assert.equal((await link.get('/-/zip/', {}, { method: 'HEAD' })).status, 200);
      const { status, headers, body } = await link.get('/-/zip/');
      assert.equal(status, 200);
      assert.match(String(headers['content-disposition']), /^attachment; filename="s\.zip"/);
      assert.ok(body.includes('a.txt'));
      for (const hidden of ['p/', 'c.txt', 'sx.txt', 'other']) assert.ok(!body.includes(hidden), hidden);
      assert.equal((await link.admin())['downloads'], 1);
      is(await link.get('/-/zip/'), 404, 'link-not-found');
    });

    it('gets nothing from outside by a list of paths', async () => {
      const link = await share();
      for (const path of ['../', '../sx.txt', 'p/sx.txt', '/../sx.txt', 'sx.txt', '..%2Fsx.txt']) {
        const response = await send(service.port, `${link.base}/-/zip`, json({ paths: [path] }));
        assert.ok([400, 404].includes(response.status), `${path}: ${response.status}`);
      }
      const single = await share({ path: 'p/sx.txt' });
      const { body } = await single.get('/-/zip/');
      assert.ok(body.includes('sibling') && !body.includes('a.txt'));
      is(await single.get('/-/zip/s/'), 403, 'permission-denied');
    });
  });

  describe('of a link with read and write permission and a limit of uploads', () => {
    const createFolder = ({ base }: { readonly base: string }, path: string, headers = {}) =>
      send(service.port, `${base}/create_folder`, json({ path }, headers));

    it('creates as many files and folders as allowed', async () => {
      const link = await share({ permissions: ['read', 'write'], maxUploads: 3 });
      is(await createFolder(link, 'one/two'), 200);
      is(await createFolder(link, 'one/two'), 200);
      is(await createFolder(link, 'one'), 200);
      is(await createFolder(link, 'a.txt'), 409, 'wrong-kind');
      is(await createFolder(link, `new/${'n'.repeat(256)}`), 400, 'path-too-long');
      is(await createFolder(link, 'new', { 'if-match': '"x"' }), 412, 'condition-failed');
      assert.equal((await link.admin())['uploads'], 1);
      is(await link.upload('file.txt'), 200);
      const statuses = (await Promise.all(Array.from({ length: 5 }, (_, i) => createFolder(link, `many${i}`)))).map(
        ({ status }) => status,
      );
      assert.deepEqual(
        statuses.toSorted((a, b) => a - b),
        [200, 403, 403, 403, 403],
      );
      is(await createFolder(link, 'more'), 403, 'link-exhausted');
      is(await link.upload('more.txt'), 403, 'link-exhausted');
      is(await createFolder(link, 'one'), 200);
      const names = (jsonOf(await link.get('/')) as { entries: { name: string }[] }).entries.map(({ name }) => name);
      assert.equal(names.filter((name) => name.startsWith('many')).length, 1);
      assert.ok(!names.includes('new') && !names.includes('more'), String(names));
      assert.equal((await link.admin())['uploads'], 3);
    });

    it('leaves no folders behind when uploads fail', async () => {
      const link = await share({ permissions: ['read', 'write'], maxUploads: 2 });
      const listing = (await link.get('/')).body.toString();
      const long = 'n'.repeat(256);
      is(await link.upload(long, { prefix: 'one/two/' }), 400, 'path-too-long');
      is(await link.get(`/file/one/two/${long}`, {}, { method: 'PUT', body: 'x' }), 400, 'path-too-long');
      const digest = { 'content-digest': `sha-256=:${Buffer.alloc(32).toString('base64')}:` };
      is(await link.get('/file/one/two/x', digest, { method: 'PUT', body: 'x' }), 400, 'digest-mismatch');
      is(await link.get('/file/one/two/x/../y', {}, { method: 'PUT', body: 'x' }), 400, 'invalid-path');
      assert.equal((await link.get('/')).body.toString(), listing);
    });

    it('creates no folders by WebDAV', async () => {
      const link = await share({ permissions: ['read', 'write'] });
      assert.equal((await link.get('/-/dav/new/', {}, { method: 'MKCOL' })).status, 404);
      is(await link.get('/new/', {}, { method: 'MKCOL' }), 405, 'method-not-allowed');
    });
  });

  it('gets no ID of a change, because visitors undo nothing', async () => {
    const link = await share({ permissions: ['read', 'write'] });
    for (const [path, body] of [
      ['/create_folder', { path: 'new' }],
      ['/copy', { source: 'a.txt', destination: 'copy.txt', is_folder: false }],
    ] as const) {
      const response = await send(service.port, link.base + path, json(body));
      assert.deepEqual(Object.keys(jsonOf(response) as object), ['success', 'message'], path);
    }
  });

  it('has only the permissions of the link at its URL, even as a user', async () => {
    const link = await share();
    is(await service.asAnn(`${link.base}/delete/a.txt`, { method: 'DELETE' }), 403, 'permission-denied');
    is(await service.asAnn(`${link.base}/-/trash`), 404, 'unknown-route');
  });

  it('leaves the token out of the audit log if the URL is misspelled', async () => {
    const { base, token } = await share();
    service.grant();
    for (const path of [`/${base}/`, `/-%2fs%2f${token}/`, `/file${base}`, `/-/zip${base}/`]) {
      is(await send(service.port, path, {}), 401, 'sign-in-required');
    }
    const events = JSON.stringify(service.events());
    assert.match(events, /-\/s\/\[link\]/);
    assert.ok(!events.includes(token), events);
  });

  it('gets responses that keep the URL out of referrers, search engines and shared caches', async () => {
    const link = await share();
    const page = await link.get('/', { accept: 'text/html' });
    for (const response of [page, await link.get('/file/a.txt'), await link.get('/file/missing')]) {
      assert.equal(response.headers['referrer-policy'], 'no-referrer');
      assert.match(String(response.headers['x-robots-tag']), /noindex/);
      assert.match(String(response.headers['cache-control']), /private|no-store/);
    }
    assert.ok(!page.body.toString().includes('sibling'));
    assert.ok(!page.body.toString().includes(link.token));
    assert.ok(!page.body.toString().includes('"p/'));
  });
});
