import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, type HttpResponse, jsonOf, send } from './client.ts';
import { served, startService } from './service.ts';

interface LinkJson {
  readonly id: string;
  readonly [key: string]: unknown;
}

const ABSENT = '00000000-0000-4000-8000-000000000000';
const ALL = grant('', PERMISSIONS);
const patch = (body: object) => ({ ...json(body), method: 'PATCH' });
const FILES = { 'notes/a.txt': 'text', 'notes/b/c.txt': 'text', 'photos/cat.jpg': 'cat' };

const linkOf = (response: HttpResponse): LinkJson => {
  assert.equal(response.status, 200, response.body.toString());
  return (jsonOf(response) as { link: LinkJson }).link;
};

describe('The HTTP API of share links', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
    await service.plant(FILES);
  });
  after(() => service.stop());
  beforeEach(() => {
    service.grant(ALL);
    service.events();
  });
  afterEach(async () => {
    service.grant(ALL);
    for (const { id } of await list('?below=')) {
      assert.equal((await service.asAnn(`/-/links/${id}`, { method: 'DELETE' })).status, 200);
    }
  });

  const list = async (query = '') =>
    (jsonOf(await service.asAnn(`/-/links${query}`)) as { links: readonly LinkJson[] }).links;
  const create = async (body: object = {}) => service.asAnn('/-/links', json({ path: 'notes/', ...body }));

  it('creates a link, with all settings, and returns the URL only then', async () => {
    const settings = {
      permissions: ['write', 'read', 'write'].slice(0, 2),
      label: ' Holidays ',
      expiresAt: '2999-12-31T18:00:00+01:00',
      password: 'secret password',
      maxDownloads: 10,
      maxUploads: 20,
      maxUploadBytes: 30,
      askSender: true,
    };
    const response = await create(settings);
    const { createdAt, id, ...described } = linkOf(response);
    assert.deepEqual(described, {
      path: 'notes/',
      type: 'folder',
      permissions: ['read', 'write'],
      label: 'Holidays',
      creator: 'ann',
      expiresAt: '2999-12-31T17:00:00.000Z',
      hasPassword: true,
      maxDownloads: 10,
      downloads: 0,
      maxUploads: 20,
      uploads: 0,
      maxUploadBytes: 30,
      askSender: true,
      active: true,
    });
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < 60_000);
    const { token, url } = jsonOf(response) as { token: string; url: string };
    assert.match(token, /^[\w-]{32}$/);
    assert.equal(url, `http://127.0.0.1:${service.port}/-/s/${token}/`);
    assert.equal(response.headers['cache-control'], 'no-store');
    for (const path of ['', `/${id}`]) {
      const { body, headers } = await service.asAnn(`/-/links${path}`);
      assert.ok(!body.includes(token) && !body.includes('secret password'), path);
      assert.equal(headers['cache-control'], 'no-store');
    }
    assert.deepEqual(linkOf(await service.asAnn(`/-/links/${id}`)), linkOf(response));
  });

  it('creates links to a file and to the root, for reading unless the request says otherwise', async () => {
    const file = linkOf(await create({ path: '/notes/a.txt' }));
    assert.partialDeepStrictEqual(file, { path: 'notes/a.txt', type: 'file', permissions: ['read'], askSender: false });
    assert.partialDeepStrictEqual(linkOf(await create({ path: '/' })), { path: '', type: 'folder' });
    assert.partialDeepStrictEqual(linkOf(await create({ path: '', label: '', password: null })), {
      hasPassword: false,
    });
  });

  it('refuses what can not be shared', async () => {
    for (const [body, status, message] of [
      [{ path: 'notes/missing.txt' }, 404, /missing\.txt/],
      [{ path: 'notes' }, 404, /notes/],
      [{ path: 'missing/' }, 404, /missing/],
      [{ path: 'notes/a.txt/' }, 404, /a\.txt/],
      [{ path: '../a.txt' }, 400, /".."/],
      [{ path: 'a//b' }, 400, /empty segment/],
      [{ path: 'notes/a.txt', permissions: ['write'] }, 400, /can only have the permission "read"/],
      [{ permissions: [] }, 400, /permissions/],
      [{ permissions: ['manage'] }, 400, /permissions/],
      [{ permissions: ['read', 'read'] }, 400, /permissions/],
      [{ expiresAt: '2020-01-01T00:00:00Z' }, 400, /not in the future/],
      [{ expiresAt: 'tomorrow' }, 400, /"tomorrow"/],
      [{ expiresAt: '2999-01-01' }, 400, /"2999-01-01"/],
      [{ label: 'a\nb' }, 400, /label/],
      [{ label: 'x'.repeat(201) }, 400, /label/],
      [{ password: '' }, 400, /password/],
      [{ maxDownloads: 0 }, 400, /maxDownloads/],
      [{ maxDownloads: 1.5 }, 400, /maxDownloads/],
      [{ maxUploads: 1 }, 400, /"maxUploads" has no effect/],
      [{ permissions: ['write'], maxDownloads: 1 }, 400, /"maxDownloads" has no effect/],
      [{ askSender: true }, 400, /"askSender" has no effect/],
      [{ unknown: 1 }, 400, /"unknown"/],
    ] as const) {
      assertFailure(await create(body), status, message);
    }
    assert.deepEqual(await list('?below='), []);
  });

  it('never repeats an invalid password', async () => {
    for (const password of [['hunter2'], { hunter2: true }, `hunter2${'x'.repeat(1024)}`, 'hunter2\u0000']) {
      const response = await create({ password });
      assertFailure(response, 400, /password/);
      assert.ok(!response.body.includes('hunter2'));
    }
  });

  it('needs each permission of the link, and a user', async () => {
    service.grant(grant('', ['read']), grant('notes/', ['read', 'write']), grant('notes/b/', ['write']));
    assert.equal((await create({ permissions: ['read', 'write'] })).status, 200);
    assert.equal((await create({ path: 'notes/b/', permissions: ['write'] })).status, 200);
    assertFailure(await create({ path: 'notes/b/' }), 403, /don't have permission to read "notes\/b\/"/);
    assertFailure(await create({ path: 'photos/', permissions: ['write'] }), 403, /add to "photos\/"/);
    // A user who can't read a folder does not learn whether it exists.
    service.grant(grant('', ['write']));
    assert.equal((await create({ path: 'missing/', permissions: ['write'] })).status, 200);
    service.grant(grant('', PERMISSIONS, EVERYONE));
    assertFailure(await service.asAnonymous('/-/links', json({ path: 'notes/' })), 401, /Sign in to share "notes\/"/);
  });

  it('changes the given fields only, and removes values with null', async () => {
    const link = linkOf(await create({ label: 'Old', password: 'secret', maxDownloads: 5 }));
    const path = `/-/links/${link.id}`;
    const changed = linkOf(await service.asAnn(path, patch({ label: 'New', expiresAt: '2999-01-01T00:00:00Z' })));
    assert.deepEqual(changed, { ...link, label: 'New', expiresAt: '2999-01-01T00:00:00.000Z' });
    const { label, expiresAt, maxDownloads, ...rest } = changed as LinkJson &
      Record<'label' | 'expiresAt' | 'maxDownloads', unknown>;
    assert.ok(label && expiresAt && maxDownloads);
    const removed = await service.asAnn(
      path,
      patch({ label: null, expiresAt: null, password: null, maxDownloads: null }),
    );
    assert.deepEqual(linkOf(removed), { ...rest, hasPassword: false });
    const request = { permissions: ['write'], maxUploads: 3, askSender: true };
    assert.partialDeepStrictEqual(linkOf(await service.asAnn(path, patch(request))), request);
    assert.partialDeepStrictEqual(linkOf(await service.asAnn(path, patch({ permissions: ['read'] }))), {
      askSender: false,
    });
    assertFailure(await service.asAnn(path, patch({ path: 'photos/' })), 400, /"path"/);
    assertFailure(await service.asAnn(path, patch({ maxUploads: 'many' })), 400, /maxUploads/);
  });

  it('keeps the fields of changes at the same time', async () => {
    const { id } = linkOf(await create({ permissions: ['read', 'write'] }));
    const path = `/-/links/${id}`;
    // Hashing the password is slower than the other changes.
    const responses = await Promise.all([
      service.asAnn(path, patch({ password: 'secret password' })),
      service.asAnn(path, patch({ permissions: ['read'] })),
      service.asAnn(path, patch({ label: 'New' })),
      service.asAnn(path, patch({ maxDownloads: 5 })),
    ]);
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    assert.partialDeepStrictEqual(linkOf(await service.asAnn(path)), {
      hasPassword: true,
      permissions: ['read'],
      label: 'New',
      maxDownloads: 5,
    });
  });

  it('shows, changes and revokes a link only for its creator and users who manage its path', async () => {
    const { id } = linkOf(await create());
    service.grant(grant('', ['read', 'write']));
    const found = linkOf(await service.asAnn(`/-/links/${id}`));
    assert.equal(found.id, id);
    // The creator, as another user with fewer permissions, and as an anonymous user.
    const requests = [
      ['GET', undefined],
      ['PATCH', '{"label":"mine"}'],
      ['DELETE', undefined],
    ] as const;
    service.grant(grant('', ['read', 'write'], EVERYONE), grant('photos/', PERMISSIONS, EVERYONE));
    for (const [method, body] of requests) {
      const call = { method, ...(body && { body, headers: { 'content-type': 'application/json' } }) };
      const hidden = await service.asAnonymous(`/-/links/${id}`, call);
      const absent = await service.asAnonymous(`/-/links/${ABSENT}`, call);
      assertFailure(hidden, 404, /does not exist/);
      assert.equal(hidden.body.toString().replace(id, ABSENT), absent.body.toString());
    }
    service.grant(grant('notes/', PERMISSIONS, EVERYONE));
    assert.equal((await service.asAnonymous(`/-/links/${id}`)).status, 200);
    assert.equal((await service.asAnonymous(`/-/links/${id}`, { method: 'DELETE' })).status, 200);
    assertFailure(await service.asAnn(`/-/links/${id}`), 404, /does not exist/);
  });

  it('lists own links, and those of other users to what the user manages, in pages', async () => {
    const ids = [];
    for (const path of ['notes/', 'notes/b/', 'notes/a.txt', 'photos/']) ids.unshift(linkOf(await create({ path })).id);
    const idsOf = async (query = '') => (await list(query)).map(({ id }) => id);
    assert.deepEqual((await idsOf()).toSorted(), ids.toSorted());
    assert.equal((await idsOf('?below=notes/')).length, 3);
    assert.equal((await idsOf('?below=note')).length, 0);
    assert.equal((await idsOf('?path=notes/')).length, 1);
    assert.equal((await idsOf('?path=notes/a.txt')).length, 1);
    assert.equal((await idsOf('?path=/')).length, 0);
    const paged: string[] = [];
    let cursor: string | undefined = '';
    for (let page = 0; cursor !== undefined; page++) {
      assert.ok(page < 3);
      const query: string = `?limit=2${cursor && `&cursor=${cursor}`}`;
      const response = jsonOf(await service.asAnn(`/-/links${query}`)) as { links: LinkJson[]; cursor?: string };
      paged.push(...response.links.map(({ id }) => id));
      ({ cursor } = response);
    }
    assert.deepEqual(paged, await idsOf());
    assertFailure(await service.asAnn('/-/links?cursor=abc'), 400, /cursor/);
    service.grant(grant('notes/', PERMISSIONS, EVERYONE), grant('notes/b/', [], EVERYONE));
    const anonymous = async (query: string) =>
      (jsonOf(await service.asAnonymous(`/-/links${query}`)) as { links: LinkJson[] }).links.map(({ path }) => path);
    assert.deepEqual(await anonymous('?below='), ['notes/a.txt']);
    assert.deepEqual(await anonymous('?path=photos/'), []);
  });

  it('tells why a link is not active', async () => {
    const { id } = linkOf(await create({ permissions: ['read'] }));
    service.grant(grant('', ['write']));
    assert.partialDeepStrictEqual(linkOf(await service.asAnn(`/-/links/${id}`)), {
      active: false,
      inactiveReason: 'permission',
    });
  });

  it('records the creation, change and end of a link with its ID', async () => {
    const { id } = linkOf(await create());
    await service.asAnn(`/-/links/${id}`, patch({ label: 'x' }));
    await service.asAnn(`/-/links/${id}`, { method: 'DELETE' });
    assert.deepEqual(
      service.events(),
      ['create link', 'change link', 'revoke link'].map((action) => ({
        event: 'change',
        action,
        path: 'notes/',
        link: id,
        outcome: 'done',
        who: 'ann',
        way: 'token',
      })),
    );
  });
});

describe('The HTTP API of share links without users', () => {
  const service = served(memory, { hasJobs: true, publicUrl: 'https://files.example.org/drive/' });

  it('creates links below PUBLIC_URL, which everyone can see and revoke', async () => {
    const created = await send(service.port, '/-/links', json({ path: '/' }));
    const { id, creator } = linkOf(created);
    assert.equal(creator, undefined);
    const { url, token } = jsonOf(created) as { url: string; token: string };
    assert.equal(url, `https://files.example.org/drive/-/s/${token}/`);
    assert.equal((jsonOf(await send(service.port, '/-/links')) as { links: LinkJson[] }).links[0]?.id, id);
    assert.equal((await send(service.port, `/-/links/${id}`, { method: 'DELETE' })).status, 200);
  });
});

describe('A service without a database', () => {
  it('has no share links', async () => {
    const service = await startService(memory);
    try {
      assertFailure(await send(service.port, '/-/links'), 404, /no route/);
    } finally {
      await service.stop();
    }
  });
});
