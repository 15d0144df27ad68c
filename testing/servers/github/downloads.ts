import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { bytesOf } from './blobs.ts';
import { findAt } from './contents.ts';
import { type Bytes, type GitHubRequest, notFound, type Response } from './exchange.ts';
import { toBytes } from './paths.ts';
import type { HostedRepository } from './repository.ts';
import { slice } from './serving.ts';

/** URLs of files on the second server, which authenticates no requests. */
export interface Downloads {
  /** Returns the URL of a file, which is valid for one GET if the repository is private. */
  fileUrl(repository: HostedRepository, ref: string, path: string): string;
  /** Returns the URL of a Git LFS object, which is valid for any number of requests. */
  lfsUrl(oid: string, bytes: Buffer): string;
  serve(request: GitHubRequest): Promise<Response>;
  /** Revokes all URLs. */
  clear(): void;
}

/** The target of a URL. */
interface Target {
  readonly open: () => Promise<Bytes | undefined>;
  readonly tokens: Map<string, Permit> | undefined;
}

interface Permit {
  /** The expiry, in milliseconds of `Date.now()`. */
  readonly expires: number;
  /** The number of further GETs that are allowed. */
  remainingUses: number;
}

/** `lifetime` returns milliseconds. It is called for each new URL. */
export function createDownloads(origin: string, lifetime: () => number): Downloads {
  const targets = new Map<string, Target>();
  const permit = (path: string, { tokens }: Target, remainingUses: number) => {
    if (!tokens) return `${origin}${path}`;
    const token = randomBytes(15).toString('base64url').toUpperCase();
    tokens.set(token, { expires: Date.now() + lifetime(), remainingUses });
    return `${origin}${path}?token=${token}`;
  };
  const targetAt = (path: string, isPrivate: boolean, open: Target['open']) => {
    const made = targets.get(path) ?? { open, tokens: isPrivate ? new Map<string, Permit>() : undefined };
    targets.set(path, made);
    return made;
  };
  return {
    fileUrl(repository, ref, path) {
      const encoded = [ref, path].flatMap((part) => part.split('/')).map(encodeURIComponent);
      const address = `/${repository.owner}/${repository.name}/${encoded.join('/')}`;
      const open = async () => {
        const found = await findAt(repository, { ref, path: toBytes(path) });
        return found?.header && bytesOf(repository, found.header);
      };
      return permit(address, targetAt(address, repository.isPrivate, open), 1);
    },
    lfsUrl(oid, bytes) {
      const address = `/lfs/${oid}`;
      const open = async () => ({ sha: oid, size: bytes.length, open: () => Readable.from([bytes]) });
      return permit(address, targetAt(address, true, open), Number.POSITIVE_INFINITY);
    },
    async serve(request) {
      const found = targets.get(request.path);
      const isAllowed = found && isPermitted(found, request);
      const bytes = isAllowed ? await found.open() : undefined;
      return bytes ? partOf(bytes, request) : notFoundHere();
    },
    clear: () => targets.clear(),
  };
}

export function describeDownload(incoming: IncomingMessage): Omit<GitHubRequest, 'body'> {
  const { method = '', url = '', headers } = incoming;
  const [path = '', search = ''] = url.split('?');
  return {
    route: `${method} download`,
    method,
    path,
    query: new URLSearchParams(search),
    headers,
    time: performance.now(),
  };
}

function isPermitted({ tokens }: Target, { method, query }: GitHubRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (!tokens) return true;
  const permit = tokens.get(query.get('token') ?? '');
  if (!permit || permit.remainingUses <= 0 || Date.now() > permit.expires) return false;
  if (method === 'GET') permit.remainingUses -= 1;
  return true;
}

/** The text of raw.githubusercontent.com. */
function notFoundHere(): Response {
  const bytes = Buffer.from('404: Not Found');
  const { status } = notFound().response;
  return { status, headers: HEADERS, bytes: { sha: '', size: bytes.length, open: () => Readable.from([bytes]) } };
}

/** Prevents browsers from running the content. */
const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': 'max-age=300',
  'accept-ranges': 'bytes',
};

/** At most one byte range: RFC 9110, section 14.1.2. */
function partOf(bytes: Bytes, { headers }: GitHubRequest): Response {
  const etag = `"${bytes.sha}"`;
  const usual = { ...HEADERS, etag };
  if (headers['if-none-match'] === etag) return { status: 304, headers: usual };
  const isCurrent = headers['if-range'] === undefined || headers['if-range'] === etag;
  const [, first = '', last = ''] = (isCurrent && /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '')) || [];
  if (first === '' && last === '') return { status: 200, headers: usual, bytes };
  const { size } = bytes;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  if (start >= end) return { status: 416, headers: { ...usual, 'content-range': `bytes */${size}` } };
  return {
    status: 206,
    headers: { ...usual, 'content-range': `bytes ${start}-${end - 1}/${size}` },
    bytes: { sha: bytes.sha, size: end - start, open: () => Readable.from(slice(bytes, start, end)) },
  };
}
