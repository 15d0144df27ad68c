import { urlOf } from './addresses.ts';
import { type Call, notFound, type Response } from './exchange.ts';
import { isSha, type ObjectHeader, type TreeEntry, typeOf } from './objects.ts';
import { fromBytes } from './paths.ts';
import { isRefName } from './refs.ts';
import type { HostedRepository } from './repository.ts';

interface DescribedEntry {
  readonly path: string;
  readonly mode: string;
  readonly type: string;
  readonly sha: string;
  readonly size?: number;
  readonly url?: string;
}

/** `GET /repos/{owner}/{repo}/git/trees/{tree_sha}` */
export async function getTree(call: Call): Promise<Response> {
  const found = await findTree(call.repository, call.parameter);
  if (!found) throw notFound();
  const isRecursive = call.query.has('recursive');
  // The response has the requested name as a SHA: that of the commit if the name is one of a commit.
  return { status: 200, json: await describeTree(call, found.named, found.tree, isRecursive) };
}

/** Finds a tree by the SHA of a tree or commit, or by the name of a branch or tag. */
async function findTree(
  { objects }: HostedRepository,
  name: string,
): Promise<{ readonly named: string; readonly tree: string } | undefined> {
  const named = isSha(name) ? await objects.header(name) : await resolveName({ objects }, name);
  const tree = named && (await treeOf({ objects }, named));
  return tree === undefined ? undefined : { named: named?.sha ?? tree, tree };
}

/** A branch takes precedence over a tag of the same name. */
export async function resolveName(
  { objects }: Pick<HostedRepository, 'objects'>,
  name: string,
): Promise<ObjectHeader | undefined> {
  for (const ref of [`refs/heads/${name}`, `refs/tags/${name}`].filter(isRefName)) {
    const found = await objects.resolve(ref);
    if (found) return found;
  }
  return undefined;
}

/** Returns the SHA of an object's tree; undefined if it has none. */
export async function treeOf(
  { objects }: Pick<HostedRepository, 'objects'>,
  { sha, type }: ObjectHeader,
): Promise<string | undefined> {
  if (type === 'tree') return sha;
  if (type === 'blob') return undefined;
  const [, inner = '', kind] =
    /^(?:tree|object) ([0-9a-f]{40})\n(type)?/.exec((await objects.read(sha)).toString()) ?? [];
  if (kind === undefined) return inner;
  // An annotated tag of a commit.
  const tagged = await objects.header(inner);
  return tagged && (await treeOf({ objects }, tagged));
}

/** Describes a tree as the API does: the schema `git-tree`. */
export async function describeTree(call: Call, sha: string, tree: string, isRecursive: boolean): Promise<unknown> {
  const url = `${urlOf(call)}/git`;
  const { treeEntries, treeBytes } = call.host.limits;
  const listed: DescribedEntry[] = [];
  let bytes = 0;
  let isTruncated = false;
  for await (const entry of walk(call.repository, tree, isRecursive, '')) {
    const described = describeEntry(url, entry);
    bytes += Buffer.byteLength(JSON.stringify(described)) + 1;
    isTruncated = listed.length >= treeEntries || bytes > treeBytes;
    if (isTruncated) break;
    listed.push(described);
  }
  return { sha, url: `${url}/trees/${sha}`, tree: listed, truncated: isTruncated };
}

interface WalkedEntry extends TreeEntry {
  /** The name, encoded as in `TreeEntry`. */
  readonly path: string;
  readonly size: number | undefined;
}

/** A folder precedes its entries. */
async function* walk(
  repository: HostedRepository,
  tree: string,
  isRecursive: boolean,
  prefix: string,
): AsyncGenerator<WalkedEntry> {
  const { objects } = repository;
  const entries = await objects.readTree(tree);
  const isFile = ({ mode }: TreeEntry) => typeOf(mode) === 'blob';
  const headers = await Promise.all(entries.filter(isFile).map(({ sha }) => objects.header(sha)));
  const sizes = new Map(headers.map((header) => [header?.sha, header?.size]));
  for (const entry of entries) {
    const path = prefix + entry.name;
    yield { ...entry, path, size: isFile(entry) ? sizes.get(entry.sha) : undefined };
    if (isRecursive && typeOf(entry.mode) === 'tree') yield* walk(repository, entry.sha, true, `${path}/`);
  }
}

function describeEntry(url: string, { path, mode, sha, size }: WalkedEntry): DescribedEntry {
  const type = typeOf(mode);
  const entry = { path: fromBytes(path), mode, type, sha };
  // The commit of a submodule is in another repository.
  if (type === 'commit') return entry;
  return type === 'tree'
    ? { ...entry, url: `${url}/trees/${sha}` }
    : { ...entry, size: size ?? 0, url: `${url}/blobs/${sha}` };
}
