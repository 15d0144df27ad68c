import type { Call } from './exchange.ts';

type Whose = Pick<Call, 'host' | 'repository'>;

/** The address of a repository in the API. */
export function urlOf({ host, repository }: Whose): string {
  return `${host.apiUrl}/repos/${repository.owner}/${repository.name}`;
}

/** The address of its page. */
export function htmlUrl({ host, repository }: Whose): string {
  return `${new URL(host.apiUrl).origin}/${repository.owner}/${repository.name}`;
}

/** GitHub's own names of things are opaque. */
export function nodeId(kind: string, of: string): string {
  return `${kind}_${Buffer.from(of).toString('base64url')}`;
}
