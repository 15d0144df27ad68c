import { urlOf } from './addresses.ts';
import { type Folder, folderOf, isFolder, openFolder, writeFolder } from './editable-tree.ts';
import { type Call, ErrorResponse, notFound, type Response, unknownResult } from './exchange.ts';
import { isSha, type ObjectStore, typeOf } from './objects.ts';
import { isMalformed, toBytes } from './paths.ts';
import { describeTree, treeOf } from './trees.ts';

/**
 * An unchecked entry of the request. `refuseMalformed` rejects those that GitHub rejects, so every field is optional
 * here.
 */
interface RequestedEntry {
  readonly path?: string;
  readonly mode?: string;
  readonly type?: string;
  readonly sha?: string | null;
  readonly content?: string;
}

/** The new entry at a path, whose bytes are stored; null to remove it. */
export interface Change {
  readonly path: string;
  readonly entry: { readonly mode: string; readonly sha: string } | null;
}

/** `POST /repos/{owner}/{repo}/git/trees` */
export async function createTree(call: Call): Promise<Response> {
  const { tree: requestedEntries, base_tree: base } = call.body as {
    readonly tree: readonly RequestedEntry[];
    readonly base_tree?: string;
  };
  const { objects } = call.repository;
  const baseTree = base === undefined ? undefined : await findBase(objects, base);
  if (requestedEntries.length === 0) throw new ErrorResponse(422, 'Invalid tree info');
  const changes = await Promise.all(requestedEntries.map((order) => checkOrder(objects, order)));
  const tree = await changeTree(objects, baseTree, changes);
  const json = await describeTree(call, tree, tree, false);
  return { status: 201, headers: { location: `${urlOf(call)}/git/trees/${tree}` }, json };
}

async function findBase(objects: ObjectStore, base: string): Promise<string> {
  const header = await objects.header(base);
  const tree = header && (await treeOf({ objects }, header));
  if (tree === undefined) throw notFound();
  return tree;
}

const MODES = new Set(['100644', '100755', '040000', '160000', '120000']);

async function checkOrder(objects: ObjectStore, { path = '', mode, sha, content }: RequestedEntry): Promise<Change> {
  refuseMalformed('tree.path', path);
  if (mode === undefined || !MODES.has(mode)) throw new ErrorResponse(422, 'Must supply a valid tree.mode');
  if ((sha === undefined) === (content === undefined)) {
    throw new ErrorResponse(
      422,
      'Must supply either tree.sha or tree.content. Request will be rejected if both are present.',
    );
  }
  if (sha === null) return { path, entry: null };
  if (sha === undefined) return { path, entry: { mode, sha: await objects.write('blob', content ?? '') } };
  const type = typeOf(mode);
  // The commit of a submodule is in another repository.
  const isValid = type === 'commit' ? isSha(sha) : (await objects.header(sha))?.type === type;
  if (!isValid) throw new ErrorResponse(422, `tree.sha ${sha} is not a valid ${type}`);
  return { path, entry: { mode, sha } };
}

export function refuseMalformed(name: string, path: string): void {
  if (path.startsWith('/')) throw new ErrorResponse(422, `${name} cannot start with a slash`);
  if (isMalformed(path)) throw new ErrorResponse(422, `${name} contains a malformed path component`);
}

/** Returns the SHA of the changed tree. Folders that become empty are removed. */
export async function changeTree(
  objects: ObjectStore,
  base: string | undefined,
  changes: readonly Change[],
): Promise<string> {
  refuseOverlaps(changes);
  const root = folderOf(base);
  for (const change of changes) await apply(objects, root, change);
  const tree = await writeFolder(objects, root);
  if (tree === undefined) throw unknownResult('the whole tree would be empty');
  return tree;
}

function refuseOverlaps(changes: readonly Change[]): void {
  const paths = new Set(changes.map(({ path }) => path));
  if (paths.size < changes.length) throw unknownResult('two entries are at one path');
  for (const path of paths) {
    const segments = path.split('/');
    const isBelow = segments.some((_, length) => length > 0 && paths.has(segments.slice(0, length).join('/')));
    if (isBelow) throw unknownResult(`${path} is below another entry`);
  }
}

async function apply(objects: ObjectStore, root: Folder, { path, entry }: Change): Promise<void> {
  const segments = toBytes(path).split('/');
  const name = segments.pop() ?? '';
  let folder = root;
  for (const segment of segments) {
    const entries = await openFolder(objects, folder);
    const next = entries.get(segment);
    if (next && !isFolder(next)) throw entry ? unknownResult(`${path} is below a file`) : badObjectState();
    folder = next ?? folderOf();
    entries.set(segment, folder);
  }
  const entries = await openFolder(objects, folder);
  const present = entries.get(name);
  if (entry === null) {
    if (!entries.delete(name)) throw badObjectState();
  } else if (typeOf(entry.mode) === 'tree') {
    entries.set(name, folderOf(entry.sha));
  } else if (present && isFolder(present)) {
    throw unknownResult(`${path} is a folder`);
  } else {
    entries.set(name, entry);
  }
}

function badObjectState(): ErrorResponse {
  return new ErrorResponse(422, 'GitRPC::BadObjectState');
}
