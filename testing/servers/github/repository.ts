import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertDeclared } from '../../../tests/runner/declared.ts';
import { type GitContext, runGit } from './git-process.ts';
import { filesOf, listHistory } from './history.ts';
import { packObjects, writeObjects } from './loose-objects.ts';
import { isSha, type ObjectStore, openObjects } from './objects.ts';
import { type Changes, type Content, pushCommit } from './pushes.ts';
import { resolveName, treeOf } from './trees.ts';

export interface RepositoryOptions {
  readonly owner?: string;
  readonly name?: string;
  /** The branch of the first commit. */
  readonly branch?: string;
  /** The default branch. Default: `branch`. */
  readonly defaultBranch?: string;
  /** The first commit. Default: no commit. */
  readonly files?: Changes<Content>;
  readonly private?: boolean;
}

/** Changes to a repository by a test, outside of the API. */
export interface TestRepository {
  readonly owner: string;
  /** The current name. */
  readonly name: string;
  readonly branch: string;
  /** The path of the bare repository, with everything that was stored so far. */
  readonly folder: string;
  /** Runs git on the repository. Returns its output without trailing white space. */
  git(...args: readonly string[]): Promise<string>;
  /** Returns mode and SHA of every file by path: on the branch, or in the commit of this SHA. */
  files(at?: string): Promise<Record<string, string>>;
  /** Returns the messages of the commits on the branch, newest first. */
  messages(): Promise<string[]>;
  /** Commits on a branch like another user's push. Returns the SHA of the commit. */
  commit(
    changes: Changes<Content | null>,
    message?: string,
    options?: { readonly branch?: string; readonly date?: Date },
  ): Promise<string>;
  /** Creates a branch at the head of `branch`. */
  createBranch(name: string): Promise<void>;
  /** Renames the repository. The old name redirects to the new one from then on. */
  rename(name: string): void;
  /** Rejects further commits on the branch, with this message. */
  protect(branch: string, message?: string): void;
  archive(): void;
  /** Stores an object of Git LFS on the host. `pointer` is the pointer file for commits. */
  addLfsObject(bytes: Buffer | string): { readonly oid: string; readonly pointer: string };
}

/** A repository, for the API. */
export interface HostedRepository {
  readonly id: number;
  readonly owner: string;
  name: string;
  readonly formerNames: string[];
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  isArchived: boolean;
  readonly gitContext: GitContext;
  readonly objects: ObjectStore;
  /** The messages of rejections, by branch. */
  readonly protections: Map<string, string>;
  readonly lfsObjects: Map<string, Buffer>;
  /** Returns whether the repository has no commits. */
  isEmpty(): Promise<boolean>;
  /** Ends the git processes. */
  close(): Promise<void>;
}

export async function createBareRepository(
  parent: string,
  id: number,
  options: RepositoryOptions,
): Promise<{ hosted: HostedRepository; test: TestRepository }> {
  assertDeclared('git');
  const { owner = 'octocat', name = `repository-${id}`, branch = 'main', files, private: isPrivate = true } = options;
  const { defaultBranch = branch } = options;
  const folder = join(parent, `${id}.git`);
  initialise(folder, defaultBranch);
  const gitContext = { folder, env: environment(folder) };
  const hosted = host({ id, owner, name, defaultBranch, isPrivate, gitContext });
  if (files) await pushCommit(hosted, branch, { changes: files, message: 'Initial commit', date: new Date() });
  return { hosted, test: forTests(hosted, branch) };
}

/**
 * Creates a repository like `git init --bare`, without unused files. All repositories in a folder share their objects,
 * so that one `git fsck` checks all.
 */
function initialise(folder: string, defaultBranch: string): void {
  mkdirSync(join(folder, 'refs'), { recursive: true });
  mkdirSync(join(folder, '..', 'objects'), { recursive: true });
  symlinkSync('../objects', join(folder, 'objects'));
  writeFileSync(join(folder, 'HEAD'), `ref: refs/heads/${defaultBranch}\n`);
  writeFileSync(join(folder, 'config'), CONFIGURATION);
}

/** Rejects with the output of `git fsck` if it finds a fault in the objects or branches of the repositories. */
export async function checkRepositories(repositories: readonly HostedRepository[]): Promise<void> {
  const [first] = repositories;
  if (!first) return;
  const heads = repositories.flatMap(({ gitContext }) => listRefs(gitContext.folder));
  const pack = packObjects(first.gitContext.folder);
  if (pack) await runGit(first.gitContext, ['index-pack', '--stdin'], [pack]);
  await runGit(first.gitContext, ['fsck', '--strict', '--no-dangling', '--no-progress', ...new Set(heads)]);
}

/** The objects are temporary, so durability and space do not matter. */
const CONFIGURATION = `
[core]
repositoryformatversion = 0
bare = true
fsync = none
looseCompression = 0
[pack]
compression = 0
[gc]
auto = 0
[fastimport]
unpackLimit = 0
`;

function environment(folder: string): Readonly<Record<string, string>> {
  const { PATH = '/usr/bin:/bin' } = process.env;
  const name = 'Another User';
  const email = 'somebody@example.com';
  return {
    PATH,
    HOME: folder,
    LC_ALL: 'C.UTF-8',
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

function host(
  given: Pick<HostedRepository, 'id' | 'owner' | 'name' | 'defaultBranch' | 'isPrivate' | 'gitContext'>,
): HostedRepository {
  const objects = openObjects(given.gitContext);
  let hadCommits = false;
  return {
    ...given,
    formerNames: [],
    isArchived: false,
    objects,
    protections: new Map(),
    lfsObjects: new Map(),
    async isEmpty() {
      hadCommits ||= (await objects.resolve(`refs/heads/${given.defaultBranch}`)) !== undefined;
      hadCommits ||= listRefs(given.gitContext.folder).length > 0;
      return !hadCommits;
    },
    close: () => objects.end(),
  };
}

/** Returns the shas that the refs of a repository point to, except for packed refs. */
function listRefs(folder: string): string[] {
  return readdirSync(join(folder, 'refs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8').trim());
}

function forTests(hosted: HostedRepository, branch: string): TestRepository {
  const { owner, gitContext, objects } = hosted;
  return {
    owner,
    get name() {
      return hosted.name;
    },
    branch,
    get folder() {
      writeObjects(gitContext.folder);
      return gitContext.folder;
    },
    git: async (...args) => (await runGit(gitContext, args)).toString().trimEnd(),
    async files(at = branch) {
      const found = isSha(at) ? await objects.header(at) : await resolveName(hosted, at);
      const tree = found && (await treeOf(hosted, found));
      if (tree === undefined) throw new Error(`There is no branch or commit "${at}".`);
      return Object.fromEntries(await filesOf(objects, tree));
    },
    async messages() {
      const head = await objects.resolve(`refs/heads/${branch}`);
      const commits = head ? await listHistory(hosted, head.sha) : [];
      return await Promise.all(
        commits.map(async (sha) => {
          const text = (await objects.read(sha)).toString();
          return text.slice(text.indexOf('\n\n') + 2);
        }),
      );
    },
    async commit(changes, message = 'Changed by another user', { branch: other = branch, date = new Date() } = {}) {
      return await pushCommit(hosted, other, { changes, message, date });
    },
    async createBranch(name) {
      const head = await objects.resolve(`refs/heads/${branch}`);
      if (!head) throw new Error(`The branch "${branch}" has no commit.`);
      await objects.updateRef(`refs/heads/${name}`, head.sha, undefined);
    },
    rename(name) {
      hosted.formerNames.push(hosted.name);
      hosted.name = name;
    },
    protect(protectedBranch, message = 'Changes must be made through a pull request.') {
      hosted.protections.set(protectedBranch, message);
    },
    archive() {
      hosted.isArchived = true;
    },
    addLfsObject(content) {
      const bytes = Buffer.from(content);
      const oid = createHash('sha256').update(bytes).digest('hex');
      hosted.lfsObjects.set(oid, bytes);
      // https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md, "The Pointer"
      return {
        oid,
        pointer: `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${bytes.length}\n`,
      };
    },
  };
}
