import { hash } from 'node:crypto';
import type { GitHubFake, TestRepository } from '../../testing/servers/github.ts';
import { startGitHub } from '../../testing/servers/github.ts';
import type { RunningServer, ServedFolder, Server } from './servers.ts';
import { startServer } from './servers.ts';

/** The service on a branch of its own, at a double of GitHub in this process. */
export interface HostedBranch extends AsyncDisposable {
  readonly repository: TestRepository;
  readonly running: RunningServer;
  /** Does a piece of work of the service, and says what that cost at the host. */
  meter(work: () => Promise<void>): Promise<HostCost>;
}

/** What a piece of work took, and what it asked of the host. */
export interface HostCost {
  readonly seconds: number;
  /** Calls of the API that count, and those that were free (304). */
  readonly calls: number;
  readonly free: number;
  readonly commits: number;
}

/** The folder that things are done to. */
export const folder = 'files';

/** Opens a repository with so many files in one folder, and starts the service on it. */
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

/** 4 KiB of text, no two alike. */
export function contentOf(name: string): Buffer {
  return Buffer.alloc(4 * 1024, `${name}\n`);
}

/** The sha by which git knows a file's content (gitformat-pack). */
export function shaOf(content: Buffer): string {
  return hash('sha1', Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
}

/** What is in a folder of the branch: `sha name` of each entry. Empty where there is no folder. */
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

/** The defaults, but that every request looks at the branch first: what is counted does not hang on the moment. */
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
