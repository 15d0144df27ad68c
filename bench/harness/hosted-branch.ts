import { hash } from 'node:crypto';
import type { GitHubFake, TestRepository } from '../../testing/servers/github.ts';
import { startGitHub } from '../../testing/servers/github.ts';
import type { RunningServer, ServedFolder, Server } from './servers.ts';
import { startServer } from './servers.ts';

/** The service on a branch of its own, with a fake GitHub API in this process. */
export interface HostedBranch extends AsyncDisposable {
  readonly repository: TestRepository;
  readonly running: RunningServer;
  /** Runs an operation of the service. Returns its cost at the host. */
  meter(work: () => Promise<void>): Promise<HostCost>;
}

/** The duration of an operation, and its requests to the host. */
export interface HostCost {
  readonly seconds: number;
  /** API calls that count against the rate limit, and those that don't (304). */
  readonly calls: number;
  readonly free: number;
  readonly commits: number;
}

/** The folder of the operations. */
export const folder = 'files';

/** Creates a repository with a number of files in one folder, and starts the service on it. */
export async function openBranch(
  fileCount: number,
  holdall: (storage: Readonly<Record<string, string>>) => Server,
  site: ServedFolder,
  signal: AbortSignal,
): Promise<HostedBranch> {
  const host = await startGitHub();
  try {
    const files = Object.fromEntries(fileNames(fileCount).map((name) => [`${folder}/${name}`, contentOf(name)]));
    const repository = await host.createRepository({ files: { ...files, 'README.md': 'text' } });
    const running = await startServer(holdall(storageSettings(host, repository)), site, signal);
    return {
      repository,
      running,
      meter: (work) => meter(host, repository, work),
      [Symbol.asyncDispose]: async () => {
        await running[Symbol.asyncDispose]();
        await host.stop();
      },
    };
  } catch (error) {
    await host.stop();
    throw error;
  }
}

export function fileNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `file ${String(index + 1).padStart(4, '0')}.txt`);
}

/** Returns 4 KiB of unique text. */
export function contentOf(name: string): Buffer {
  return Buffer.alloc(4 * 1024, `${name}\n`);
}

/** Returns the hash of a git blob with this content (gitformat-pack). */
export function shaOf(content: Buffer): string {
  return hash('sha1', Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
}

/** Returns `sha name` of each entry of a folder in the branch; an empty list for a missing folder. */
export async function entriesOf({ git, branch }: TestRepository, path: string): Promise<string[]> {
  const lines = await git('ls-tree', '-z', '--format=%(objectname) %(path)', branch, `${path}/`);
  return lines
    .split('\0')
    .filter(Boolean)
    .map((line) => line.replace(`${path}/`, ''));
}

async function meter(host: GitHubFake, { git, branch }: TestRepository, work: () => Promise<void>): Promise<HostCost> {
  const countCommits = async () => Number(await git('rev-list', '--count', branch));
  const commitsBefore = await countCommits();
  host.forget();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  const free = host.requests.filter((request) => request.free).length;
  const commits = (await countCommits()) - commitsBefore;
  return { seconds, calls: host.requests.length - free, free, commits };
}

/** The defaults, except that every request reads the branch first, so that the counts don't depend on timing. */
function storageSettings({ apiUrl, token }: GitHubFake, repository: TestRepository): Record<string, string> {
  return {
    STORAGE_TYPE: 'github',
    GITHUB_API_URL: apiUrl,
    GITHUB_OWNER: repository.owner,
    GITHUB_REPO: repository.name,
    GITHUB_BRANCH: repository.branch,
    GITHUB_TOKEN: token,
    GITHUB_TRUST: '0',
  };
}
