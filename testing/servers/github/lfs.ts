import type { IncomingMessage } from 'node:http';
import type { Downloads } from './downloads.ts';
import { ErrorResponse, type GitHubRequest, notFound, type Response } from './exchange.ts';
import type { HostedRepository } from './repository.ts';

/*
 * Git LFS, "Batch API": https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md
 */

const BATCH = /^\/([^/]+)\/([^/]+)\.git\/info\/lfs\/objects\/batch$/;
const MEDIA_TYPE = 'application/vnd.git-lfs+json';

export interface LfsState {
  readonly token: string;
  readonly permissions: { readonly read: boolean };
  readonly downloads: Downloads;
  isEnabled(): boolean;
  /** In milliseconds. */
  lifetime(): number;
  find(owner: string, name: string): HostedRepository | undefined;
}

interface RequestedObject {
  readonly oid: string;
  readonly size: number;
}

export function describeLfsRequest(incoming: IncomingMessage): Omit<GitHubRequest, 'body'> {
  const { method = '', url: path = '', headers } = incoming;
  const name = BATCH.test(path) ? '/{owner}/{repo}.git/info/lfs/objects/batch' : path;
  return { route: `${method} ${name}`, method, path, query: new URLSearchParams(), headers, time: performance.now() };
}

export async function serveLfs(state: LfsState, request: GitHubRequest): Promise<Response> {
  try {
    return { ...batch(state, request), headers: { 'content-type': MEDIA_TYPE } };
  } catch (error) {
    if (!(error instanceof ErrorResponse)) throw error;
    const challenge: Response['headers'] =
      error.response.status === 401 ? { 'lfs-authenticate': 'Basic realm="GitHub"' } : {};
    return { ...error.response, headers: { 'content-type': MEDIA_TYPE, ...challenge } };
  }
}

function batch(state: LfsState, { method, path, headers, body }: GitHubRequest): Response {
  const [, owner = '', name = ''] = BATCH.exec(path) ?? [];
  const repository = state.find(owner, name);
  if (method !== 'POST' || !repository || !state.isEnabled()) throw notFound();
  refuseStrangers(state, repository, headers.authorization);
  if (!headers.accept?.startsWith(MEDIA_TYPE)) throw new ErrorResponse(406, `Accept is not ${MEDIA_TYPE}`);
  if (!headers['content-type']?.startsWith(MEDIA_TYPE))
    throw new ErrorResponse(415, `Content-Type is not ${MEDIA_TYPE}`);
  if (!isBatch(body)) throw new ErrorResponse(422, 'Not a batch of objects to download');
  const objects = body.objects.map((requested) => offer(state, repository, requested));
  return { status: 200, json: { transfer: 'basic', objects, hash_algo: 'sha256' } };
}

function refuseStrangers(
  { token, permissions }: LfsState,
  { isPrivate }: HostedRepository,
  authorization?: string,
): void {
  if (authorization === undefined && !isPrivate) return;
  const [scheme = '', credentials = ''] = (authorization ?? '').split(' ');
  const [, password] = /^[^:]*:(.*)$/.exec(Buffer.from(credentials, 'base64').toString()) ?? [];
  if (scheme.toLowerCase() !== 'basic' || password !== token) throw new ErrorResponse(401, 'Credentials needed');
  if (isPrivate && !permissions.read) throw notFound();
}

function isBatch(body: unknown): body is { readonly objects: readonly RequestedObject[] } {
  if (typeof body !== 'object' || body === null) return false;
  const isDownload = 'operation' in body && body.operation === 'download';
  return isDownload && 'objects' in body && Array.isArray(body.objects) && body.objects.every(isRequestedObject);
}

function isRequestedObject(requested: unknown): requested is RequestedObject {
  if (typeof requested !== 'object' || requested === null || !('oid' in requested) || !('size' in requested))
    return false;
  return typeof requested.oid === 'string' && typeof requested.size === 'number';
}

function offer(state: LfsState, { lfsObjects }: HostedRepository, { oid, size }: RequestedObject): unknown {
  const bytes = lfsObjects.get(oid);
  if (!bytes) return { oid, size, error: { code: 404, message: 'Object does not exist' } };
  if (bytes.length !== size) return { oid, size, error: { code: 422, message: 'Not the size of the object' } };
  const lifetime = state.lifetime();
  const download = {
    href: state.downloads.lfsUrl(oid, bytes),
    expires_in: Math.floor(lifetime / 1000),
    expires_at: new Date(Date.now() + lifetime).toISOString(),
  };
  return { oid, size, authenticated: true, actions: { download } };
}
