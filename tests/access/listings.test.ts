import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { encodeCursor } from '../../src/model/page.ts';
import { assertFailure, type HttpResponse, jsonOf } from '../http/client.ts';
import { EVERYONE, type GuardedService, grant, startGuardedService } from './guarded-service.ts';

let service: GuardedService;
before(async () => {
  service = await startGuardedService();
  await service.plant({
    'a/1.txt': '',
    'a/closed-1/x.txt': '',
    'a/closed-2/x.txt': '',
    'a/closed-3/open/x.txt': '',
    'a/closed-3/secret.txt': '',
    'a/open/x.txt': '',
    'a/zz.txt': '',
    'b/secret.txt': '',
    'root.txt': '',
  });
});
after(() => service.stop());

interface Listing {
  readonly entries: readonly { readonly path: string }[];
  readonly cursor?: string;
  readonly rights: readonly string[];
}

function listingOf(response: HttpResponse): Listing {
  assert.equal(response.status, 200, response.body.toString());
  return jsonOf(response) as unknown as Listing;
}

const pathsIn = (response: HttpResponse) => listingOf(response).entries.map(({ path }) => path);

/** Every page of a folder. */
async function pagesOf(folder: string, limit: number): Promise<readonly Listing[]> {
  const pages: Listing[] = [];
  let cursor = '';
  do {
    const query = new URLSearchParams({ prefix: folder, limit: String(limit), ...(cursor && { cursor }) });
    const page = listingOf(await service.asAnn(`/?${query.toString()}`));
    pages.push(page);
    cursor = page.cursor ?? '';
  } while (cursor !== '');
  return pages;
}

describe('A listing of a readable folder', () => {
  before(() =>
    service.grant(
      grant('a/', ['read']),
      grant('a/closed-1/', []),
      grant('a/closed-2/', []),
      grant('a/closed-3/', []),
      grant('a/closed-3/open/', ['write']),
    ),
  );

  it('omits folders in which the user has no permissions', async () => {
    assert.deepEqual(pathsIn(await service.asAnn('/a/')), ['a/1.txt', 'a/closed-3/', 'a/open/', 'a/zz.txt']);
  });

  it('has the same entries for every page size, with hidden folders skipped', async () => {
    for (const limit of [1, 2, 3, 4, 5, 1000]) {
      const pages = await pagesOf('a/', limit);
      const paths = pages.flatMap(({ entries }) => entries.map(({ path }) => path));
      assert.deepEqual(paths, ['a/1.txt', 'a/closed-3/', 'a/open/', 'a/zz.txt'], String(limit));
      assert.ok(
        pages.every(({ entries }) => entries.length > 0 && entries.length <= limit),
        String(limit),
      );
    }
  });

  it('returns the visible ones of named entries, in the order of the names', async () => {
    const names = ['zz.txt', 'closed-1/', 'missing.txt', 'open/', 'missing/', '1.txt', 'open', 'zz.txt/', 'closed-3/'];
    const query = names.map((name) => `&name=${encodeURIComponent(name)}`).join('');
    const paths = ['a/zz.txt', 'a/open/', 'a/1.txt', 'a/closed-3/'];
    assert.deepEqual(pathsIn(await service.asAnn(`/?prefix=a/${query}`)), paths);
    assertFailure(await service.asAnn('/?prefix=a/&name=open/x.txt'), 400, /contains a "\/"/);
    assertFailure(await service.asAnn('/?prefix=a/closed-1/&name=x.txt'), 403, /"a\/closed-1\/"/);
  });

  it('does not name a hidden folder in a cursor', async () => {
    for (const limit of [1, 2, 3, 4, 5]) {
      for (const { cursor = '' } of await pagesOf('a/', limit)) {
        assert.doesNotMatch(Buffer.from(cursor, 'base64url').toString('latin1'), /closed-[12]/, String(limit));
      }
    }
  });

  it('returns 403 for a hidden folder', async () => {
    assertFailure(await service.asAnn('/a/closed-1/'), 403, /"a\/closed-1\/"/);
    assertFailure(await service.asAnn('/a/closed-1/no/'), 403, /"a\/closed-1\/no\/"/);
  });

  it('embeds only the visible entries in the web UI', async () => {
    const { status, body } = await service.asAnn('/a/', { headers: { accept: 'text/html' } });
    assert.equal(status, 200);
    assert.match(body.toString(), /closed-3/);
    assert.doesNotMatch(body.toString(), /closed-[12]/);
  });
});

describe('A listing of an ancestor of a granted folder', () => {
  before(() =>
    service.grant(
      grant('a/closed-3/open/', ['read', 'manage']),
      grant('a/open/', ['write']),
      grant('a/missing/', ['read']),
      grant('a/1.txt/', ['read']),
      grant('a/closed-1/', []),
      grant('b/', ['read'], { kind: 'person', name: 'bob' }),
    ),
  );

  it('contains only the folders that lead to the granted folder', async () => {
    assert.deepEqual(pathsIn(await service.asAnn('/')), ['a/']);
    assert.deepEqual(pathsIn(await service.asAnn('/a/')), ['a/closed-3/', 'a/open/']);
    assert.deepEqual(pathsIn(await service.asAnn('/a/closed-3/')), ['a/closed-3/open/']);
    assert.deepEqual(pathsIn(await service.asAnn('/a/closed-3/open/')), ['a/closed-3/open/x.txt']);
    assert.deepEqual(pathsIn(await service.asAnn('/a/open/')), []);
  });

  it('contains only those folders of named entries', async () => {
    const names = ['1.txt', 'closed-1/', 'closed-3/', 'missing/', 'open/', 'zz.txt'];
    const query = names.map((name) => `&name=${encodeURIComponent(name)}`).join('');
    assert.deepEqual(pathsIn(await service.asAnn(`/?prefix=a/${query}`)), ['a/closed-3/', 'a/open/']);
  });

  it('reports the rights of each folder, and no rights for the ancestor', async () => {
    const rightsAt = async (path: string) => listingOf(await service.asAnn(path)).rights;
    assert.deepEqual(await rightsAt('/a/'), []);
    assert.deepEqual(await rightsAt('/a/closed-3/open/'), ['read', 'manage']);
    assert.deepEqual(await rightsAt('/a/open/'), ['write']);
  });

  it('is paginated', async () => {
    const pages = await pagesOf('a/', 1);
    assert.deepEqual(
      pages.flatMap(({ entries }) => entries.map(({ path }) => path)),
      ['a/closed-3/', 'a/open/'],
    );
  });

  it('reveals no other entries for a forged cursor', async () => {
    for (const place of ['a/', 'a/0', 'a/closed-1/', 'a/closed-1/x.txt', 'b/', '\u{10ffff}', '']) {
      const { status, body } = await service.asAnn(`/a/?cursor=${encodeCursor({ last: place })}`);
      if (status !== 400) assert.doesNotMatch(body.toString(), /1\.txt|closed-[12]|secret|zz/, place);
    }
  });

  it('returns 400 for a cursor that no listing issued', async () => {
    for (const cursor of ['xxx', Buffer.from('a/open/').toString('base64url'), encodeCursor({ last: 'b/' })]) {
      assertFailure(await service.asAnn(`/a/?cursor=${cursor}`), 400, /is not from a listing of this folder/);
    }
  });

  it('returns 401 or 403 for other folders, whether they exist or not', async () => {
    for (const path of ['/b/', '/c/', '/a/closed-1/', '/a/closed-1/no/', '/a/closed/', '/root.txt']) {
      assertFailure(await service.asAnn(path), 403, /^You are signed in as "ann" and don't have permission to read "/);
      assertFailure(await service.asAnonymous(path), 401, /^Sign in to read "/);
    }
  });
});

describe('A denied listing', () => {
  it('returns the web UI with the same status and the embedded error when the client prefers HTML', async () => {
    service.grant(grant('a/', PERMISSIONS));
    const { status, headers, body } = await service.asAnonymous('/a/', { headers: { accept: 'text/html' } });
    assert.equal(status, 401);
    assert.match(headers['content-type'] ?? '', /^text\/html/);
    assert.match(body.toString(), /Sign in to read/);
    assert.doesNotMatch(body.toString(), /1\.txt|closed-/);
  });

  it('returns 403 without a WWW-Authenticate header to a signed-in user', async () => {
    service.grant(grant('a/', PERMISSIONS, EVERYONE));
    assert.equal((await service.asAnonymous('/a/')).status, 200);
    assert.equal((await service.asAnn('/a/')).status, 200);
    const { status, headers } = await service.asAnn('/b/');
    assert.equal(status, 403);
    assert.equal(headers['www-authenticate'], undefined);
  });
});

describe('A listing of a folder with hundreds of granted subfolders', () => {
  const names = Array.from({ length: 600 }, (_, index) => `homes/${String(index).padStart(3, '0')}/`);
  before(async () => {
    service.grant(...names.map((name) => grant(name, ['read'])));
    await service.plant(Object.fromEntries(names.map((name) => [`${name}file`, ''])));
  });

  it('contains all of the subfolders', async () => {
    const pages = await pagesOf('homes/', 1000);
    assert.deepEqual(
      pages.flatMap(({ entries }) => entries.map(({ path }) => path)),
      names,
    );
  });

  it('succeeds for 40 concurrent requests', async () => {
    const responses = await Promise.all(Array.from({ length: 40 }, () => service.asAnn('/?prefix=homes/&limit=300')));
    for (const response of responses) assert.equal(listingOf(response).entries.length, 300);
  });
});
