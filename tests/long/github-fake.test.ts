/*
 * Tests the fake GitHub API, and not Holdall: that it has GitHub's statuses, limits and refusals. The tests of the store use the fake,
 * and a change of it is rare.
 */

import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { updateRef } from '../../testing/servers/github/ref-files.ts';
import {
  type GitHubFake,
  type RespondedRequest,
  startGitHub,
  type TestRepository,
} from '../../testing/servers/github.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

/** Returns a response with its body, parsed if it is JSON. */
interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

interface Opened {
  readonly github: GitHubFake;
  readonly repository: TestRepository;
  /** Sends a request for the repository, whose name is omitted from the path. */
  sendRequest(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
}

const FILES = { 'a.txt': 'text', 'folder/b': 'b', 'folder/deep/c': 'c' };

async function open(t: TestContext, options: Parameters<GitHubFake['createRepository']>[0] = { files: FILES }) {
  const opened = await start(options);
  t.after(opened.github.stop);
  return opened;
}

async function start(options: Parameters<GitHubFake['createRepository']>[0]): Promise<Opened> {
  const github = await startGitHub();
  const repository = await github.createRepository(options);
  return {
    github,
    repository,
    async sendRequest(method, path, body, headers = {}) {
      const url = `${github.apiUrl}/repos/${repository.owner}/${repository.name}${path}`;
      const sent = body === undefined ? null : JSON.stringify(body);
      const authorization = `token ${github.token}`;
      return await reply(
        await fetch(url, { method, body: sent, redirect: 'manual', headers: { authorization, ...headers } }),
      );
    },
  };
}

async function reply(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('application/json') ?? false;
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
}

/** Returns a nested member. */
function memberOf(json: unknown, ...names: readonly string[]): unknown {
  let found = json;
  for (const name of names) {
    assert.ok(typeof found === 'object' && found !== null);
    found = Object.entries(found).find(([member]) => member === name)?.[1];
  }
  return found;
}

/** Changes the tree of `main`, and returns the resulting tree. */
async function change({ sendRequest, repository }: Opened, ...tree: readonly object[]): Promise<Reply> {
  return await sendRequest('POST', '/git/trees', { base_tree: await repository.git('rev-parse', 'main'), tree });
}

function entry(path: string, content: string | null): object {
  return content === null ? { path, mode: '100644', sha: null } : { path, mode: '100644', content };
}

async function commit({ sendRequest, repository }: Opened, tree: unknown, message = 'Changed'): Promise<string> {
  const parents = [await repository.git('rev-parse', 'main')];
  return String((await sendRequest('POST', '/git/commits', { message, tree, parents })).json.sha);
}

describe('The fake GitHub API', () => {
  it('stores every byte in git', async (t) => {
    const opened = await open(t);
    const { sendRequest, repository } = opened;
    const bytes = Buffer.from([0, 255, 10, 13]);
    const blob = await sendRequest('POST', '/git/blobs', { content: bytes.toString('base64'), encoding: 'base64' });
    const tree = await change(opened, { path: 'new/ü', mode: '100755', type: 'blob', sha: blob.json.sha });
    const moved = await sendRequest('PATCH', '/git/refs/heads/main', {
      sha: await commit(opened, tree.json.sha, 'A message'),
    });
    assert.deepEqual([blob.status, tree.status, moved.status], [201, 201, 200]);
    assert.equal(await repository.git('log', '--format=%s by %an', '--max-count=1', 'main'), 'A message by octocat');
    assert.equal(
      await repository.git('-c', 'core.quotePath=false', 'ls-tree', '-r', '--format=%(objectmode) %(path)', 'main'),
      '100644 a.txt\n100644 folder/b\n100644 folder/deep/c\n100755 new/ü',
    );
    const raw = await fetch(String(blob.json.url), {
      headers: { authorization: `Bearer ${opened.github.token}`, accept: 'application/vnd.github.raw+json' },
    });
    assert.deepEqual(Buffer.from(await raw.arrayBuffer()), bytes);
  });

  it('lists a tree as git does', async (t) => {
    const { sendRequest, github, repository } = await open(t);
    await repository.commit(new Map([[Buffer.from([0x66, 0xff]), 'not UTF-8']]));
    const paths = async (query: string) => {
      const { json } = await sendRequest('GET', `/git/trees/main${query}`);
      assert.ok(Array.isArray(json.tree));
      return [json.tree.map((one) => memberOf(one, 'path')), json.truncated];
    };
    assert.deepEqual(await paths(''), [['a.txt', 'folder', 'f\ufffd'], false]);
    const all = ['a.txt', 'folder', 'folder/b', 'folder/deep', 'folder/deep/c', 'f\ufffd'];
    assert.deepEqual(await paths('?recursive=0'), [all, false]);
    github.limits.treeEntries = 4;
    assert.deepEqual(await paths('?recursive=1'), [all.slice(0, 4), true]);
  });

  it('lists commits as git does, by path and in pages', async (t) => {
    const { sendRequest, repository } = await open(t);
    for (const text of ['1', '2', '3']) await repository.commit({ 'folder/b': text, other: text });
    await repository.commit({ other: '4' });
    const listed = async (query: string) => {
      const { json } = await sendRequest('GET', `/commits?${query}`);
      return (json as unknown as readonly { readonly sha: string }[]).map(({ sha }) => sha).join('\n');
    };
    assert.equal(await listed('sha=main'), await repository.git('rev-list', 'main'));
    const [head, first] = [await repository.git('rev-parse', 'main'), await repository.git('rev-parse', 'main~4')];
    assert.equal(await listed(`sha=${head}&path=folder`), await repository.git('rev-list', 'main', '--', 'folder'));
    assert.equal(await listed(`sha=${head}&per_page=2&page=3`), first);
    assert.equal(await listed(`sha=${head}&path=${encodeURIComponent('*')}`), '');
    assert.equal((await sendRequest('GET', `/commits?sha=${'0'.repeat(40)}`)).status, 404);
  });

  it('removes, replaces and adds entries in one tree, and leaves no empty folder', async (t) => {
    const opened = await open(t);
    const folder = await opened.repository.git('rev-parse', 'main:folder');
    const copy = { path: 'copy', mode: '040000', type: 'tree', sha: folder };
    const { json } = await change(opened, entry('folder/deep/c', null), entry('a.txt', 'other'), copy);
    assert.equal(
      await opened.repository.git('ls-tree', '-r', '--name-only', String(json.sha)),
      'a.txt\ncopy/b\ncopy/deep/c\nfolder/b',
    );
    assert.equal(await opened.repository.git('show', `${String(json.sha)}:a.txt`), 'other');
  });

  it('rejects trees that GitHub rejects, and trees for which its response is unknown', async (t) => {
    const opened = await open(t);
    const malformed = 'tree.path contains a malformed path component';
    const expected: readonly (readonly [string, ...object[]])[] = [
      ...['a//b', '..', 'a/./b', '.GIT/x', 'git~1', '.git. ', '.git::$INDEX_ALLOCATION', '.g\u200cit', 'a\\.git'].map(
        (path) => [malformed, entry(path, '')] as const,
      ),
      ['tree.path cannot start with a slash', entry('/a', '')],
      ['GitRPC::BadObjectState', entry('none', null)],
      ['Must supply a valid tree.mode', { path: 'a', content: '' }],
      [`tree.sha ${'1'.repeat(40)} is not a valid blob`, { path: 'a', mode: '100644', sha: '1'.repeat(40) }],
      [
        'Must supply either tree.sha or tree.content. Request will be rejected if both are present.',
        { path: 'a', mode: '100644' },
      ],
      ['Not known of the real host: a.txt/b is below a file', entry('a.txt/b', '')],
      ['Not known of the real host: folder is a folder', entry('folder', '')],
      ['Not known of the real host: two entries are at one path', entry('x', ''), entry('x', '')],
      ['Not known of the real host: x/y is below another entry', entry('x', ''), entry('x/y', '')],
      ['Not known of the real host: the whole tree would be empty', entry('a.txt', null), entry('folder', null)],
    ];
    for (const [message, ...tree] of expected) {
      const { status, json } = await change(opened, ...tree);
      assert.deepEqual([status, json.message], [422, message]);
    }
    assert.equal((await change(opened, entry('.gitignore', ''), entry('git~2', ''), entry('.gitx', ''))).status, 201);
  });

  it('lets one of several concurrent updates win', async (t) => {
    const opened = await open(t);
    const trees = await Promise.all(['1', '2', '3'].map((text) => change(opened, entry('a.txt', text))));
    const commits = await Promise.all(trees.map(({ json }) => commit(opened, json.sha)));
    const updates = await Promise.all(
      commits.map((sha) => opened.sendRequest('PATCH', '/git/refs/heads/main', { sha })),
    );
    assert.equal(updates.filter(({ status }) => status === 200).length, 1);
    const lost = updates.find(({ status }) => status === 422);
    assert.equal(lost?.json.message, 'Update is not a fast forward');
    const forced = await opened.sendRequest('PATCH', '/git/refs/heads/main', { sha: commits[2], force: true });
    assert.equal(forced.status, 200);
    assert.equal(await opened.repository.git('rev-parse', 'main'), commits[2]);
  });

  it('moves a branch only from the expected commit', async (t) => {
    const { repository } = await open(t);
    const from = await repository.git('rev-parse', 'main');
    const to = await repository.commit({ b: '1' });
    const move = () => updateRef(repository.folder, { ref: 'refs/heads/main', to: from, from });
    assert.throws(move, { message: `refs/heads/main points to ${to}, not to ${from}.` });
    assert.equal(await repository.git('rev-parse', 'main'), to);
  });

  it('accepts a fast-forward of several commits', async (t) => {
    const { sendRequest, repository } = await open(t);
    const first = await repository.git('rev-parse', 'main');
    await repository.commit({ b: '1' });
    const last = await repository.commit({ b: '2' });
    assert.equal((await sendRequest('PATCH', '/git/refs/heads/main', { sha: first })).status, 422);
    assert.equal((await sendRequest('POST', '/git/refs', { ref: 'refs/heads/a/b', sha: first })).status, 201);
    assert.equal((await sendRequest('PATCH', '/git/refs/heads/a%2Fb', { sha: last })).status, 200);
    assert.equal((await sendRequest('GET', '/branches/a/b')).json.name, 'a/b');
    assert.equal((await sendRequest('GET', '/git/ref/heads/none')).status, 404);
  });

  it('creates the first commit only by an upload of a file', async (t) => {
    const { sendRequest, repository } = await open(t, {});
    const refused = await sendRequest('POST', '/git/blobs', { content: '' });
    assert.deepEqual([refused.status, refused.json.message], [409, 'Git Repository is empty.']);
    assert.equal((await sendRequest('PUT', '/contents/a/b', { message: 'First', content: 'dGV4dA==' })).status, 201);
    assert.equal(await repository.git('show', 'main:a/b'), 'text');
    const again = await sendRequest('PUT', '/contents/a/b', { message: 'Second', content: '' });
    assert.deepEqual([again.status, again.json.message], [422, `Invalid request.\n\n"sha" wasn't supplied.`]);
    assert.equal((await sendRequest('PUT', '/contents/c', { message: 'x', content: '', branch: 'none' })).status, 404);
  });

  it('returns a download URL that works once', async (t) => {
    const { sendRequest } = await open(t);
    const { json } = await sendRequest('GET', '/contents/a.txt?ref=main', undefined, {
      accept: 'application/vnd.github.object+json',
    });
    assert.deepEqual([json.type, json.encoding, json.content], ['file', 'base64', 'dGV4dA==\n']);
    const address = String(json.download_url);
    const head = await fetch(address, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, '4']);
    const part = await fetch(address, { headers: { range: 'bytes=1-2' } });
    assert.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 1-2/4', 'ex']);
    assert.equal((await fetch(address)).status, 404);
  });

  it('serves Git LFS objects', async (t) => {
    const { github, repository } = await open(t);
    const { oid } = repository.addLfsObject('large');
    const batch = async () =>
      await fetch(`${github.origin}/${repository.owner}/${repository.name}.git/info/lfs/objects/batch`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`x:${github.token}`).toString('base64')}`,
          accept: 'application/vnd.git-lfs+json',
          'content-type': 'application/vnd.git-lfs+json',
        },
        body: JSON.stringify({
          operation: 'download',
          objects: [
            { oid, size: 5 },
            { oid: '0'.repeat(64), size: 1 },
          ],
        }),
      });
    const objects = memberOf(await (await batch()).json(), 'objects');
    assert.equal(await (await fetch(String(memberOf(objects, '0', 'actions', 'download', 'href')))).text(), 'large');
    assert.equal(memberOf(objects, '1', 'error', 'code'), 404);
    github.features.lfs = false;
    assert.equal((await batch()).status, 404);
  });

  it('counts requests against the rate limit, except 304 responses', async (t) => {
    const { sendRequest, github } = await open(t);
    const first = await sendRequest('GET', '');
    const etag = String(first.headers.get('etag'));
    assert.match(etag, /^W\/"/);
    assert.equal((await sendRequest('GET', '', undefined, { 'if-none-match': etag })).status, 304);
    assert.equal(github.quota.remaining, 4999);
    assert.deepEqual(
      github.requests.map(({ free }) => free),
      [false, true],
    );
    github.quota.remaining = 0;
    const spent = await sendRequest('GET', '', undefined, { 'if-none-match': etag });
    assert.deepEqual([spent.status, spent.headers.get('x-ratelimit-remaining')], [403, '0']);
    github.quota.reset = Date.now() / 1000;
    assert.equal((await sendRequest('GET', '')).status, 200);
  });

  it('enforces permissions, protected branches and archived repositories', async (t) => {
    const { sendRequest, github, repository } = await open(t);
    const write = () => sendRequest('POST', '/git/blobs', { content: '' });
    const statusOf = async (requested: Promise<Reply>) => (await requested).status;
    assert.equal(await statusOf(sendRequest('GET', '', undefined, { authorization: 'token other' })), 401);
    github.permissions.write = false;
    assert.equal(await statusOf(write()), 403);
    github.permissions.read = false;
    assert.equal(await statusOf(sendRequest('GET', '')), 404);
    Object.assign(github.permissions, { read: true, write: true });
    const head = await repository.git('rev-parse', 'main');
    repository.protect('main');
    assert.equal(await statusOf(sendRequest('PATCH', '/git/refs/heads/main', { sha: head })), 422);
    repository.archive();
    assert.equal(await statusOf(write()), 403);
    assert.equal((await fetch(`${github.apiUrl}/repos/${repository.owner}/${repository.name}`)).status, 404);
  });

  it('redirects from an old repository name to the new one', async (t) => {
    const { sendRequest, github, repository } = await open(t);
    const old = `${github.apiUrl}/repos/${repository.owner}/${repository.name}/git/trees/main?recursive=1`;
    repository.rename('another');
    const headers = { authorization: `token ${github.token}` };
    const moved = await fetch(old, { headers, redirect: 'manual' });
    const location = `${github.apiUrl}/repositories/1/git/trees/main?recursive=1`;
    assert.deepEqual([moved.status, moved.headers.get('location')], [301, location]);
    assert.equal((await fetch(location, { headers })).status, 200);
    assert.equal((await sendRequest('GET', '')).json.name, 'another');
  });

  it('cuts connections and returns responses of an interceptor', async (t) => {
    const opened = await open(t);
    const { sendRequest, github, repository } = opened;
    const head = await repository.commit({ other: '' });
    const sha = await commit(opened, (await change(opened, entry('a.txt', 'new'))).json.sha);
    const update = () => sendRequest('PATCH', '/git/refs/heads/main', { sha });
    github.intercept(() => 'cut');
    await assert.rejects(update(), { message: 'fetch failed' });
    assert.equal(await repository.git('rev-parse', 'main'), head);
    github.intercept(({ method, body }) =>
      method === 'PATCH' && memberOf(body, 'sha') === sha ? 'cut when done' : undefined,
    );
    await assert.rejects(update(), { message: 'fetch failed' });
    assert.equal(await repository.git('rev-parse', 'main'), sha);
    github.intercept(() => ({ cutAfterBytes: 10 }));
    await assert.rejects(sendRequest('GET', ''), { message: 'terminated' });
    github.intercept(async () => ({ status: 502, headers: { 'retry-after': '1' }, body: '<h1>' }));
    const { status, text, headers } = await sendRequest('GET', '');
    assert.deepEqual([status, text, headers.get('retry-after')], [502, '<h1>', '1']);
    const statuses = (requests: readonly RespondedRequest[]) => requests.slice(-4).map((request) => request.status);
    assert.deepEqual(statuses(github.requests), [0, 0, 200, 502]);
  });

  it('accepts blobs up to a limit', async (t) => {
    const { sendRequest, github } = await open(t);
    const upload = (content: string) => sendRequest('POST', '/git/blobs', { content, encoding: 'base64' });
    assert.equal((await upload('no!!')).status, 422);
    github.limits.blobBytes = 3;
    assert.equal((await upload('AAAA')).status, 201);
    assert.equal(memberOf((await upload('AAAAAA==')).json, 'errors', '0', 'message'), 'input too large');
    github.limits.blobRequestBytes = 20;
    assert.equal((await upload('AAAA')).status, 422);
  });

  it('rejects requests that violate the API description, and fails when it stops', async () => {
    for (const body of [{ sha: 1 }, { sha: '1', forced: true }, {}]) {
      const { sendRequest, github } = await start({ files: FILES });
      assert.equal((await sendRequest('PATCH', '/git/refs/heads/main', body)).status, 500);
      await assert.rejects(github.stop(), { message: /PATCH .* body: data/ });
    }
  });

  it('fails when it stops if git fsck finds a fault', async () => {
    const { github, repository } = await start({ files: FILES });
    await repository.commit({ '.gitmodules': { mode: '120000', content: 'a.txt' } });
    await assert.rejects(github.stop(), { message: /gitmodulesSymlink/ });
    await assert.rejects(readdir(dirname(repository.folder)), { code: 'ENOENT' });
  });
});
