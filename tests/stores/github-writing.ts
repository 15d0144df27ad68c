import { Readable } from 'node:stream';
import { after, type TestContext } from 'node:test';
import type { Store, Upload } from '../../src/model/store.ts';
import { shaOfBlob } from '../../src/stores/github/branch/objects.ts';
import { openGitHub } from '../../src/stores/github/github.ts';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import type {
  GitHubFake,
  GitHubRequest,
  RepositoryOptions,
  RespondedRequest,
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

/** A repository with an open store. Both are closed at the end of the test, or when disposed. */
export interface Opened extends Pick<HostedRepository, 'logged' | 'options'>, AsyncDisposable {
  readonly host: GitHubFake;
  readonly repository: TestRepository;
  readonly store: Store;
  /** Opens another store on the same branch. */
  another(given?: Partial<GitHubOptions>): Store;
}

/** Creates a repository and opens a store. The default for `files` is one file, so that the branch exists. */
export async function openRepository(
  t: TestContext,
  { files = { 'README.md': 'text' }, ...given }: RepositoryOptions = {},
  options: Partial<GitHubOptions> = {},
): Promise<Opened> {
  return opening(t, await shared.hostRepository({ files, ...given }), options);
}

/** Creates a repository without commits and opens a store. */
export async function openEmptyRepository(
  t: TestContext,
  given: Omit<RepositoryOptions, 'files'> = {},
  options: Partial<GitHubOptions> = {},
): Promise<Opened> {
  return opening(t, await shared.hostRepository(given), options);
}

function opening(t: TestContext, hosted: HostedRepository, given: Partial<GitHubOptions>): Opened {
  const { host, repository, logged } = hosted;
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
  const closeAtEnd = () => (ended ??= end());
  t.after(closeAtEnd);
  return { host, repository, logged, options, store: another(), another, [Symbol.asyncDispose]: closeAtEnd };
}

/** Returns an optional member of a store. Throws if the store lacks it. */
export function requireMember<Name extends keyof Store>(store: Store, name: Name): NonNullable<Store[Name]> {
  const member = store[name];
  if (!member) throw new Error(`The store has no ${name}.`);
  return member;
}

export function bytesUpload(...chunks: readonly Buffer[]): Upload {
  return { body: Readable.from(chunks, { objectMode: false }), type: 'application/octet-stream' };
}

/** Returns mode and SHA of every file on the branch, by path. */
export async function filesIn(repository: TestRepository, at = repository.branch): Promise<Record<string, string>> {
  return await repository.files(at);
}

/** Returns mode and SHA of a file with these bytes, like `filesIn`. */
export function fileOf(bytes: Buffer | string, mode: '100644' | '100755' = '100644'): string {
  return `${mode} ${shaOfBlob(Buffer.from(bytes))}`;
}

export async function countCommits(repository: TestRepository): Promise<number> {
  return (await repository.messages()).length;
}

/** Returns the messages of the commits on the branch, newest first, without the unique line. */
export async function messagesIn(repository: TestRepository): Promise<string[]> {
  const messages = await repository.messages();
  return messages.map((text) => text.trim().replace(/\n\nHoldall-Id: [0-9a-f]{16}$/, '')).filter(Boolean);
}

/** Returns the requests to the given routes; without routes, all write requests. */
export function sent({ requests }: Pick<GitHubFake, 'requests'>, ...routes: readonly string[]): RespondedRequest[] {
  return requests.filter(({ route, method }) => (routes.length > 0 ? routes.includes(route) : method !== 'GET'));
}

/** Returns whether a request creates a tree with an entry for `path`. */
export function isForPath({ route, body }: GitHubRequest, path: string): boolean {
  return route === POST_TREE && JSON.stringify(body).includes(JSON.stringify({ path }).slice(1, -1));
}

/** Creates an event that happens once and can be awaited. */
export function event(): { readonly happened: Promise<void>; happen(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { happened: promise, happen: resolve };
}
