import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import { type GitHubDouble, type RepositoryOptions, startGitHub, type TestRepository } from './github.ts';

/** A repository of a test's own, on a host of its own. */
export interface HostedRepository {
  readonly host: GitHubDouble;
  readonly repository: TestRepository;
  /** With which a store opens it: nothing is waited for that only the real host asks for. */
  readonly options: GitHubOptions;
  /** What the store told, by levels. */
  readonly told: readonly { readonly level: string; readonly message: string; readonly details: object }[];
  /** Removes all, and rejects where the host found a fault, or git one in the repository. */
  remove(): Promise<void>;
}

export async function hostRepository(given: RepositoryOptions = {}): Promise<HostedRepository> {
  const host = await startGitHub();
  const repository = await host.createRepository(given);
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-blobs-'));
  const told: HostedRepository['told'][number][] = [];
  const teller = (level: string) => (message: string, details: object) => void told.push({ level, message, details });
  return {
    host,
    repository,
    told,
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
      log: { info: teller('info'), warn: teller('warn'), retried() {}, committed() {} },
      gatherFor: 0,
      retryAfter: 1,
    },
    async remove() {
      await rm(folder, { recursive: true, force: true });
      await host.stop();
    },
  };
}
