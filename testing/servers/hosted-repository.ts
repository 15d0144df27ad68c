import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import { type GitHubFake, type RepositoryOptions, startGitHub, type TestRepository } from './github.ts';

/** A repository on a fake host. */
export interface HostedRepository {
  readonly host: GitHubFake;
  readonly repository: TestRepository;
  /** Options for a store on it, without waits that only the real host needs. */
  readonly options: GitHubOptions;
  /** The log entries of the store. */
  readonly logged: readonly { readonly level: string; readonly message: string; readonly details: object }[];
  /** Removes the repository. Rejects if the host found a fault, or if `git fsck` of a host that is not shared did. */
  remove(): Promise<void>;
}

/** Starts a host for one repository. */
export async function hostRepository(given: RepositoryOptions = {}): Promise<HostedRepository> {
  const host = await startGitHub();
  return await createOn(host, () => host.stop(), given);
}

/** Returns a `hostRepository` whose repositories use the same hosts, one after the other, and a function to stop these. */
export function shareHosts(): { readonly hostRepository: typeof hostRepository; stop(): Promise<void> } {
  const hosts: GitHubFake[] = [];
  const unused: GitHubFake[] = [];
  return {
    async hostRepository(given = {}) {
      const host = unused.pop() ?? (await startGitHub());
      if (!hosts.includes(host)) hosts.push(host);
      const release = async () => {
        await host.reset();
        unused.push(host);
      };
      return await createOn(host, release, given);
    },
    stop: async () => void (await Promise.all(hosts.map((host) => host.stop()))),
  };
}

async function createOn(
  host: GitHubFake,
  release: () => Promise<void>,
  given: RepositoryOptions,
): Promise<HostedRepository> {
  const repository = await host.createRepository(given);
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-blobs-'));
  const logged: HostedRepository['logged'][number][] = [];
  const logTo = (level: string) => (message: string, details: object) => void logged.push({ level, message, details });
  return {
    host,
    repository,
    logged,
    options: {
      apiUrl: host.apiUrl,
      owner: repository.owner,
      repository: repository.name,
      branch: repository.branch,
      token: host.token,
      createBranch: false,
      readOnly: false,
      trust: 2,
      quotaWait: 0,
      writesPerMinute: undefined,
      commitMessage: '{summary}',
      author: undefined,
      cache: { folder, size: 64 * 1024 * 1024 },
      log: { info: logTo('info'), warn: logTo('warn'), error: logTo('error'), onRetry() {}, onCommit() {} },
      gatherFor: 0,
      retryAfter: 1,
    },
    async remove() {
      await rm(folder, { recursive: true, force: true });
      await release();
    },
  };
}
