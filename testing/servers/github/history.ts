import { type GitContext, runGit } from './git-process.ts';
import { type ObjectStore, type TreeEntry, typeOf } from './objects.ts';

interface History {
  readonly objects: ObjectStore;
  readonly gitContext: GitContext;
}

/** A commit, as far as its place in the history depends on it. */
interface Link {
  readonly sha: string;
  readonly tree: string;
  readonly parents: readonly string[];
}

/**
 * Returns the commits of a history, newest first: with a path, only those that change it. Like `git rev-list`, which takes
 * longer to start than this takes, and which still orders and simplifies histories with merges.
 */
export async function listHistory({ objects, gitContext }: History, start: string, path?: string): Promise<string[]> {
  const links: Link[] = [];
  for (let next: string | undefined = start; next !== undefined; next = links.at(-1)?.parents[0]) {
    const link = await readLink(objects, next);
    if (link.parents.length > 1) {
      const paths = path === undefined ? [] : [`:(literal)${Buffer.from(path, 'latin1').toString()}`];
      return lines(await runGit(gitContext, ['rev-list', start, '--', ...paths]));
    }
    links.push(link);
  }
  if (path === undefined) return links.map(({ sha }) => sha);
  const found = await Promise.all(links.map(({ tree }) => entryAt(objects, tree, path)));
  return links.filter((_, index) => identify(found[index]) !== identify(found[index + 1])).map(({ sha }) => sha);
}

/** Returns whether `descendant` is `ancestor`, or was made from it. */
export async function isAncestor(objects: ObjectStore, ancestor: string, descendant: string): Promise<boolean> {
  const seen = new Set([descendant]);
  for (const sha of seen) {
    if (sha === ancestor) return true;
    for (const parent of (await readLink(objects, sha)).parents) seen.add(parent);
  }
  return false;
}

/** Returns the entry at a path, which is encoded as in `TreeEntry`; undefined if there is none. */
export async function entryAt(
  objects: ObjectStore,
  tree: string,
  path: string,
): Promise<Pick<TreeEntry, 'mode' | 'sha'> | undefined> {
  let at: Pick<TreeEntry, 'mode' | 'sha'> | undefined = { mode: '040000', sha: tree };
  for (const segment of path === '' ? [] : path.split('/')) {
    if (at === undefined || typeOf(at.mode) !== 'tree') return undefined;
    at = (await objects.readTree(at.sha)).find(({ name }) => name === segment);
  }
  return at;
}

/** Returns mode and SHA of every file of a tree by path, in git's order. Paths that are not UTF-8 get U+FFFD. */
export async function filesOf(
  objects: ObjectStore,
  tree: string,
  prefix = '',
): Promise<[path: string, file: string][]> {
  const entries = await objects.readTree(tree);
  const found = await Promise.all(
    entries.map(async ({ mode, name, sha }): Promise<[string, string][]> => {
      const path = prefix + Buffer.from(name, 'latin1').toString();
      return typeOf(mode) === 'tree' ? await filesOf(objects, sha, `${path}/`) : [[path, `${mode} ${sha}`]];
    }),
  );
  return found.flat();
}

async function readLink(objects: ObjectStore, sha: string): Promise<Link> {
  const [head = ''] = (await objects.read(sha)).toString('latin1').split('\n\n', 1);
  const parents = [...head.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, parent = '']) => parent);
  return { sha, tree: head.slice('tree '.length, 'tree '.length + 40), parents };
}

const identify = (entry: Pick<TreeEntry, 'mode' | 'sha'> | undefined) => entry && `${entry.mode} ${entry.sha}`;

const lines = (output: Buffer) => output.toString().split('\n').filter(Boolean);
