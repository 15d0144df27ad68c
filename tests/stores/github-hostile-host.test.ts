import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import type { OwnResponse } from '../../testing/servers/github.ts';
import { serveRepository } from '../../testing/servers/github-costs.ts';
import { file, folder, pathsIn, textOf, upload } from '../contract/bytes.ts';
import { send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { GET_BRANCH, GET_TREE, MIB, respondWith, responseOf, unavailable } from './github-reading.ts';
import {
  bytesUpload,
  countCommits,
  fileOf,
  filesIn,
  openRepository,
  PATCH_REF,
  POST_BLOB,
  POST_COMMIT,
  POST_TREE,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const GET_REPOSITORY = 'GET /repos/{owner}/{repo}';
const GET_COMMIT = 'GET /repos/{owner}/{repo}/git/commits/{commit_sha}';
const LISTING = 'GET /repos/{owner}/{repo}/contents/{path}';
const WEB_PAGE: OwnResponse = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: '<!DOCTYPE html><title>Log in</title>',
};

describe('A malformed GitHub response', () => {
  const shapes: readonly (readonly [string, OwnResponse])[] = [
    ['an empty object', { status: 201, body: {} }],
    ['null', { status: 201, body: null }],
    ['an invalid sha', { status: 201, body: { sha: '../../../user' } }],
    ['a number', { status: 201, body: { sha: 7 } }],
    ['a web page', WEB_PAGE],
  ];
  it('to a blob upload fails only that upload, not a text in the same batch', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { gatherFor: 20 });
    const [small, large] = [randomBytes(1000), randomBytes(100_000)];
    const texts: string[] = [];
    for (const [name, response] of shapes) {
      host.intercept(respondWith(POST_BLOB, response));
      texts.push(`text beside ${name}`);
      await Promise.all([
        assert.rejects(store.write(file('small'), bytesUpload(small)), unavailable(/GITHUB_API_URL/), name),
        assert.rejects(store.write(file('large'), bytesUpload(large)), unavailable(/GITHUB_API_URL/), name),
        store.write(file(`text beside ${name}`), upload('text')),
      ]);
      assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', ...texts.toSorted()], name);
    }
    host.intercept(undefined);
    await store.write(file('large'), bytesUpload(large));
    assert.equal((await filesIn(repository))['large'], fileOf(large));
  });

  for (const route of [POST_TREE, POST_COMMIT]) {
    it(`to the creation of a tree or commit leaves the branch unchanged: ${route.split('/').at(-1)}`, async (t) => {
      const { store, host, repository } = await openRepository(t, {}, { gatherFor: 20 });
      const change = () => [store.write(file('a'), upload('a')), store.write(file('b'), upload('b'))];
      for (const [name, response] of shapes) {
        host.intercept(respondWith(route, response));
        const rejections = change().map((writing) => assert.rejects(writing, unavailable(/GITHUB_API_URL/), name));
        await Promise.all(rejections);
        assert.equal(await countCommits(repository), 1, name);
        assert.equal(sent(host, PATCH_REF).length, 0, name);
      }
      host.intercept(undefined);
      await Promise.all(change());
      assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'a', 'b']);
    });
  }

  const SHA = 'ab'.repeat(20);

  for (const [route, change] of [
    [POST_BLOB, bytesUpload(randomBytes(1000))],
    [POST_TREE, upload('a')],
  ] as const) {
    it(`rejects with unavailable when the host returns the hash of another object: ${route}`, async (t) => {
      const { store, host, repository } = await openRepository(t);
      host.intercept(respondWith(route, { status: 201, body: { sha: SHA } }));
      await assert.rejects(store.write(file('a'), change), unavailable(/GITHUB_API_URL/));
      assert.equal(sent(host, PATCH_REF).length, 0);
      assert.equal(await countCommits(repository), 1);
    });
  }

  it('to a branch update is an error when the branch did not move', async (t) => {
    const { store, host, repository } = await openRepository(t);
    for (const response of [{ status: 200, body: {} }, { status: 200, body: { object: { sha: SHA } } }, WEB_PAGE]) {
      host.intercept(respondWith(PATCH_REF, response));
      await assert.rejects(store.write(file('a'), upload('a')), unavailable(/GITHUB_API_URL/));
    }
    assert.equal(await countCommits(repository), 1);
  });

  it('to a branch update is a success when the branch moved', async (t) => {
    const { store, host, repository } = await openRepository(t);
    host.intercept(async ({ route, body }) => {
      if (route !== PATCH_REF) return undefined;
      await repository.git('update-ref', 'refs/heads/main', String(Object(body).sha));
      return { status: 200, body: {} };
    });
    await store.write(file('a'), upload('a'));
    assert.equal(await textOf(store, 'a'), 'a');
    assert.equal(await countCommits(repository), 2);
  });

  const entry = { path: 'a', mode: '100644', type: 'blob', sha: SHA, size: 1, url: '' };
  const trees: readonly (readonly [string, OwnResponse])[] = [
    ['no entries', { status: 200, body: { sha: SHA, tree: [], truncated: false } }],
    ['neither entries nor whether that is all', { status: 200, body: { sha: SHA, tree: [] } }],
    ['entries, and not whether these are all', { status: 200, body: { sha: SHA, tree: [entry] } }],
    ['nothing', { status: 200, body: {} }],
    ['null', { status: 200, body: null }],
    ['no list', { status: 200, body: { sha: SHA, tree: { 0: entry }, truncated: false } }],
    ['an entry without a name', { status: 200, body: { tree: [{ ...entry, path: undefined }], truncated: false } }],
    ['an entry without a sha', { status: 200, body: { tree: [{ ...entry, sha: undefined }], truncated: false } }],
    ['a web page', WEB_PAGE],
  ];
  it('to a listing is an error, never an empty folder', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a', 'f/b': 'b' } }, { trust: 600 });
    for (const [name, response] of trees) {
      host.intercept(respondWith(GET_TREE, response));
      await assert.rejects(store.list(folder('')), unavailable(/GITHUB_API_URL/), name);
      await assert.rejects(store.stat(file('f/b')), unavailable(/GITHUB_API_URL/), name);
      await assert.rejects(store.write(file('c'), upload('c')), unavailable(/GITHUB_API_URL/), name);
    }
    host.intercept(undefined);
    assert.deepEqual(await pathsIn(store, ''), ['a', 'f/']);
    assert.deepEqual(await pathsIn(store, 'f'), ['f/b']);
  });

  it('to a folder request in a large repository is an error when a name points to another folder', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a', 'f/b': 'b' } });
    host.intercept(({ route, query }) => {
      if (route !== GET_TREE) return undefined;
      const isWhole = query.has('recursive');
      const tree = isWhole ? [entry] : [entry, { ...entry, path: 'f/b' }];
      return { status: 200, body: { sha: SHA, tree, truncated: isWhole } };
    });
    await assert.rejects(store.list(folder('')), unavailable(/GITHUB_API_URL/));
    host.intercept(undefined);
    assert.deepEqual(await pathsIn(store, ''), ['a', 'f/']);
  });

  it('to a branch request is an error', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    const shaped = (commit: unknown) => ({ status: 200, body: { name: 'main', commit } });
    const bodies = [null, {}, { sha: SHA }, { commit: { tree: { sha: SHA } } }, { sha: SHA, commit: { tree: {} } }];
    for (const response of [...bodies.map(shaped), { status: 200, body: {} }, WEB_PAGE]) {
      host.intercept(respondWith(GET_BRANCH, response));
      await assert.rejects(store.list(folder('')), unavailable(/GITHUB_API_URL/), JSON.stringify(response));
    }
    host.intercept(undefined);
    assert.deepEqual(await pathsIn(store, ''), ['a']);
  });

  for (const body of [{}, null, { parents: [null] }]) {
    const name = `to a search for a commit whose response was lost is a temporary error: ${JSON.stringify(body)}`;
    it(name, async (t) => {
      const { store, host, repository } = await openRepository(t);
      let patches = 0;
      host.intercept(async ({ route }) => {
        if (route === GET_COMMIT) return { status: 200, body };
        if (route !== PATCH_REF) return undefined;
        if (++patches === 1) return 'cut when done';
        await repository.commit({ theirs: 'x' });
        return undefined;
      });
      await assert.rejects(store.write(file('a'), upload('a')), unavailable(/GITHUB_API_URL/));
    });
  }

  it('to a request for the new repository name is an error', async (t) => {
    const { store, host } = await openRepository(t);
    const moved = { status: 307, headers: { location: `${host.apiUrl}/elsewhere` }, body: { message: 'Moved' } };
    for (const body of [{}, null, { full_name: 7 }]) {
      host.intercept(({ route }) =>
        route === POST_TREE ? moved : route === GET_REPOSITORY ? { status: 200, body } : undefined,
      );
      await assert.rejects(store.write(file('a'), upload('a')), unavailable(/GITHUB_API_URL/));
    }
  });

  it('to a request for the download URL of a large file is a transient error', async (t) => {
    const served = await serveRepository({ a: randomBytes(6 * MIB) });
    t.after(served.stop);
    const { port, host } = served;
    for (const response of [WEB_PAGE, { ...WEB_PAGE, body: '' }]) {
      host.intercept(respondWith(LISTING, response));
      const failed = await send(port, '/file/a');
      assert.equal(failed.status, 503);
      assert.match(failed.body.toString(), /GITHUB_API_URL/);
      assert.ok(Number(failed.headers['retry-after']) > 0);
    }
    host.intercept(undefined);
    assert.equal((await send(port, '/file/a')).status, 302);
  });
});

describe('A response with surprising headers or body', () => {
  const NULL_BODY_TYPES = [
    'application/json; charset=utf-8',
    'application/vnd.github+json',
    'text/html',
    'nonsense;;=',
  ];

  it('keeps the cached branch when a 304 has a Content-Type', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    assert.deepEqual(await pathsIn(store, ''), ['a']);
    for (const [index, type] of NULL_BODY_TYPES.entries()) {
      host.intercept(respondWith(GET_BRANCH, { status: 304, headers: { 'content-type': type } }));
      assert.deepEqual(await pathsIn(store, ''), ['a'], type);
      assert.equal(sent(host, GET_BRANCH).length, index + 2, type);
    }
  });

  const json = { 'content-type': 'application/json' };
  const responses: readonly (readonly [string, OwnResponse])[] = [
    ['204 with a JSON type', { status: 204, headers: json }],
    ['205 with a JSON type', { status: 205, headers: json }],
    ['304 to an unconditional request', { status: 304, headers: json }],
    ['999', { status: 999, headers: json, body: '{}' }],
    ['a malformed Content-Type', { status: 200, headers: { 'content-type': ';;;="' }, body: '{}' }],
    ['JSON that breaks off', { status: 200, headers: json, body: '{"name":' }],
    ['a list of errors that holds null', { status: 200, headers: json, body: '{"errors":[null]}' }],
    ['an integer above 2^53 in a refusal', { status: 422, headers: json, body: '{"code":123456789012345678901}' }],
    ['an integer above 2^53 instead of a message', { status: 400, headers: json, body: '123456789012345678901' }],
    ['a redirect to no URL', { status: 307, headers: { ...json, location: 'http://[' }, body: '{}' }],
    ['101 without an upgrade', { status: 101, headers: json }],
  ];
  it('is an error that names GITHUB_API_URL or the host, for reads and writes', async (t) => {
    const { another, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0, retryAfter: 1 });
    const expected = unavailable(/127\.0\.0\.1|^GitHub /);
    for (const [name, response] of responses) {
      // Another store has read nothing yet, so its first request is unconditional.
      const store = another();
      host.intercept(() => response);
      await assert.rejects(store.list(folder('')), expected, name);
      await assert.rejects(store.write(file('b'), upload('b')), expected, name);
      host.intercept(undefined);
      assert.deepEqual(await pathsIn(store, ''), ['a'], name);
    }
  });

  it('is an error when the size of an entry in a tree is not a number of bytes', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    for (const size of [-1, 1.5, '7', 1e300]) {
      const entry = { path: 'a', mode: '100644', sha: 'ab'.repeat(20), size };
      host.intercept(respondWith(GET_TREE, { status: 200, body: { tree: [entry], truncated: false } }));
      await assert.rejects(store.list(folder('')), unavailable(/GITHUB_API_URL/), `${size} bytes`);
    }
  });

  it('is read as JSON under every JSON media type of GitHub', async (t) => {
    for (const type of ['application/vnd.github+json', 'application/vnd.github.v3+json; charset=utf-8']) {
      const opened = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
      const body = JSON.stringify(await responseOf(opened, '/branches/main'));
      opened.host.intercept(respondWith(GET_BRANCH, { status: 200, headers: { 'content-type': type }, body }));
      assert.deepEqual(await pathsIn(opened.store, ''), ['a']);
    }
  });
});

/** Returns a check for an error whose `retryAfter` is at most that many seconds. */
function within(most: number) {
  return (error: unknown) => {
    assert.ok(isStoreError(error, 'unavailable'), String(error));
    const { retryAfter = 0 } = error;
    assert.ok(retryAfter > 0 && retryAfter <= most, `${retryAfter} seconds`);
    return true;
  };
}

describe('A host that limits requests', () => {
  it('receives no requests for at most one hour, for any Retry-After', async (t) => {
    const { another, host } = await openRepository(t, {}, { trust: 0 });
    for (const seconds of ['99999999999999', '9'.repeat(400), '1e300', '-5', 'soon']) {
      const limited = { status: 429, headers: { 'retry-after': seconds }, body: { message: 'Too many requests' } };
      host.intercept(respondWith(GET_BRANCH, limited));
      const store = another();
      await assert.rejects(store.list(folder('')), within(3600));
      await assert.rejects(store.write(file('a'), upload('a')), within(3600));
      await assert.rejects(store.write(file('a'), bytesUpload(randomBytes(100_000))), within(3600));
    }
  });

  it('receives no requests for at most one hour when its quota never resets', async (t) => {
    const { store, host } = await openRepository(t, {}, { trust: 0 });
    // In the year 2286.
    host.quota.reset = 9_999_999_999;
    host.quota.remaining = 1;
    await assert.rejects(store.write(file('a'), upload('a')), within(3600));
    await assert.rejects(store.list(folder('')), within(3600));
  });

  it('receives no retries during the limit, even after a transient failure', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { trust: 0 });
    const secondary = 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
    host.intercept(async ({ route }) => {
      if (route === GET_BRANCH && sent(host, GET_BRANCH).length > 0) {
        return { status: 403, headers: { 'retry-after': '60' }, body: { message: secondary } };
      }
      if (route !== POST_TREE) return undefined;
      // From now on, the store must send nothing, although the client would retry after the next response.
      await assert.rejects(store.list(folder('')), within(60));
      return { status: 500, body: { message: 'Unicorn' } };
    });
    await assert.rejects(store.write(file('a'), upload('a')), within(60));
    assert.equal(sent(host, POST_TREE).length, 1);
    assert.deepEqual(
      host.requests.slice(-2).map(({ status }) => status),
      [403, 500],
    );
    assert.equal(await countCommits(repository), 1);
  });
});

describe('A branch that a force push reset to before our commit', () => {
  it('is followed after the replica delay, and later uploads do not restore our commit', async (t) => {
    const { store, repository } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    const clock = performance.now.bind(performance);
    let later = 0;
    t.mock.method(performance, 'now', () => clock() + later);
    const before = await repository.git('rev-parse', 'main');
    await store.write(file('ours'), upload('ours'));
    await repository.git('update-ref', 'refs/heads/main', before);
    // Regardless of how often it was checked meanwhile.
    for (later of [0, 1000, 2000, 3000]) await store.list(folder(''));
    later = 5_100;
    assert.deepEqual(await pathsIn(store, ''), ['a']);
    await store.write(file('b'), upload('b'));
    assert.deepEqual(Object.keys(await filesIn(repository)), ['a', 'b']);
    assert.equal(await repository.git('rev-parse', 'main^'), before);
    assert.equal(await textOf(store, 'b'), 'b');
    assert.deepEqual(await pathsIn(store, ''), ['a', 'b']);
  });

  it('is followed by an upload that is the first request afterwards', async (t) => {
    const { store, repository } = await openRepository(t, { files: { a: 'a' } }, { trust: 600 });
    const before = await repository.git('rev-parse', 'main');
    await store.write(file('ours'), upload('ours'));
    await repository.git('update-ref', 'refs/heads/main', before);
    const clock = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => clock() + 5_100);
    await store.write(file('b'), upload('b'));
    assert.deepEqual(Object.keys(await filesIn(repository)), ['a', 'b']);
    assert.equal(await countCommits(repository), 2);
  });
});
