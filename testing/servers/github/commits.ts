import { htmlUrl, nodeId, urlOf } from './addresses.ts';
import { type Call, ErrorResponse, notFound, type Response } from './exchange.ts';
import { listHistory } from './history.ts';
import { isSha } from './objects.ts';
import { toBytes } from './paths.ts';

interface Person {
  readonly name?: string;
  readonly email?: string;
  readonly date?: string;
}

export interface NewCommit {
  readonly message: string;
  readonly tree: string;
  readonly parents?: readonly string[];
  readonly author?: Person;
  readonly committer?: Person;
}

interface Signature {
  readonly name: string;
  readonly email: string;
  readonly date: string;
}

/** A commit as the Git database of the API describes it: the schema `git-commit`. */
export interface DescribedCommit {
  readonly sha: string;
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
  readonly tree: { readonly sha: string; readonly url: string };
  readonly parents: readonly { readonly sha: string; readonly url: string; readonly html_url: string }[];
  readonly verification: unknown;
}

/** The owner of the token. */
const OWNER = { name: 'octocat', email: '1+octocat@users.noreply.github.com' };

/** `POST /repos/{owner}/{repo}/git/commits` */
export async function createCommit(call: Call): Promise<Response> {
  const commit = await readCommit(call, await writeCommit(call, call.body as NewCommit));
  return { status: 201, headers: { location: `${urlOf(call)}/git/commits/${commit.sha}` }, json: commit };
}

/** `GET /repos/{owner}/{repo}/git/commits/{commit_sha}` */
export async function getCommit(call: Call): Promise<Response> {
  const header = await call.repository.objects.header(call.parameter);
  if (header?.type !== 'commit') throw notFound();
  return { status: 200, json: await readCommit(call, header.sha) };
}

/** `GET /repos/{owner}/{repo}/commits`, with git's order of commits and history simplification for a path. */
export async function listCommits(call: Call): Promise<Response> {
  const { repository, query } = call;
  const start = query.get('sha') ?? repository.defaultBranch;
  const commit = (await repository.objects.header(start)) ?? (await repository.objects.resolve(`refs/heads/${start}`));
  if (commit?.type !== 'commit') throw new ErrorResponse(404, `No commit found for SHA: ${start}`);
  const [perPage, page] = [numberOf(query.get('per_page'), 30), numberOf(query.get('page'), 1)];
  const count = Math.min(perPage, MAX_PER_PAGE);
  const path = query.get('path');
  const listed = await listHistory(repository, commit.sha, path === null ? undefined : toBytes(path));
  const shas = listed.slice((page - 1) * count, page * count);
  return { status: 200, json: await Promise.all(shas.map((sha) => describeCommit(call, sha))) };
}

const MAX_PER_PAGE = 100;

const numberOf = (text: string | null, otherwise: number) => (text === null ? otherwise : Math.max(1, Number(text)));

/** A commit as the rest of the API describes it: the schema `commit`. */
export async function describeCommit(call: Pick<Call, 'host' | 'repository'>, sha: string): Promise<unknown> {
  const { author, committer, message, tree, parents, verification } = await readCommit(call, sha);
  const url = urlOf(call);
  return {
    sha,
    node_id: nodeId('C', sha),
    commit: { author, committer, message, tree, url: `${url}/git/commits/${sha}`, comment_count: 0, verification },
    url: `${url}/commits/${sha}`,
    html_url: `${htmlUrl(call)}/commit/${sha}`,
    comments_url: `${url}/commits/${sha}/comments`,
    author: null,
    committer: null,
    parents,
  };
}

/** Writes a commit and returns its SHA. */
export async function writeCommit({ repository }: Pick<Call, 'repository'>, order: NewCommit): Promise<string> {
  const { message, tree, parents = [], author, committer = author } = order;
  const { objects } = repository;
  if ((await objects.header(tree))?.type !== 'tree') throw new ErrorResponse(422, 'Tree SHA does not exist');
  for (const parent of parents) {
    const isCommit = isSha(parent) && (await objects.header(parent))?.type === 'commit';
    if (!isCommit) throw new ErrorResponse(422, 'Parent SHA does not exist or is not a commit object');
  }
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${sign(author)}`,
    `committer ${sign(committer)}`,
  ];
  return await objects.write('commit', `${lines.join('\n')}\n\n${message}`);
}

/** `Name <address> 1795267982 +0000`. git removes characters that have another meaning there. */
function sign({ name = OWNER.name, email = OWNER.email, date }: Person = {}): string {
  const at = date === undefined ? new Date() : new Date(date);
  if (Number.isNaN(at.getTime())) throw new ErrorResponse(422, `Invalid date: ${date}`);
  const [plainName, plainEmail] = [name, email].map((text) => text.replaceAll(/[<>\n\0]/g, '').trim());
  return `${plainName} <${plainEmail}> ${Math.floor(at.getTime() / 1000)} +0000`;
}

export async function readCommit(call: Pick<Call, 'host' | 'repository'>, sha: string): Promise<DescribedCommit> {
  const text = (await call.repository.objects.read(sha)).toString();
  const [head = ''] = text.split('\n\n', 1);
  const fields = head.split('\n').map((line) => [line.split(' ', 1)[0] ?? '', line.replace(/^\S+ /, '')] as const);
  const all = (name: string) => fields.filter(([field]) => field === name).map(([, value]) => value);
  const [tree = ''] = all('tree');
  const [url, html] = [urlOf(call), htmlUrl(call)];
  const addresses = (commit: string) => ({ url: `${url}/git/commits/${commit}`, html_url: `${html}/commit/${commit}` });
  const commit = {
    sha,
    node_id: nodeId('C', sha),
    ...addresses(sha),
    author: parseSignature(all('author')[0]),
    committer: parseSignature(all('committer')[0]),
    message: text.slice(head.length + 2),
    tree: { sha: tree, url: `${url}/git/trees/${tree}` },
    parents: all('parent').map((parent) => ({ sha: parent, ...addresses(parent) })),
    verification: { verified: false, reason: 'unsigned', signature: null, payload: null, verified_at: null },
  };
  return commit;
}

function parseSignature(signature = ''): Signature {
  const [, name = '', email = '', seconds = '0'] = /^(.*?) ?<(.*)> (\d+) /.exec(signature) ?? [];
  return { name, email, date: new Date(Number(seconds) * 1000).toISOString().replace('.000Z', 'Z') };
}
