import { posix } from 'node:path';
import { htmlUrl, urlOf } from './addresses.ts';
import { bytesOf, decodeBase64, isRaw, rawResponse, refuseTooLarge, tooLarge, wrap } from './blobs.ts';
import { type NewCommit, readCommit, writeCommit } from './commits.ts';
import { type Call, ErrorResponse, notFound, type Response } from './exchange.ts';
import { entryAt } from './history.ts';
import { isSha, type ObjectHeader, type TreeEntry, typeOf } from './objects.ts';
import { fromBytes, toBytes } from './paths.ts';
import { refuseProtected } from './refs.ts';
import type { HostedRepository } from './repository.ts';
import { changeTree, refuseMalformed } from './tree-changes.ts';
import { resolveName, treeOf } from './trees.ts';

/** The size above which "Get repository content" omits the content. */
const MAX_CONTENT_BYTES = 2 ** 20;

/** "This API has an upper limit of 1,000 files for a directory." */
const MAX_FOLDER_ENTRIES = 1000;

/** The location of an entry. */
interface Location {
  readonly ref: string;
  /** The name, encoded as in `TreeEntry`. */
  readonly path: string;
}

/** `GET /repos/{owner}/{repo}/contents/{path}` */
export async function getContents(call: Call): Promise<Response> {
  const { repository, parameter, accept } = call;
  const ref = call.query.get('ref') ?? repository.defaultBranch;
  const place = { ref, path: toBytes(parameter.replace(/\/$/, '')) };
  const found = await findAt(repository, place);
  if (!found) throw notFound();
  const { header, mode } = found;
  const isObject = wantsObject(accept);
  if (!header)
    return {
      status: 200,
      json: { ...describe(call, place, found), submodule_git_url: `${htmlUrl(call)}-submodule.git` },
    };
  if (header.type === 'tree') {
    const entries = await describeFolder(call, place, header.sha);
    return { status: 200, json: isObject ? { ...describe(call, place, found), entries } : entries };
  }
  refuseTooLarge(header.size);
  if (isRaw(accept)) return rawResponse(bytesOf(repository, header));
  const target = mode === '120000' ? (await repository.objects.read(header.sha)).toString('latin1') : undefined;
  const followed = target === undefined ? found : await follow(repository, place, target);
  if (!followed?.header) return { status: 200, json: { ...describe(call, place, found), target } };
  const content = await includeContent(repository, followed.header);
  return { status: 200, json: { ...describe(call, place, followed), ...content } };
}

/** The media type remains `application/json`, so that clients that parse only JSON parse it. */
export function wantsObject(accept: string): boolean {
  return /application\/vnd\.github(?:\.v3)?\.object\b/.test(accept);
}

interface Found extends Pick<TreeEntry, 'mode' | 'sha'> {
  /** Undefined for a submodule, whose commit is in another repository. */
  readonly header: ObjectHeader | undefined;
}

/** Returns the entry at a path; undefined if there is none. */
export async function findAt({ objects }: HostedRepository, { ref, path }: Location): Promise<Found | undefined> {
  const named = isSha(ref) ? await objects.header(ref) : await resolveName({ objects }, ref);
  const tree = named && (await treeOf({ objects }, named));
  const at = tree === undefined ? undefined : await entryAt(objects, tree, path);
  return at && { ...at, header: typeOf(at.mode) === 'commit' ? undefined : await objects.header(at.sha) };
}

/** "If the symlink's target is a normal file in the repository", the response contains that file. */
async function follow(
  repository: HostedRepository,
  { ref, path }: Location,
  target: string,
): Promise<Found | undefined> {
  const found = await findAt(repository, { ref, path: posix.join(posix.dirname(path), target) });
  return found?.mode.startsWith('100') ? found : undefined;
}

async function includeContent({ objects }: HostedRepository, { sha, size }: ObjectHeader): Promise<object> {
  if (size > MAX_CONTENT_BYTES) return { content: '', encoding: 'none' };
  return { content: wrap((await objects.read(sha)).toString('base64')), encoding: 'base64' };
}

async function describeFolder(call: Call, { ref, path }: Location, sha: string): Promise<unknown> {
  const { objects } = call.repository;
  const entries = (await objects.readTree(sha)).slice(0, MAX_FOLDER_ENTRIES);
  return await Promise.all(
    entries.map(async (entry) => {
      const header = typeOf(entry.mode) === 'commit' ? undefined : await objects.header(entry.sha);
      return describe(call, { ref, path: path === '' ? entry.name : `${path}/${entry.name}` }, { ...entry, header });
    }),
  );
}

function describe(call: Call, { ref, path }: Location, { mode, sha, header }: Found) {
  const { host, repository } = call;
  const type = typeOf(mode);
  const name = fromBytes(path);
  const encoded = name.split('/').map(encodeURIComponent).join('/');
  const self = `${urlOf(call)}/contents/${encoded}?ref=${encodeURIComponent(ref)}`;
  const git = type === 'commit' ? null : `${urlOf(call)}/git/${type}s/${sha}`;
  const html = `${htmlUrl(call)}/${type}/${ref}/${encoded}`;
  return {
    name: posix.basename(name),
    path: name,
    sha,
    size: type === 'blob' ? (header?.size ?? 0) : 0,
    type: kindOf(mode),
    url: self,
    git_url: git,
    html_url: html,
    download_url: type === 'blob' ? host.downloadUrl(repository, ref, name) : null,
    _links: { self, git, html },
  };
}

function kindOf(mode: string): 'dir' | 'submodule' | 'symlink' | 'file' {
  if (mode === '040000') return 'dir';
  if (mode === '160000') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}

interface ContentsOrder extends Pick<NewCommit, 'message' | 'author' | 'committer'> {
  readonly content: string;
  readonly sha?: string;
  readonly branch?: string;
}

/** `PUT /repos/{owner}/{repo}/contents/{path}` */
export async function putContents(call: Call): Promise<Response> {
  const { repository, parameter: path } = call;
  const { content, sha, branch = repository.defaultBranch, ...order } = call.body as ContentsOrder;
  const { objects } = repository;
  refuseMalformed('path', path);
  const bytes = decodeBase64(content);
  if (bytes.length > call.host.limits.blobBytes) throw tooLarge();
  const ref = `refs/heads/${branch}`;
  const head = await objects.resolve(ref);
  const isFirst = !head && branch === repository.defaultBranch && (await repository.isEmpty());
  if (!head && !isFirst) throw new ErrorResponse(404, `Branch ${branch} not found`);
  refuseProtected(repository, ref);
  const present = head && (await findAt(repository, { ref: head.sha, path: toBytes(path) }));
  refuseStale(path, present?.sha, sha);
  const blob = await objects.write('blob', bytes);
  const change = { path, entry: { mode: present?.mode ?? '100644', sha: blob } };
  const tree = await changeTree(objects, head && (await treeOf(repository, head)), [change]);
  const commit = await writeCommit(call, { ...order, tree, parents: head ? [head.sha] : [] });
  try {
    await objects.updateRef(ref, commit, head?.sha);
  } catch (error) {
    const now = (await objects.resolve(ref))?.sha;
    if (now === head?.sha) throw error;
    throw new ErrorResponse(409, `is at ${now} but expected ${head?.sha}`);
  }
  const header = await objects.header(blob);
  const written = { ...describe(call, { ref: branch, path: toBytes(path) }, { ...change.entry, header }) };
  return {
    status: present ? 200 : 201,
    json: { content: withoutNull(written), commit: await readCommit(call, commit) },
  };
}

function refuseStale(path: string, present: string | undefined, given: string | undefined): void {
  if (present === given) return;
  if (given === undefined) throw new ErrorResponse(422, `Invalid request.\n\n"sha" wasn't supplied.`);
  throw new ErrorResponse(409, `${path} does not match ${given}`);
}

/** The description does not allow a file without a `download_url` here. */
function withoutNull({ download_url, ...rest }: ReturnType<typeof describe>) {
  return download_url === null ? rest : { ...rest, download_url };
}
