import { htmlUrl, nodeId, urlOf } from './addresses.ts';
import { describeCommit } from './commits.ts';
import { type Call, type Host, notFound, type Response } from './exchange.ts';
import type { HostedRepository } from './repository.ts';

/** `GET /repos/{owner}/{repo}` */
export async function getRepository(call: Call): Promise<Response> {
  return { status: 200, json: describeRepository(call) };
}

/** `GET /repos/{owner}/{repo}/branches/{branch}` */
export async function getBranch(call: Call): Promise<Response> {
  const { repository, parameter: branch } = call;
  const head = await repository.objects.resolve(`refs/heads/${branch}`);
  if (!head) throw notFound();
  const self = `${urlOf(call)}/branches/${encodeURIComponent(branch)}`;
  return {
    status: 200,
    json: {
      name: branch,
      commit: await describeCommit(call, head.sha),
      _links: { self, html: `${htmlUrl(call)}/tree/${branch}` },
      protected: repository.protections.has(branch),
      protection: {
        enabled: repository.protections.has(branch),
        required_status_checks: { enforcement_level: 'off', contexts: [], checks: [] },
      },
      protection_url: `${self}/protection`,
    },
  };
}

function describeRepository(call: Call): unknown {
  const { host, repository, isAuthenticated } = call;
  const { id, owner, name, defaultBranch, isPrivate, isArchived } = repository;
  const { read, write } = host.permissions;
  const permissions = { admin: false, maintain: false, push: write, triage: false, pull: read || !isPrivate };
  return {
    id,
    node_id: nodeId('R', String(id)),
    name,
    full_name: `${owner}/${name}`,
    private: isPrivate,
    visibility: isPrivate ? 'private' : 'public',
    owner: describeUser(host, owner),
    ...addresses(call),
    ...EMPTY,
    default_branch: defaultBranch,
    archived: isArchived,
    disabled: false,
    ...(isAuthenticated ? { permissions } : {}),
  };
}

/** Most repositories have none of these, and a store does not use them. */
const EMPTY = {
  description: null,
  homepage: null,
  language: null,
  license: null,
  mirror_url: null,
  fork: false,
  has_issues: false,
  has_projects: false,
  has_wiki: false,
  has_pages: false,
  has_discussions: false,
  forks: 0,
  forks_count: 0,
  network_count: 0,
  open_issues: 0,
  open_issues_count: 0,
  size: 0,
  stargazers_count: 0,
  subscribers_count: 0,
  watchers: 0,
  watchers_count: 0,
  created_at: '2011-01-26T19:01:12Z',
  pushed_at: '2011-01-26T19:06:43Z',
  updated_at: '2011-01-26T19:14:43Z',
};

/** The last path segments of the URLs of a repository in the API, by their names in the response. */
const URL_PATHS = {
  archive_url: '{archive_format}{/ref}',
  assignees_url: 'assignees{/user}',
  blobs_url: 'git/blobs{/sha}',
  branches_url: 'branches{/branch}',
  collaborators_url: 'collaborators{/collaborator}',
  comments_url: 'comments{/number}',
  commits_url: 'commits{/sha}',
  compare_url: 'compare/{base}...{head}',
  contents_url: 'contents/{+path}',
  contributors_url: 'contributors',
  deployments_url: 'deployments',
  downloads_url: 'downloads',
  events_url: 'events',
  forks_url: 'forks',
  git_commits_url: 'git/commits{/sha}',
  git_refs_url: 'git/refs{/sha}',
  git_tags_url: 'git/tags{/sha}',
  hooks_url: 'hooks',
  issue_comment_url: 'issues/comments{/number}',
  issue_events_url: 'issues/events{/number}',
  issues_url: 'issues{/number}',
  keys_url: 'keys{/key_id}',
  labels_url: 'labels{/name}',
  languages_url: 'languages',
  merges_url: 'merges',
  milestones_url: 'milestones{/number}',
  notifications_url: 'notifications{?since,all,participating}',
  pulls_url: 'pulls{/number}',
  releases_url: 'releases{/id}',
  stargazers_url: 'stargazers',
  statuses_url: 'statuses/{sha}',
  subscribers_url: 'subscribers',
  subscription_url: 'subscription',
  tags_url: 'tags',
  teams_url: 'teams',
  trees_url: 'git/trees{/sha}',
};

function addresses(call: Call): Readonly<Record<string, string>> {
  const url = urlOf(call);
  const html = htmlUrl(call);
  const places = Object.entries(URL_PATHS).map(([name, place]) => [name, `${url}/${place}`]);
  return {
    ...Object.fromEntries(places),
    url,
    html_url: html,
    clone_url: `${html}.git`,
    git_url: `${html}.git`,
    ssh_url: `${html}.git`,
    svn_url: html,
  };
}

function describeUser({ apiUrl }: Host, login: HostedRepository['owner']): unknown {
  const url = `${apiUrl}/users/${login}`;
  const { origin } = new URL(apiUrl);
  return {
    login,
    id: 1,
    node_id: nodeId('U', login),
    avatar_url: `${origin}/avatars/${login}`,
    gravatar_id: '',
    url,
    html_url: `${origin}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: 'User',
    site_admin: false,
  };
}
