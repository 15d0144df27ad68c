import { createBlob, getBlob } from './blobs.ts';
import { createCommit, getCommit, listCommits } from './commits.ts';
import { getContents, putContents } from './contents.ts';
import type { Call, Response } from './exchange.ts';
import { createRef, getRef, updateRef } from './refs.ts';
import { getBranch, getRepository } from './repository-routes.ts';
import { createTree } from './tree-changes.ts';
import { getTree } from './trees.ts';

export interface Route {
  /** The route in GitHub's reference. */
  readonly name: string;
  readonly method: string;
  /** Matches the path after the repository. The group is the route's parameter, encoded. */
  readonly pattern: RegExp;
  /** Whether the route returns "Git Repository is empty." if there are no commits. */
  readonly needsCommits: boolean;
  readonly serve: (call: Call) => Promise<Response>;
}

export const ROUTES: readonly Route[] = [
  route('GET', '', getRepository),
  route('GET', '/branches/{branch}', getBranch),
  route('GET', '/git/ref/{ref}', getRef),
  route('POST', '/git/refs', createRef),
  route('PATCH', '/git/refs/{ref}', updateRef),
  route('GET', '/git/trees/{tree_sha}', getTree),
  route('POST', '/git/trees', createTree),
  route('POST', '/git/blobs', createBlob),
  route('GET', '/git/blobs/{file_sha}', getBlob),
  route('POST', '/git/commits', createCommit),
  route('GET', '/git/commits/{commit_sha}', getCommit),
  route('GET', '/commits', listCommits),
  route('GET', '/contents/{path}', getContents),
  route('PUT', '/contents/{path}', putContents),
];

export const BLOB_UPLOAD = 'POST /repos/{owner}/{repo}/git/blobs';

function route(method: string, below: string, serve: Route['serve']): Route {
  // The root folder is at `contents` and at `contents/`.
  const source = below.replace('/{path}', '(?:/(.*))?').replace(/\{\w+\}/, '(.+)');
  return {
    name: `${method} /repos/{owner}/{repo}${below}`,
    method,
    pattern: new RegExp(`^${source}$`),
    needsCommits: below.startsWith('/git/') || below === '/commits',
    serve,
  };
}
