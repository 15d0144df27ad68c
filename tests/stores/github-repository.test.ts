import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import { file, folder, pathsIn, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { requestsDuring, UNCHANGED, unavailable, warnings } from './github-reading.ts';
import { openEmptyRepository, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const FILES = { 'a.txt': 'a' };

describe('A renamed repository', () => {
  it('is read and written under its new name, which is logged once', async (t) => {
    const opened = await openRepository(t, { files: FILES }, { trust: 0 });
    const { store, repository, host } = opened;
    const before = repository.name;
    await store.list(folder(''));
    repository.rename('another-name');
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
    assert.deepEqual(
      warnings(opened).map(({ details }) => details),
      [{ before: `${repository.owner}/${before}`, now: `${repository.owner}/another-name` }],
    );
    await store.write(file('b.txt'), upload('b'));
    assert.equal(await textOf(store, 'b.txt'), 'b');
    assert.deepEqual(await requestsDuring(opened, () => store.list(folder(''))), [UNCHANGED]);
    assert.ok(host.requests.every(({ path }) => path.includes('/another-name/')));
    assert.equal(warnings(opened).length, 1);
  });

  it('is written under its new name without a read since the rename', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { trust: 0 });
    repository.rename('another-name');
    await store.write(file('b.txt'), upload('b'));
    assert.equal(await repository.git('show', 'main:b.txt'), 'b');
  });
});

describe('A missing branch', () => {
  const other = { branch: 'new', files: FILES };

  it('is an error that names the branch, the setting and the existing branch', async (t) => {
    const { store } = await openRepository(t, { files: FILES }, { branch: 'missing' });
    const expected = unavailable(/no branch "missing" \(GITHUB_BRANCH\).*"main".*GITHUB_CREATE_BRANCH/);
    await assert.rejects(requireMember(store, 'check')(), expected);
    await assert.rejects(store.list(folder('')), expected);
    await assert.rejects(store.read(file('a.txt')), expected);
    await assert.rejects(store.write(file('b.txt'), upload('b')), expected);
  });

  it('is found as soon as another client creates it', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { branch: 'later/on' });
    await assert.rejects(store.list(folder('')), unavailable(/"later\/on"/));
    await repository.git('update-ref', 'refs/heads/later/on', 'main');
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
  });

  it('is reported as missing when another client deletes it', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES, defaultBranch: 'main' }, { trust: 0 });
    await repository.commit({ 'b.txt': 'b' }, 'Begin', { branch: 'other' });
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
    await repository.git('update-ref', '-d', 'refs/heads/main');
    await assert.rejects(store.list(folder('')), unavailable(/"main"/));
  });

  it('is created from the default branch when configured', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { branch: 'new', createBranch: true });
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
    assert.equal(await repository.git('rev-parse', 'new'), await repository.git('rev-parse', 'main'));
    await store.write(file('b.txt'), upload('b'));
    assert.equal(await repository.git('show', 'new:b.txt'), 'b');
    assert.equal(await repository.git('ls-tree', '--name-only', 'main'), 'a.txt');
  });

  it('is created once by two services that start concurrently', async (t) => {
    const options = { branch: 'new', createBranch: true };
    const { store, another, repository, host } = await openRepository(t, { files: FILES }, options);
    const waiting: (() => void)[] = [];
    host.intercept(async ({ route }) => {
      if (route !== 'POST /repos/{owner}/{repo}/git/refs') return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (waiting.length === 2) for (const release of waiting) release();
      await promise;
      return undefined;
    });
    const paths = await Promise.all([store, another()].map((each) => pathsIn(each, '')));
    assert.deepEqual(paths, [['a.txt'], ['a.txt']]);
    assert.equal(waiting.length, 2);
    assert.equal(await repository.git('rev-parse', 'new'), await repository.git('rev-parse', 'main'));
  });

  it('is not created when the token lacks write access, and the error states that', async (t) => {
    const { store, host } = await openRepository(t, other, { branch: 'third', createBranch: true });
    host.permissions.write = false;
    await assert.rejects(store.list(folder('')), { name: 'StoreError', kind: 'denied', message: /GITHUB_TOKEN/ });
  });

  it('is empty in an empty repository', async (t) => {
    const { store } = await openEmptyRepository(t);
    await requireMember(store, 'check')();
    assert.deepEqual(await pathsIn(store, ''), []);
  });
});

describe('A repository that the settings do not match', () => {
  for (const [name, options, message] of [
    [
      'does not exist',
      { repository: 'missing' },
      /repository octocat\/missing does not exist .*GITHUB_OWNER, GITHUB_REPO and GITHUB_TOKEN/,
    ],
    ['has an owner that does not exist', { owner: 'nobody' }, /repository nobody\/\S+ does not exist .*GITHUB_OWNER/],
    ['is read with a wrong token', { token: 'wrong' }, /GITHUB_TOKEN: it is wrong or has expired/],
    ['is private and read without a token', { token: undefined }, /GITHUB_TOKEN/],
    [
      'is at an address that refuses connections',
      { apiUrl: 'http://127.0.0.1:1/api/v3' },
      /127\.0\.0\.1:1.*GITHUB_API_URL/,
    ],
    ['is at an unknown host name', { apiUrl: 'http://no.invalid/api/v3' }, /GITHUB_API_URL/],
  ] satisfies [string, Partial<GitHubOptions>, RegExp][]) {
    it(`is an error with the reason: it ${name}`, async (t) => {
      const { store } = await openRepository(t, { files: FILES }, options);
      await assert.rejects(requireMember(store, 'check')(), unavailable(message));
      await assert.rejects(store.list(folder('')), unavailable(message));
      await assert.rejects(store.stat(file('a.txt')), unavailable(message));
    });
  }

  for (const [name, status, type, body] of [
    ['a web page', 200, 'text/html', '<html>Welcome</html>'],
    ['a missing web page', 404, 'text/html', '<html>Not found</html>'],
    ['other JSON', 200, 'application/json', '{"hello":"world"}'],
    ['a JSON array', 200, 'application/json', '[]'],
    ['JSON null', 200, 'application/json', 'null'],
    ['broken JSON', 200, 'application/json', '{"name":'],
    ['nothing', 204, 'text/plain', ''],
  ] as const) {
    it(`is an error that names the setting: the host returns ${name}`, async (t) => {
      const apiUrl = await serve(t, status, type, body);
      const { store } = await openRepository(t, { files: FILES }, { apiUrl });
      const expected = unavailable(/GITHUB_API_URL|The repository .* does not exist at http/);
      await assert.rejects(requireMember(store, 'check')(), expected);
      await assert.rejects(store.list(folder('')), expected);
      await assert.rejects(store.read(file('a.txt')), expected);
    });
  }

  it('is read without a token when public, within the anonymous quota', async (t) => {
    const { store, host } = await openRepository(
      t,
      { files: FILES, private: false },
      { token: undefined, readOnly: true },
    );
    await requireMember(store, 'check')();
    assert.equal(await textOf(store, 'a.txt'), 'a');
    assert.equal(store.quota?.()?.limit, host.anonymousQuota.limit);
  });

  it('is an error while access is missing, and recovers afterwards', async (t) => {
    const { store, host } = await openRepository(t, { files: FILES }, { trust: 0 });
    await requireMember(store, 'check')();
    host.permissions.read = false;
    await assert.rejects(requireMember(store, 'check')(), unavailable(/GITHUB_TOKEN/));
    await assert.rejects(store.list(folder('')), unavailable(/GITHUB_TOKEN/));
    host.permissions.read = true;
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
  });
});

/** A server that is not GitHub: it returns the same response to every request. */
async function serve(t: TestContext, status: number, type: string, body: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status, { 'content-type': type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3`;
}
