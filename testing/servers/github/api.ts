import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { tooLarge } from './blobs.ts';
import { wantsObject } from './contents.ts';
import { type Call, ErrorResponse, type GitHubRequest, type Host, notFound, type Response } from './exchange.ts';
import type { HostedRepository } from './repository.ts';
import { ROUTES, type Route } from './routes.ts';
import { requestProblem, responseProblem } from './schemas.ts';
import type { Body } from './serving.ts';

export const API_PATH = '/api/v3';

/** A rate limit: `remaining` requests until `reset`, in seconds of Unix time, then `limit` requests per hour. */
export interface Quota {
  limit: number;
  remaining: number;
  reset: number;
}

/** The state of the API. */
export interface ApiState {
  readonly host: Host;
  readonly token: string;
  readonly quota: Quota;
  /** The quota of requests without a token. */
  readonly anonymousQuota: Quota;
  readonly repositories: readonly HostedRepository[];
  /** Finds a repository by its current or a former name. */
  find(owner: string, name: string): HostedRepository | undefined;
  /** Records a fault of the fake, or a request or response that violates GitHub's description. */
  fail(error: unknown): void;
}

/** The target of a path. */
interface Target {
  readonly owner: string;
  readonly name: string;
  /** Undefined if the path has the name of the repository. */
  readonly id: number | undefined;
  /** The path after the repository, encoded. */
  readonly rest: string;
  readonly route: Route | undefined;
}

/** Describes a request. Its route is the method and path if the API has no such route. */
export function describeApiRequest(incoming: IncomingMessage): Omit<GitHubRequest, 'body'> {
  const { method = '', url = '', headers } = incoming;
  const [whole = '', search = ''] = url.split('?');
  const path = whole.replace(API_PATH, '');
  const route = targetOf(method, path)?.route?.name ?? `${method} ${path}`;
  return { route, method, path, query: new URLSearchParams(search), headers, time: performance.now() };
}

function targetOf(method: string, path: string): Target | undefined {
  const [, owner = '', name = '', id, rest = ''] =
    /^\/(?:repos\/([^/]+)\/([^/]+)|repositories\/(\d+))(?=\/|$)(.*)$/.exec(path) ?? [];
  if (owner === '' && id === undefined) return undefined;
  const route = ROUTES.find((one) => one.method === method && one.pattern.test(rest));
  return { owner, name, id: id === undefined ? undefined : Number(id), rest, route };
}

/** Serves a request, and checks it and its response against GitHub's description. */
export async function serveApi(state: ApiState, request: GitHubRequest, body: Body): Promise<Response> {
  const { authorization } = request.headers;
  const isAuthenticated = authorization !== undefined;
  const quota = isAuthenticated ? state.quota : state.anonymousQuota;
  let response: Response;
  try {
    if (isAuthenticated && !isToken(authorization, state.token)) throw new ErrorResponse(401, 'Bad credentials');
    charge(quota);
    response = await dispatch(state, request, body, isAuthenticated);
  } catch (error) {
    response = error instanceof ErrorResponse ? error.response : faultResponse(state, error);
  }
  response = conditional(checked(state, request, response), request);
  // Only for authenticated requests: "Use conditional requests" of the best practices.
  if (response.status === 304 && isAuthenticated) quota.remaining += 1;
  return { ...response, headers: { ...defaultHeaders(quota, request.headers.accept), ...response.headers } };
}

function isToken(authorization: string, token: string): boolean {
  return [`token ${token}`, `bearer ${token}`].includes(
    authorization.replace(/^\w+/, (scheme) => scheme.toLowerCase()),
  );
}

function charge(quota: Quota): void {
  renew(quota);
  if (quota.remaining <= 0) throw new ErrorResponse(403, 'API rate limit exceeded for user ID 1.');
  quota.remaining -= 1;
}

function renew(quota: Quota): void {
  const now = Date.now() / 1000;
  if (now < quota.reset) return;
  quota.remaining = quota.limit;
  quota.reset = Math.ceil(now) + 3600;
}

async function dispatch(
  state: ApiState,
  request: GitHubRequest,
  body: Body,
  isAuthenticated: boolean,
): Promise<Response> {
  const { host } = state;
  const target = targetOf(request.method, request.path);
  const repository =
    target && (target.id === undefined ? state.find(target.owner, target.name) : byId(state, target.id));
  const mayRead = repository && (!repository.isPrivate || (isAuthenticated && host.permissions.read));
  if (!target?.route || !mayRead) throw notFound();
  const { route, rest } = target;
  if (target.id === undefined && target.name.toLowerCase() !== repository.name.toLowerCase()) {
    return moved(`${host.apiUrl}/repositories/${repository.id}${rest}`, request);
  }
  if (route.method !== 'GET') refuseWriting(host, repository, isAuthenticated);
  if (body.bytes === undefined) throw tooLarge();
  if (body.bytes.length > 0 && request.body === undefined) throw new ErrorResponse(400, 'Problems parsing JSON');
  const problem = requestProblem(route.name, request.body);
  if (problem !== undefined) return violationResponse(state, problem);
  if (route.needsCommits && (await repository.isEmpty())) throw new ErrorResponse(409, 'Git Repository is empty.');
  const { query, headers } = request;
  const parameter = decodeURIComponent(route.pattern.exec(rest)?.[1] ?? '');
  const call: Call = {
    host,
    repository,
    parameter,
    query,
    accept: headers.accept ?? '',
    body: request.body,
    isAuthenticated,
  };
  return await route.serve(call);
}

function byId({ repositories }: ApiState, id: number): HostedRepository | undefined {
  return repositories.find((one) => one.id === id);
}

function refuseWriting({ permissions }: Host, { isArchived }: HostedRepository, isAuthenticated: boolean): void {
  if (!isAuthenticated) throw new ErrorResponse(401, 'Requires authentication');
  if (!permissions.write) throw new ErrorResponse(403, 'Resource not accessible by personal access token');
  if (isArchived) throw new ErrorResponse(403, 'Repository was archived so is read-only.');
}

function moved(address: string, { method, query }: GitHubRequest): Response {
  const url = query.size > 0 ? `${address}?${query.toString()}` : address;
  const [status, message] =
    method === 'GET' ? ([301, 'Moved Permanently'] as const) : ([307, 'Temporary Redirect'] as const);
  return new ErrorResponse(status, message, { url }, { location: url }).response;
}

/** Replaces a response that violates GitHub's description with a 500. */
function checked(state: ApiState, { route, headers }: GitHubRequest, response: Response): Response {
  if (response.json === undefined) return response;
  const mediaType = wantsObject(headers.accept ?? '') ? 'application/vnd.github.object' : 'application/json';
  const problem = responseProblem(route, { status: response.status, mediaType, body: response.json });
  return problem === undefined ? response : violationResponse(state, problem);
}

function violationResponse(state: ApiState, problem: string): Response {
  return faultResponse(state, new Error(`Against GitHub's description of its API: ${problem}`));
}

function faultResponse(state: ApiState, error: unknown): Response {
  state.fail(error);
  return new ErrorResponse(500, error instanceof Error ? error.message : String(error)).response;
}

function conditional(response: Response, { method, headers }: GitHubRequest): Response {
  const { status, json, bytes } = response;
  if (method !== 'GET' || status !== 200) return response;
  const hash = bytes?.sha ?? createHash('sha256').update(JSON.stringify(json)).digest('hex');
  const etag = `W/"${hash}"`;
  const isKnown = headers['if-none-match']?.split(/\s*,\s*/).includes(etag);
  return isKnown ? { status: 304, headers: { etag } } : { ...response, headers: { ...response.headers, etag } };
}

let requestCount = 0;

export function defaultHeaders(quota: Quota, accept = ''): Readonly<Record<string, string>> {
  requestCount += 1;
  const { limit, remaining, reset } = quota;
  const parameter = /vnd\.github(?:\.v3)?\.(raw|object)\b/.exec(accept)?.[1];
  return {
    'x-github-media-type': `github.v3; ${parameter === undefined ? '' : `param=${parameter}; `}format=json`,
    'x-github-request-id': `HOLD:${requestCount.toString(16).toUpperCase()}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, remaining)),
    'x-ratelimit-used': String(limit - Math.max(0, remaining)),
    'x-ratelimit-reset': String(Math.ceil(reset)),
    'x-ratelimit-resource': 'core',
  };
}
