import { type Folder, folderOf, isFolder, openFolder, writeFolder } from './editable-tree.ts';
import { type GitContext, runGit } from './git-process.ts';
import type { ObjectStore } from './objects.ts';
import { treeOf } from './trees.ts';

/** The text or bytes of a file; with a mode, also an executable, a symbolic link, or the commit of a submodule. */
export type Content =
  | string
  | Buffer
  | { readonly mode: '100644' | '100755' | '120000'; readonly content: string | Buffer }
  | { readonly mode: '160000'; readonly sha: string };

/** Contents by path. A path that is not UTF-8 needs a Map and a Buffer. Null removes a file or a folder. */
export type Changes<Change> = Readonly<Record<string, Change>> | ReadonlyMap<string | Buffer, Change>;

interface NewCommit {
  readonly changes: Changes<Content | null>;
  readonly message: string;
  readonly date: Date;
}

interface Target {
  readonly gitContext: GitContext;
  readonly objects: ObjectStore;
}

/** The number of files above which git writes one pack faster than this process writes loose objects. */
const MAX_LOOSE_FILES = 1000;

/** Commits like another user's `git push`, and returns the sha of the commit. */
export async function pushCommit({ gitContext, objects }: Target, branch: string, commit: NewCommit): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const from = await objects.resolve(ref);
  const changes = [...(commit.changes instanceof Map ? commit.changes : Object.entries(commit.changes))];
  if (changes.length > MAX_LOOSE_FILES) {
    const input = describe(ref, { ...commit, changes, from: from?.sha });
    return (await runGit(gitContext, ['fast-import', '--quiet', '--done'], input)).toString().trim();
  }
  const root = folderOf(from && (await treeOf({ objects }, from)));
  for (const [path, change] of changes) await apply(objects, root, Buffer.from(path).toString('latin1'), change);
  const tree = (await writeFolder(objects, root)) ?? (await objects.writeTree([]));
  const parent = from ? `parent ${from.sha}\n` : '';
  const signature = sign(commit.date);
  const head = `tree ${tree}\n${parent}author ${signature}\ncommitter ${signature}\n`;
  const sha = await objects.write('commit', `${head}\n${commit.message}`);
  await objects.updateRef(ref, sha, from?.sha);
  return sha;
}

function sign(date: Date): string {
  return `Another User <another@example.com> ${Math.floor(date.getTime() / 1000)} +0000`;
}

/** Replaces a folder by a file and a file by a folder, as `git fast-import` does. */
async function apply(objects: ObjectStore, root: Folder, path: string, change: Content | null): Promise<void> {
  const segments = path.split('/');
  const name = segments.pop() ?? '';
  let folder = root;
  for (const segment of segments) {
    const entries = await openFolder(objects, folder);
    const next = entries.get(segment);
    folder = next && isFolder(next) ? next : folderOf();
    if (folder !== next) entries.set(segment, folder);
  }
  const entries = await openFolder(objects, folder);
  if (change === null) entries.delete(name);
  else entries.set(name, await entryOf(objects, change));
}

async function entryOf(objects: ObjectStore, change: Content) {
  if (typeof change === 'object' && 'sha' in change) return { mode: change.mode, sha: change.sha };
  const { mode, content } = fileOf(change);
  return { mode, sha: await objects.write('blob', Buffer.from(content)) };
}

function fileOf(change: Exclude<Content, { readonly mode: '160000' }>) {
  return typeof change === 'string' || Buffer.isBuffer(change) ? { mode: '100644', content: change } : change;
}

interface Import {
  readonly changes: readonly (readonly [string | Buffer, Content | null])[];
  readonly message: string;
  readonly date: Date;
  readonly from: string | undefined;
}

/** The input of `git fast-import`. */
function* describe(ref: string, { changes, message, date, from }: Import): Generator<string | Buffer> {
  const text = Buffer.from(message);
  yield `commit ${ref}\nmark :1\n`;
  yield `committer ${sign(date)}\n`;
  yield `data ${text.length}\n`;
  yield text;
  yield from === undefined ? '\n' : `\nfrom ${from}\n`;
  for (const [path, change] of changes) yield* describeChange(quote(path), change);
  yield '\nget-mark :1\ndone\n';
}

function* describeChange(path: string, change: Content | null): Generator<string | Buffer> {
  if (change === null) {
    yield `D ${path}\n`;
  } else if (typeof change === 'object' && 'sha' in change) {
    yield `M ${change.mode} ${change.sha} ${path}\n`;
  } else {
    const { mode, content } = fileOf(change);
    const bytes = Buffer.from(content);
    yield `M ${mode} inline ${path}\ndata ${bytes.length}\n`;
    yield bytes;
    yield '\n';
  }
}

/** Quotes a path as C does: each unusual byte as an octal number. */
function quote(path: string | Buffer): string {
  const escape = (byte: number) => {
    const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  };
  return `"${[...Buffer.from(path)].map(escape).join('')}"`;
}
