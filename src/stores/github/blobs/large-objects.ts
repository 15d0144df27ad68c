import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../../cache/lru-options.ts';
import { parseRetryAfter } from '../../../model/dates.ts';
import { StoreError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import type { Cancellable } from '../../../model/store.ts';
import { networkProblem, RETRY_SOON_SECONDS } from '../../network.ts';
import { isFile, type Tree, type TreeEntry } from '../branch/objects.ts';
import { isJson, REQUEST_TIMEOUT_MS, timedFetch } from '../host/fetch.ts';
import { type Host, parseWebUrl } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import type { BlobCache } from './blob-cache.ts';

/** A Git LFS object. The repository contains a pointer to it. */
export interface LargeObject {
  /** Its SHA-256. */
  readonly id: string;
  /** Bytes. */
  readonly size: number;
}

/** Download URL of an object, with the headers to send. */
interface Download {
  readonly href: string;
  readonly header: Readonly<Record<string, string>>;
}

/** Access to Git LFS objects (github.com/git-lfs/git-lfs, docs/spec.md and docs/api/batch.md). */
export interface LargeObjects {
  /**
   * Returns the object that a blob points to. Returns undefined if the blob is an ordinary file or GitHub does not have
   * the object.
   */
  find(blob: TreeEntry, chain: readonly Tree[], options: Cancellable): Promise<LargeObject | undefined>;
  open(object: LargeObject, options: Cancellable & { range?: ResolvedRange }): Promise<Readable>;
  /** Requests a download URL that needs no authentication; undefined if GitHub gives none. */
  downloadUrl(object: LargeObject, options: Cancellable): Promise<string | undefined>;
}

/** Minimum and maximum bytes of a pointer. */
const SHORTEST = 100;
const LONGEST = 1024;

/** Milliseconds for which the presence or absence of an object is cached. */
const FRESH = 60_000;

const LFS_JSON = 'application/vnd.git-lfs+json';

export function createLargeObjects(host: Host, blobs: BlobCache, { apiUrl, token, log }: GitHubOptions): LargeObjects {
  const pointers = new LRUCache<string, { object: LargeObject | undefined }>(maxEntries(10_000));
  const attributes = new LRUCache<string, boolean>(maxEntries(1_000));
  const presence = new LRUCache<string, boolean>({ ...maxEntries(10_000), ttl: FRESH });

  const textOf = async ({ sha, size }: TreeEntry, { signal }: Cancellable): Promise<string> => {
    const fetchBlob = (cancelled: AbortSignal) => host.blob(sha, { signal: cancelled });
    return (await buffer(await blobs.open({ sha, size }, fetchBlob, { ...(signal && { signal }) }))).toString();
  };

  /**
   * Returns whether a `.gitattributes` file in one of the folders enables Git LFS. If none does, no blob has to be
   * read.
   */
  const isUsedIn = async (chain: readonly Tree[], options: Cancellable): Promise<boolean> => {
    for (const { entries } of chain) {
      const file = entries.get('.gitattributes');
      if (!file || !isFile(file) || file.size > 64 * 1024) continue;
      const known = attributes.get(file.sha);
      const isUsed = known ?? /\bfilter=lfs\b/.test(await textOf(file, options));
      attributes.set(file.sha, isUsed);
      if (isUsed) return true;
    }
    return false;
  };

  const pointerIn = async (blob: TreeEntry, options: Cancellable): Promise<LargeObject | undefined> => {
    const known = pointers.get(blob.sha) ?? { object: parsePointer(await textOf(blob, options)) };
    pointers.set(blob.sha, known);
    return known.object;
  };

  /** Requests the download of an object; undefined if GitHub does not offer one. */
  const ask = async ({ id, size }: LargeObject, { signal }: Cancellable): Promise<Download | undefined> => {
    const url = `${webOf(apiUrl)}/${host.repository()}.git/info/lfs/objects/batch`;
    const credentials = Buffer.from(`x-access-token:${token ?? ''}`).toString('base64');
    const answer = await timedFetch({ timeout: REQUEST_TIMEOUT_MS })(url, {
      method: 'POST',
      headers: {
        accept: LFS_JSON,
        'content-type': LFS_JSON,
        ...(token !== undefined && { authorization: `Basic ${credentials}` }),
      },
      body: JSON.stringify({ operation: 'download', transfers: ['basic'], objects: [{ oid: id, size }] }),
      ...(signal && { signal }),
    });
    // A response that is not JSON, such as a web page, does not come from a Git LFS server.
    if (answer.ok && isJson(answer)) return downloadIn(parseJson(await answer.text()), id);
    const isPassing = [408, 429].includes(answer.status) || answer.headers.has('retry-after');
    if (answer.status >= 500 || isPassing) throw busy(answer);
    return undefined;
  };

  const askSafely = async (object: LargeObject, options: Cancellable): Promise<Download | undefined> => {
    try {
      return await ask(object, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw translated(error);
    }
  };

  const isPresent = async (object: LargeObject, options: Cancellable): Promise<boolean> => {
    const key = `${object.id} ${object.size}`;
    const known = presence.get(key);
    if (known !== undefined) return known;
    const isThere = (await askSafely(object, options)) !== undefined;
    if (!isThere) log.warn('The host does not give an object of Git LFS.', { oid: object.id });
    presence.set(key, isThere);
    return isThere;
  };

  const translated = (error: unknown) =>
    networkProblem(error, { name: `The host of large files at ${webOf(apiUrl)}`, setting: 'GITHUB_API_URL' }) ?? error;

  return {
    async find(blob, chain, options) {
      if (blob.size < SHORTEST || blob.size > LONGEST || !(await isUsedIn(chain, options))) return undefined;
      const object = await pointerIn(blob, options);
      if (!object) return undefined;
      return (await isPresent(object, options)) ? object : undefined;
    },

    async open(object, { range, signal }) {
      const download = await askSafely(object, { signal });
      if (!download) throw gone(object);
      // Aborts the download when the reader leaves, even if GitHub has stalled.
      const left = new AbortController();
      try {
        const answer = await timedFetch({ timeout: REQUEST_TIMEOUT_MS, streamsBody: true })(download.href, {
          headers: download.header,
          signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
        });
        if (!answer.ok) {
          left.abort();
          throw busy(answer);
        }
        const bytes = Readable.from(slice(answer.body, range, object, translated), { objectMode: false });
        return bytes.once('close', () => left.abort());
      } catch (error) {
        signal?.throwIfAborted();
        throw translated(error);
      }
    },

    async downloadUrl(object, options) {
      const download = await askSafely(object, options);
      // A client that follows the redirect can't send these headers.
      return download && Object.keys(download.header).length === 0 ? download.href : undefined;
    },
  };
}

/** Parses a pointer; returns undefined if the text is not one. */
function parsePointer(text: string): LargeObject | undefined {
  if (!text.startsWith('version https://git-lfs.github.com/spec/v1\n')) return undefined;
  // With the flag "m", a line would also end at U+2028 and U+2029, and the text could match although git-lfs rejects
  // it.
  const lines = text.split('\n');
  const id = firstMatch(lines, /^oid sha256:([0-9a-f]{64})$/);
  const size = firstMatch(lines, /^size (\d{1,15})$/);
  return id === undefined || size === undefined ? undefined : { id, size: Number(size) };
}

function firstMatch(lines: readonly string[], pattern: RegExp): string | undefined {
  return lines.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined);
}

/** Parses JSON; returns undefined if the text is not valid. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the download that a response of the batch endpoint offers. */
function downloadIn(answer: unknown, id: string): Download | undefined {
  const { objects } = asRecord(answer);
  const found = Array.isArray(objects) ? objects.map(asRecord).find(({ oid }) => oid === id) : undefined;
  const { href, header } = asRecord(asRecord(found?.['actions'])['download']);
  const url = parseWebUrl(href);
  const headers = headersIn(header);
  return url === undefined || !headers ? undefined : { href: url, header: headers };
}

/** Returns the headers that GitHub requires; undefined if a name or value is invalid. */
function headersIn(header: unknown): Readonly<Record<string, string>> | undefined {
  try {
    return Object.fromEntries(new Headers(asRecord(header) as Record<string, string>));
  } catch {
    return undefined;
  }
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** Yields the requested range of an object. Throws `unavailable` if the body is shorter than the pointer's size. */
async function* slice(
  body: AsyncIterable<Uint8Array> | null,
  range: ResolvedRange | undefined,
  { size }: LargeObject,
  translated: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  const { start, end } = range ?? { start: 0, end: size - 1 };
  let position = 0;
  try {
    for await (const chunk of body ?? []) {
      const part = chunk.subarray(Math.max(0, start - position), Math.max(0, end + 1 - position));
      position += chunk.length;
      if (part.length > 0) yield part;
      if (position > end) return;
    }
  } catch (error) {
    throw translated(error);
  }
  if (position <= end)
    throw new StoreError('unavailable', 'The host gave a part of the file only.', { retryAfter: RETRY_SOON_SECONDS });
}

/**
 * Returns the base URL of the host's web pages and Git LFS: github.com for api.github.com, the URL without `/api/v3`
 * for an Enterprise server.
 */
function webOf(apiUrl: string): string {
  return apiUrl.replace(/\/api\/v3$/, '').replace(/^https:\/\/api\./, 'https://');
}

function busy({ status, headers }: Response): StoreError {
  const message = `The host of large files is busy or failing (it answers ${status}).`;
  const retryAfter = parseRetryAfter(headers.get('retry-after'), headers.get('date')) ?? RETRY_SOON_SECONDS;
  return new StoreError('unavailable', message, { retryAfter: Math.max(1, retryAfter) });
}

function gone({ id }: LargeObject): StoreError {
  return new StoreError('unavailable', `The host has no object ${id} of Git LFS any more.`, {
    retryAfter: RETRY_SOON_SECONDS,
  });
}
