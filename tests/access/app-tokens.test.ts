import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, mock } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  begin,
  beginUpload,
  type Call,
  escapePath,
  type HttpResponse,
  jsonOf,
  send,
} from '../http/client.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const ALL = ['read', 'write', 'manage'] as const;
const ASYNC = { prefer: 'respond-async' };
const COPY = { source: 'p/a', destination: 'p/copy', is_folder: true };

let service: GuardedService;
/** Set while copies of folders have to wait. */
let gate: Promise<void> | undefined;
/** The signal of the last copy of a folder. */
let signalOfCopy: AbortSignal | undefined;

const wrap = (store: Store): Store => ({
  ...store,
  async copyFolder(from, to, options) {
    const { promise, reject } = Promise.withResolvers<never>();
    signalOfCopy = options.signal;
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason));
    await Promise.race([gate, promise]);
    if (!store.copyFolder) throw new Error('The store of this test copies folders.');
    return store.copyFolder(from, to, options);
  },
});

before(async () => {
  service = await startGuardedService(memory, { hasJobs: true, wrap });
});
after(() => service.stop());
async function reset(): Promise<void> {
  gate = undefined;
  signalOfCopy = undefined;
  service.grant(grant('', ALL));
  await service.appTokens?.table.revokeAll('ann');
  await service.plant({ 'p/a/1': 'one', 'p/b': 'b', 'px/c': 'c', top: 'top' });
  service.events();
}

interface Created {
  readonly id: string;
  readonly secret: string;
}

async function create(settings: object = {}): Promise<Created> {
  const response = await service.asAnn('/-/app-tokens', json({ name: 'Phone', ...settings }));
  assert.equal(response.status, 200, response.body.toString());
  const { token, secret } = jsonOf(response) as { token: { id: string }; secret: string };
  return { id: token.id, secret };
}

const revoke = async ({ id }: Created) => {
  assert.equal((await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE' })).status, 200);
};
const bearer = ({ secret }: Pick<Created, 'secret'>) => ({ authorization: `Bearer ${secret}` });
const withToken = (token: Pick<Created, 'secret'>, path: string, call: Call = {}) =>
  send(service.port, path, { ...call, headers: { ...bearer(token), ...call.headers } });
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});
const codeOf = (response: HttpResponse) => [response.status, jsonOf(response)['code']];

describe('The routes of app tokens', () => {
  beforeEach(reset);

  it('create a token, list it without its secret, and revoke it', async () => {
    const { id, secret } = await create({ folder: 'p', permissions: ['write', 'read'], expiresAt: null });
    assert.match(secret, /^holdall_app_[\w-]{43}$/);
    const listed = jsonOf(await service.asAnn('/-/app-tokens'))['tokens'] as Record<string, unknown>[];
    const [{ createdAt, ...token } = {}] = listed;
    assert.equal(typeof createdAt, 'string');
    assert.deepEqual(token, { id, name: 'Phone', folder: 'p/', permissions: ['read', 'write'] });
    const deleted = await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE' });
    assertSuccess(deleted, { message: 'App token revoked successfully' });
    assertFailure(await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE' }), 404, /does not exist/);
    const event = { event: 'change', path: 'p/', appToken: id, outcome: 'done', who: 'ann', way: 'token' };
    const actions = ['create app token', 'revoke app token'];
    assert.deepEqual(
      service.events(),
      actions.map((action) => ({ ...event, action })),
    );
  });

  it('reject values that are not valid, and repeat them', async () => {
    for (const [body, reason] of [
      [{}, /lacks "name"/],
      [{ name: '' }, /The name "" must have 1 to 200/],
      [{ name: 'a\nb' }, /no control characters/],
      [{ name: 'x'.repeat(201) }, /1 to 200 characters/],
      [{ name: 7 }, /must be string/],
      [{ name: 'x', folder: 'a/../b' }, /"a\/\.\.\/b/],
      [{ name: 'x', folder: 'a//b' }, /empty/],
      [{ name: 'x', permissions: [] }, /fewer than 1/],
      [{ name: 'x', permissions: ['read', 'fly'] }, /must be "read" or "write" or "manage"/],
      [{ name: 'x', permissions: ['read', 'read'] }, /duplicate/],
      [{ name: 'x', expiresAt: 'tomorrow' }, /The expiry "tomorrow" is not a date/],
      [{ name: 'x', expiresAt: '2027-02-31T00:00:00Z' }, /is not a date/],
      [{ name: 'x', expiresAt: '2001-01-01T00:00:00Z' }, /is not in the future/],
      [{ name: 'x', owner: 'bob' }, /unknown field "owner"/],
    ] as const) {
      assertFailure(await service.asAnn('/-/app-tokens', json(body)), 400, reason);
    }
    assert.deepEqual(jsonOf(await service.asAnn('/-/app-tokens'))['tokens'], []);
  });

  it('are only for users', async () => {
    const { id } = await create();
    service.grant(grant('', ALL, EVERYONE));
    assertFailure(
      await service.asAnonymous('/-/app-tokens', json({ name: 'x' })),
      401,
      'Sign in to manage app tokens.',
    );
    assert.deepEqual(jsonOf(await service.asAnonymous('/-/app-tokens'))['tokens'], []);
    assertFailure(await service.asAnonymous(`/-/app-tokens/${id}`, { method: 'DELETE' }), 404, /does not exist/);
  });

  it('reject requests that another site makes a browser send', async () => {
    const { id } = await create();
    const headers = { 'sec-fetch-site': 'cross-site', cookie: `${service.sessionCookie}=x` };
    assert.equal((await service.asAnn('/-/app-tokens', json({ name: 'x' }, headers))).status, 403);
    assert.equal((await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE', headers })).status, 403);
    assert.equal((jsonOf(await service.asAnn('/-/app-tokens'))['tokens'] as unknown[]).length, 1);
  });
});

describe('An app token', () => {
  beforeEach(reset);

  it('works as Bearer, and as the password of Basic with the name of its user or none', async () => {
    const { secret } = await create();
    for (const headers of [bearer({ secret }), basic('ann', secret), basic('', secret)]) {
      assert.equal((await send(service.port, '/file/top', { headers })).status, 200, JSON.stringify(headers));
    }
    for (const name of ['bob', 'Ann', 'ann ']) {
      const response = await send(service.port, '/file/top', { headers: basic(name, secret) });
      assertFailure(response, 401, new RegExp(`belongs to another user than "${name}"`));
    }
  });

  it('is invalid if it is misspelled, and never anonymous', async () => {
    service.grant(grant('', ALL, EVERYONE));
    const { secret } = await create();
    const others = [
      secret.slice(0, -1),
      `${secret}A`,
      secret.replace('app_', ''),
      secret.toUpperCase(),
      'holdall_app_',
    ];
    for (const other of others) {
      assert.deepEqual(codeOf(await withToken({ secret: other }, '/file/top')), [401, 'invalid-token'], other);
    }
  });

  it('records its last use', async () => {
    const token = await create();
    await withToken(token, '/file/top');
    await until('the last use is recorded', async () => {
      const [listed] = jsonOf(await service.asAnn('/-/app-tokens'))['tokens'] as { lastUsedAt?: string }[];
      return listed?.lastUsedAt !== undefined;
    });
  });

  it('ends at its expiry', async () => {
    const token = await create({ expiresAt: new Date(Date.now() + 60_000).toISOString() });
    assert.equal((await withToken(token, '/file/top')).status, 200);
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_001 });
    try {
      assert.deepEqual(codeOf(await withToken(token, '/file/top')), [401, 'token-expired']);
      const headers = basic('ann', token.secret);
      assert.deepEqual(codeOf(await send(service.port, '/file/top', { headers })), [401, 'token-expired']);
    } finally {
      mock.timers.reset();
    }
  });

  it('ends at once when it is revoked, and with its user', async () => {
    const token = await create();
    assert.equal((await withToken(token, '/file/top')).status, 200);
    await revoke(token);
    assert.deepEqual(codeOf(await withToken(token, '/file/top')), [401, 'invalid-token']);
    const other = await create();
    service.removeAnn();
    assert.deepEqual(codeOf(await withToken(other, '/file/top')), [401, 'invalid-token']);
  });

  it('gives what its user has at that moment, in its folder and of its permissions', async () => {
    const token = await create({ folder: 'p', permissions: ['read', 'write'] });
    const put = (path: string) => withToken(token, `/file/${path}`, { method: 'PUT', body: 'new' });
    assert.equal((await withToken(token, '/file/p/b')).status, 200);
    assert.equal((await put('p/new')).status, 201);
    for (const path of ['top', 'px/c', 'p', 'absent/x']) {
      const fetched = await withToken(token, `/file/${path}`);
      assertFailure(fetched, 403, /^This app token of "ann" doesn't give permission to read "/);
      assert.deepEqual(codeOf(await put(path)), [403, 'permission-denied'], path);
    }
    for (const path of ['p/../top', 'p/%2e%2e/top', 'p/./b', 'p//b', escapePath('p/../px/c')]) {
      assert.equal((await withToken(token, `/file/${path}`)).status, 400, path);
    }
    assert.deepEqual(codeOf(await put('p/b')), [403, 'permission-denied']);
    const remove = await withToken(token, '/delete/p/b', { method: 'DELETE' });
    assert.deepEqual(codeOf(remove), [403, 'permission-denied']);
    service.grant(grant('', ['read']));
    assert.deepEqual(codeOf(await put('p/newer')), [403, 'permission-denied']);
    const refusal = service.events().findLast(({ event }) => event === 'refusal');
    assert.deepEqual([refusal?.['who'], refusal?.['way'], refusal?.['appToken']], ['ann', 'app-token', token.id]);
  });

  it('lists only its folder, and tells its permissions', async () => {
    const token = await create({ folder: 'p/a', permissions: ['read'] });
    const list = async (path: string) =>
      jsonOf(await withToken(token, path, { headers: { accept: 'application/json' } }));
    const pathsOf = async (path: string) =>
      ((await list(path))['entries'] as { path: string }[]).map((each) => each.path);
    assert.deepEqual(await pathsOf('/'), ['p/']);
    assert.deepEqual(await pathsOf('/p/'), ['p/a/']);
    assert.deepEqual(await pathsOf('/p/a/'), ['p/a/1']);
    assert.deepEqual((await list('/p/a/'))['rights'], ['read']);
    assert.deepEqual((await list('/'))['rights'], []);
    assert.equal((await withToken(token, '/px/')).status, 403);
  });

  it('sees, restores and undoes only what is in its folder', async () => {
    const token = await create({ folder: 'p' });
    const deletion = await service.asAnn('/delete/top', { method: 'DELETE' });
    await service.asAnn('/delete/p/b', { method: 'DELETE' });
    const { entries } = jsonOf(await service.asAnn('/-/trash')) as { entries: { id: string; path: string }[] };
    const own = jsonOf(await withToken(token, '/-/trash')) as { entries: { id: string; path: string }[] };
    assert.ok(own.entries.length > 0 && own.entries.every(({ path }) => path.startsWith('p/')), JSON.stringify(own));
    const other = entries.find(({ path }) => path === 'top') ?? assert.fail();
    assert.equal((await withToken(token, `/-/trash/${other.id}/restore`, json({}))).status, 404);
    assert.equal((await withToken(token, `/-/trash/${other.id}`, { method: 'DELETE' })).status, 404);
    const change = String(jsonOf(deletion)['change']);
    assert.equal((await withToken(token, '/-/undo', json({ change }))).status, 404);
    assert.equal((await service.asAnn('/-/undo', json({ change }))).status, 200);
  });

  it('manages no share links, webhooks, app tokens and sessions, whatever its user may do', async () => {
    const token = await create();
    for (const [method, path, body] of [
      ['GET', '/-/links', undefined],
      ['POST', '/-/links', { path: 'p/' }],
      ['DELETE', '/-/links/x', undefined],
      ['GET', '/-/webhooks', undefined],
      ['POST', '/-/webhooks', { url: 'https://example.org' }],
      ['GET', '/-/app-tokens', undefined],
      ['POST', '/-/app-tokens', { name: 'x' }],
      ['DELETE', `/-/app-tokens/${token.id}`, undefined],
      ['POST', '/-/session', { name: 'ann', password: 'x' }],
      ['GET', '/-/sign-in', undefined],
    ] as const) {
      for (const headers of [bearer(token), basic('ann', token.secret)]) {
        const call = body ? json(body, headers) : { headers: { ...headers, accept: 'application/json' } };
        const response = await send(service.port, path, { ...call, method });
        assert.deepEqual(codeOf(response), [403, 'permission-denied'], `${method} ${path}`);
        assert.match(String(jsonOf(response)['error']), /^App tokens can't manage share links/);
      }
    }
    assert.ok(service.events().some(({ event, appToken }) => event === 'refusal' && appToken === token.id));
    assert.equal((await service.asAnn('/-/app-tokens')).status, 200);
  });
});

describe('Work of an app token that lasts', () => {
  beforeEach(reset);

  it('ends a stream of changes when the token is revoked', async () => {
    const token = await create({ folder: 'p' });
    const stream = begin(service.port, '/-/changes?folder=p', {
      headers: { ...bearer(token), accept: 'text/event-stream' },
    });
    const response = await stream.response;
    let text = '';
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    response.on('error', () => {});
    response.once('close', end);
    await service.asAnn('/file/px/new', { method: 'PUT', body: 'x' });
    await service.asAnn('/file/p/new', { method: 'PUT', body: 'x' });
    await until('the change in the folder has arrived', () => text.includes('"p/new"'));
    assert.ok(!text.includes('px/new'), text);
    await revoke(token);
    await ended;
  });

  it('interrupts an upload when the token is revoked, and stores nothing', async () => {
    const token = await create();
    const sending = beginUpload(service.port, bearer(token), { method: 'PUT', path: '/file/p/late' });
    await sending.write(Buffer.from('begun'));
    assert.equal((await withToken(token, '/file/top')).status, 200);
    await revoke(token);
    await until('the connection is closed', () =>
      sending.write(Buffer.from('more')).then(
        () => false,
        () => true,
      ),
    );
    assert.ok(!('p/late' in (await service.contents())));
  });

  it('aborts an operation on a folder when the token is revoked', async () => {
    const token = await create();
    gate = new Promise(() => {});
    const copying = begin(service.port, '/copy', { ...json(COPY, bearer(token)) });
    const signal = await until('the copy has begun', () => signalOfCopy);
    await revoke(token);
    await until('the copy is aborted', () => signal.aborted);
    await assert.rejects(copying.response);
  });

  it('keeps the limit of the token in jobs, and ends them with it', async () => {
    const token = await create({ folder: 'p' });
    const outside = await withToken(token, '/copy', json({ ...COPY, destination: 'copy' }, ASYNC));
    assert.deepEqual(codeOf(outside), [403, 'permission-denied']);
    gate = new Promise(() => {});
    const started = await withToken(token, '/copy', json(COPY, ASYNC));
    assert.equal(started.status, 202);
    const { id } = (jsonOf(started) as { job: { id: string } }).job;
    const signal = await until('the copy has begun', () => signalOfCopy);
    await revoke(token);
    await until('the copy is aborted', () => signal.aborted);
    const job = await until('the job has ended', async () => {
      const found = jsonOf(await service.asAnn(`/-/jobs/${id}`))['job'] as {
        status: string;
        failure?: { code: string };
      };
      return found.status === 'running' ? undefined : found;
    });
    assert.deepEqual([job.status, job.failure?.code], ['failed', 'permission-denied']);
  });

  it('empties only its part of the trash, in a job', async () => {
    const token = await create({ folder: 'p' });
    for (const path of ['top', 'p/b']) await service.asAnn(`/delete/${path}`, { method: 'DELETE' });
    const headers = { prefer: 'respond-async, wait=10' };
    assert.equal((await withToken(token, '/-/trash', { method: 'DELETE', headers })).status, 200);
    const { entries } = jsonOf(await service.asAnn('/-/trash')) as { entries: { path: string }[] };
    const paths = new Set(entries.map(({ path }) => path));
    assert.deepEqual([paths.has('top'), paths.has('p/b')], [true, false]);
  });

  it('sees and cancels only its own jobs, also if its user manages the root', async () => {
    const [token, other] = [await create(), await create()];
    gate = new Promise(() => {});
    const start = async (response: Promise<HttpResponse>) => (jsonOf(await response) as { job: { id: string } }).job.id;
    const own = await start(withToken(token, '/copy', json(COPY, ASYNC)));
    const annual = await start(service.asAnn('/copy', json({ ...COPY, destination: 'p/other' }, ASYNC)));
    const list = async (response: Promise<HttpResponse>) =>
      (jsonOf(await response)['jobs'] as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(await list(withToken(token, '/-/jobs?unfinished=true')), [own]);
    assert.deepEqual(await list(withToken(other, '/-/jobs?unfinished=true')), []);
    assert.deepEqual(new Set(await list(service.asAnn('/-/jobs?unfinished=true'))), new Set([own, annual]));
    for (const method of ['GET', 'DELETE']) {
      assert.equal((await withToken(other, `/-/jobs/${own}`, { method })).status, 404);
      assert.equal((await withToken(token, `/-/jobs/${annual}`, { method })).status, 404);
    }
    for (const id of [own, annual]) await service.asAnn(`/-/jobs/${id}`, { method: 'DELETE' });
  });

  it('sees and continues only uploads in parts that it began, within its limit', async () => {
    const [token, other] = [await create({ folder: 'p', permissions: ['write'] }), await create()];
    const tus = { 'tus-resumable': '1.0.0' };
    const beginAt = (path: string): Call => {
      const metadata = `path ${Buffer.from(path).toString('base64')}`;
      return { method: 'POST', headers: { ...tus, 'upload-length': '2', 'upload-metadata': metadata } };
    };
    const part: Call = {
      method: 'PATCH',
      headers: { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
      body: 'ab',
    };
    assert.deepEqual(codeOf(await withToken(token, '/-/uploads', beginAt('px/new'))), [403, 'permission-denied']);
    const own = String((await withToken(token, '/-/uploads', beginAt('p/new'))).headers.location);
    const annual = String((await service.asAnn('/-/uploads', beginAt('top'))).headers.location);
    for (const [by, url] of [
      [other, own],
      [token, annual],
    ] as const) {
      for (const call of [{ method: 'HEAD', headers: tus }, part, { method: 'DELETE', headers: tus }]) {
        assert.equal((await withToken(by, url, call)).status, 404, `${call.method} ${url}`);
      }
    }
    const listed = jsonOf(await withToken(token, '/-/uploads', { headers: tus }))['uploads'] as { path: string }[];
    assert.deepEqual(
      listed.map(({ path }) => path),
      ['p/new'],
    );
    // Its user lost the permission meanwhile.
    service.grant(grant('px', ALL));
    assert.equal((await withToken(token, own, part)).status, 403);
    service.grant(grant('', ALL));
    await revoke(token);
    assert.equal((await withToken(token, own, part)).status, 401);
    assert.equal((await service.asAnn(own, { method: 'DELETE', headers: tus })).status, 204);
    assert.equal((await service.asAnn(annual, { method: 'DELETE', headers: tus })).status, 204);
  });
});

describe('WebDAV with an app token', () => {
  beforeEach(reset);

  const dav = (token: Pick<Created, 'secret'>, method: string, path: string, call: Call = {}) =>
    send(service.port, `/-/dav/${path}`, {
      ...call,
      method,
      headers: { ...basic('ann', token.secret), ...call.headers },
    });
  const LOCK: Call = {
    body: '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>',
  };

  it('reaches its folder from the root, and nothing else', async () => {
    const token = await create({ folder: 'p/a' });
    const hrefsOf = async (path: string) => {
      const { status, body } = await dav(token, 'PROPFIND', path, { headers: { depth: '1' } });
      assert.equal(status, 207, path);
      return [...body.toString().matchAll(/<[\w:]*href>([^<]*)</g)].map(([, href]) => href);
    };
    assert.deepEqual(await hrefsOf(''), ['/-/dav/', '/-/dav/p/']);
    assert.deepEqual(await hrefsOf('p/'), ['/-/dav/p/', '/-/dav/p/a/']);
    assert.deepEqual(await hrefsOf('p/a/'), ['/-/dav/p/a/', '/-/dav/p/a/1']);
    assert.equal((await dav(token, 'PUT', 'p/a/new', { body: 'x' })).status, 201);
    const to = (path: string) => ({ headers: { destination: `/-/dav/${path}` } });
    for (const [method, path, call] of [
      ['PROPFIND', 'px/', { headers: { depth: '0' } }],
      ['GET', 'top', {}],
      ['PUT', 'p/new', { body: 'x' }],
      ['MKCOL', 'p/new', {}],
      ['DELETE', 'p/b', {}],
      ['MOVE', 'p/a/1', to('p/1')],
      ['COPY', 'p/b', to('p/a/b')],
      ['LOCK', 'top', LOCK],
      ['DELETE', 'p/', {}],
    ] as const) {
      assert.equal((await dav(token, method, path, call)).status, 403, `${method} ${path}`);
    }
  });

  it('ends at once when the token is revoked, with a Basic challenge', async () => {
    const token = await create();
    assert.equal((await dav(token, 'GET', 'top')).status, 200);
    await revoke(token);
    const { status, headers } = await dav(token, 'GET', 'top');
    assert.equal(status, 401);
    assert.match(String(headers['www-authenticate']), /^Basic /);
  });

  it('does not release a lock of its user without a permission to change the file', async () => {
    const writer = await create();
    const reader = await create({ permissions: ['read'] });
    const locked = await dav(writer, 'LOCK', 'p/b', LOCK);
    assert.equal(locked.status, 200, locked.body.toString());
    const { locks } = jsonOf(await withToken(reader, '/-/locks?folder=p')) as { locks: { id: string }[] };
    const id = locks[0]?.id ?? assert.fail();
    const release = (token: Created) => withToken(token, `/-/locks/${id}`, { method: 'DELETE' });
    assert.deepEqual(codeOf(await release(reader)), [403, 'permission-denied']);
    assert.deepEqual(codeOf(await release(await create({ folder: 'px' }))), [404, 'not-found']);
    assert.equal((await release(writer)).status, 200);
  });

  it('changes nothing under the lock of another token of its user', async () => {
    const [laptop, phone] = [await create(), await create()];
    const { headers } = await dav(laptop, 'LOCK', 'p/b', LOCK);
    const ifHeld = { headers: { if: `(${String(headers['lock-token'])})` } };
    assert.equal((await dav(phone, 'PUT', 'p/b', { ...ifHeld, body: 'of the phone' })).status, 423);
    assert.equal((await dav(phone, 'DELETE', 'p/b', ifHeld)).status, 423);
    assert.equal((await dav(phone, 'LOCK', 'p/b', ifHeld)).status, 412);
    const property = '<propertyupdate xmlns="DAV:"><set><prop><c xmlns="u:"/></prop></set></propertyupdate>';
    assert.equal((await dav(phone, 'PROPPATCH', 'p/b', { ...ifHeld, body: property })).status, 423);
    assert.equal((await dav(laptop, 'LOCK', 'p/b', ifHeld)).status, 200);
    assert.equal((await dav(laptop, 'PUT', 'p/b', { ...ifHeld, body: 'of the laptop' })).status, 204);
    // The user holds the locks of all their tokens.
    const asUser = await service.asAnn('/-/dav/p/b', { method: 'DELETE', ...ifHeld });
    assert.equal(asUser.status, 204);
  });

  it('releases only the locks that it has set, unless it may change the file', async () => {
    const writer = await create({ permissions: ['read', 'write'] });
    const other = await create({ permissions: ['read', 'write'] });
    const manager = await create();
    const lock = async (request: (call: Call) => Promise<HttpResponse>) => {
      const { status, headers, body } = await request({ ...LOCK, method: 'LOCK' });
      assert.ok([200, 201].includes(status), body.toString());
      return String(headers['lock-token']);
    };
    const idOf = async (path: string) => {
      const { locks } = jsonOf(await service.asAnn('/-/locks?folder=p')) as { locks: { id: string; path: string }[] };
      return locks.find((each) => each.path === path)?.id ?? assert.fail(path);
    };
    const unlock = (token: Created, path: string, lockToken: string) =>
      dav(token, 'UNLOCK', path, { headers: { 'lock-token': lockToken } });
    const release = async (token: Created, path: string) =>
      withToken(token, `/-/locks/${await idOf(path)}`, { method: 'DELETE' });

    // Set by the user with all permissions.
    const ofUser = await lock((call) => service.asAnn('/-/dav/p/b', call));
    assert.equal((await unlock(writer, 'p/b', ofUser)).status, 403);
    assert.deepEqual(codeOf(await release(writer, 'p/b')), [403, 'permission-denied']);
    assert.equal((await release(manager, 'p/b')).status, 200);
    // Set by another token of the user.
    const ofToken = await lock((call) => dav(writer, 'LOCK', 'p/new', call));
    assert.equal((await unlock(other, 'p/new', ofToken)).status, 403);
    assert.deepEqual(codeOf(await release(other, 'p/new')), [403, 'permission-denied']);
    assert.equal((await unlock(writer, 'p/new', ofToken)).status, 204);
    await lock((call) => dav(writer, 'LOCK', 'p/newer', call));
    assert.equal((await release(writer, 'p/newer')).status, 200);
    // The user releases all of them.
    await lock((call) => dav(writer, 'LOCK', 'p/newest', call));
    const newest = await idOf('p/newest');
    assert.equal((await service.asAnn(`/-/locks/${newest}`, { method: 'DELETE' })).status, 200);
  });
});
