import type { Call } from './exchange.ts';

type RepositoryCall = Pick<Call, 'host' | 'repository'>;

/** Returns the URL of a repository in the API. */
export function urlOf({ host, repository }: RepositoryCall): string {
  return `${host.apiUrl}/repos/${repository.owner}/${repository.name}`;
}

/** Returns the URL of the repository's page. */
export function htmlUrl({ host, repository }: RepositoryCall): string {
  return `${new URL(host.apiUrl).origin}/${repository.owner}/${repository.name}`;
}

/** GitHub's node IDs are opaque. */
export function nodeId(kind: string, of: string): string {
  return `${kind}_${Buffer.from(of).toString('base64url')}`;
}
