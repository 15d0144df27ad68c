import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { Interceptor, OwnResponse } from '../../testing/servers/github.ts';
import type { Opened } from './github-writing.ts';

export const GET_BRANCH = 'GET /repos/{owner}/{repo}/branches/{branch}';
export const GET_TREE = 'GET /repos/{owner}/{repo}/git/trees/{tree_sha}';
export const GET_BLOB = 'GET /repos/{owner}/{repo}/git/blobs/{file_sha}';

export const MIB = 2 ** 20;

/** Returns the requests since `host.forget`, in a short form: `200 GET /git/trees/{tree_sha} recursive`. */
export function requestsOf({ host }: Pick<Opened, 'host'>): string[] {
  return host.requests.map(({ status, route, query }) => {
    const depth = query.has('recursive') ? ' recursive' : '';
    return `${status} ${route.replace('/repos/{owner}/{repo}', '')}${depth}`;
  });
}

/** Returns the requests that `work` sends, like `requestsOf`. */
export async function requestsDuring(opened: Pick<Opened, 'host'>, work: () => Promise<unknown>): Promise<string[]> {
  opened.host.forget();
  await work();
  return requestsOf(opened);
}

export const BRANCH = '200 GET /branches/{branch}';
export const UNCHANGED = '304 GET /branches/{branch}';
export const TREE = '200 GET /git/trees/{tree_sha}';
export const TREES = '200 GET /git/trees/{tree_sha} recursive';
export const BLOB = '200 GET /git/blobs/{file_sha}';

export function unavailable(message: RegExp) {
  return { name: 'StoreError', kind: 'unavailable', message };
}

/** Answers every request to a route with the given response. */
export function respondWith(route: string, response: OwnResponse | 'cut'): Interceptor {
  return (request) => (request.route === route ? response : undefined);
}

/** Returns the host's JSON response to a GET. */
export async function responseOf({ options }: Pick<Opened, 'options'>, path: string): Promise<unknown> {
  const { apiUrl, owner, repository, token } = options;
  const url = `${apiUrl}/repos/${owner}/${repository}${path}`;
  const response = await fetch(url, { headers: { authorization: `token ${token}` } });
  assert.equal(response.status, 200);
  return response.json();
}

export const warnings = ({ logged }: Pick<Opened, 'logged'>) => logged.filter(({ level }) => level === 'warn');

/** Creates a tree from lines in the format of `git ls-tree`, without any checks. Returns its SHA. */
export function makeTree({ repository }: Pick<Opened, 'repository'>, lines: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync('git', ['--git-dir', repository.folder, 'mktree'], {
    input: lines.join('\n'),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}
