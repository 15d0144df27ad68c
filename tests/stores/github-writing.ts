import { Readable } from 'node:stream';
import { after, type TestContext } from 'node:test';
import type { Store, Upload } from '../../src/model/store.ts';
import { shaOfBlob } from '../../src/stores/github/branch/objects.ts';
import { openGitHub } from '../../src/stores/github/github.ts';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import type {
  AnsweredRequest,
  GitHubFake,
  GitHubRequest,
  RepositoryOptions,
  TestRepository,
} from '../../testing/servers/github.ts';
import { type HostedRepository, shareHosts } from '../../testing/servers/hosted-repository.ts';

export const POST_BLOB = 'POST /repos/{owner}/{repo}/git/blobs';
export const POST_TREE = 'POST /repos/{owner}/{repo}/git/trees';
export const POST_COMMIT = 'POST /repos/{owner}/{repo}/git/commits';
export const PATCH_REF = 'PATCH /repos/{owner}/{repo}/git/refs/{ref}';
export const GET_BRANCH = 'GET /repos/{owner}/{repo}/branches/{branch}';
export const PUT_FILE = 'PUT /repos/{owner}/{repo}/contents/{path}';

const shared = shareHosts();
after(() => shared.stop());

/** A repository that a store is open on; it ends with the test, if not before. */
export interface Opened extends Pick<HostedRepository, 'told' | 'options'>, AsyncDisposable {
  readonly host: GitHubFake;
  readonly repository: TestRepository;
  readonly store: Store;
  /** Another service on the same branch. */
  another(given?: Partial<GitHubOptions>): Store;
}

/** Without `files`, the repository has one that is in nobody's way. */
export async function openRepository(
  t: TestContext,
  { files = { 'README.md': 'text' }, ...given }: RepositoryOptions = {},
  options: Partial<GitHubOptions> = {},
): Promise<Opened> {
  return opening(t, await shared.hostRepository({ files, ...given }), options);
}

/** A repository without a commit. */
export async function openEmptyRepository(
  t: TestContext,
  given: Omit<RepositoryOptions, 'files'> = {},
  options: Partial<GitHubOptions> = {},
): Promise<Opened> {
  return opening(t, await shared.hostRepository(given), options);
}

function opening(t: TestContext, hosted: HostedRepository, given: Partial<GitHubOptions>): Opened {
  const { host, repository, told } = hosted;
  const options = { ...hosted.options, ...given };
  const stores: Store[] = [];
  const another: Opened['another'] = (other = {}) => {
    const store = openGitHub({ ...options, ...other });
    stores.push(store);
    return store;
  };
  let ended: Promise<void> | undefined;
  const end = async () => {
    host.intercept(undefined);
    await Promise.all(stores.map(async (store) => store.close?.()));
    await hosted.remove();
  };
  const endOnce = () => (ended ??= end());
  t.after(endOnce);
  return { host, repository, told, options, store: another(), another, [Symbol.asyncDispose]: endOnce };
}

/** A member that not every store has. */
export function having<Name extends keyof Store>(store: Store, name: Name): NonNullable<Store[Name]> {
  const member = store[name];
  if (!member) throw new Error(`The store has no ${name}.`);
  return member;
}

export function bytesUpload(...chunks: readonly Buffer[]): Upload {
  return { body: Readable.from(chunks, { objectMode: false }), type: 'application/octet-stream' };
}

/** Every file of the branch as git has it, by paths: mode and sha. */
export async function filesIn(repository: TestRepository, at = repository.branch): Promise<Record<string, string>> {
  const listed = await repository.git('ls-tree', '-r', '-z', at);
  const entries = listed
    .split('\0')
    .filter(Boolean)
    .map((line) => /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? []);
  return Object.fromEntries(entries.map(([, mode, sha, path = '']) => [path, `${mode} ${sha}`]));
}

/** As `filesIn` gives a file of these bytes. */
export function fileOf(bytes: Buffer | string, mode: '100644' | '100755' = '100644'): string {
  return `${mode} ${shaOfBlob(Buffer.from(bytes))}`;
}

export async function countCommits({ git, branch }: TestRepository): Promise<number> {
  return Number(await git('rev-list', '--count', branch));
}

/** The messages of the commits on the branch, the last one first, without the line that makes each one of its own. */
export async function messagesIn({ git, branch }: TestRepository): Promise<string[]> {
  const listed = await git('log', '--format=%B%x00', branch);
  return listed
    .split('\0')
    .map((text) => text.trim().replace(/\n\nHoldall-Id: [0-9a-f]{16}$/, ''))
    .filter(Boolean);
}

/** The requests of some routes; of all that write where none is named. */
export function sent({ requests }: Pick<GitHubFake, 'requests'>, ...routes: readonly string[]): AnsweredRequest[] {
  return requests.filter(({ route, method }) => (routes.length > 0 ? routes.includes(route) : method !== 'GET'));
}

/** Whether a request to make a tree has an entry for this path. */
export function isAbout({ route, body }: GitHubRequest, path: string): boolean {
  return route === POST_TREE && JSON.stringify(body).includes(JSON.stringify({ path }).slice(1, -1));
}

/** Something that happens once, and can be waited for. */
export function event(): { readonly happened: Promise<void>; happen(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { happened: promise, happen: resolve };
}
