import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../../cache/lru-options.ts';
import { parseRetryAfter } from '../../../model/dates.ts';
import { StoreError } from '../../../model/error.ts';
import type { ResolvedRange } from '../../../model/range.ts';
import type { Cancellable } from '../../../model/store.ts';
import { networkProblem, SHORT_RETRY_AFTER_SECONDS, type StoreLog } from '../../network.ts';
import { isFile, type Tree, type TreeEntry } from '../branch/objects.ts';
import { isServerFailure } from '../host/errors.ts';
import { isJson, REQUEST_TIMEOUT_MS, timedFetch } from '../host/fetch.ts';
import { type Host, parseWebUrl } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import type { BlobCache } from './blob-cache.ts';

/** A Git LFS object. The repository contains a pointer to it. */
export interface LfsObject {
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

/** Minimum and maximum bytes of a pointer. */
const MIN_POINTER_BYTES = 100;
const MAX_POINTER_BYTES = 1024;

/** Maximum bytes of a `.gitattributes` file that is read. */
const MAX_ATTRIBUTES_BYTES = 64 * 1024;

/** Milliseconds for which the presence or absence of an object is cached. */
const PRESENCE_TTL_MS = 60_000;

/** Returns whether a blob of this size can be a pointer. */
export const isPointerSize = (bytes: number): boolean => bytes >= MIN_POINTER_BYTES && bytes <= MAX_POINTER_BYTES;

const LFS_JSON = 'application/vnd.git-lfs+json';

/** Access to Git LFS objects (github.com/git-lfs/git-lfs, docs/spec.md and docs/api/batch.md). */
export class LfsObjects {
  readonly #host: Host;
  readonly #blobs: BlobCache;
  readonly #server: LfsServer;
  readonly #log: StoreLog;
  /** The object of each blob that is a pointer, by SHA. */
  readonly #pointers = new LRUCache<string, { object: LfsObject | undefined }>(maxEntries(10_000));
  /** Whether a `.gitattributes` file enables Git LFS, by SHA. */
  readonly #attributes = new LRUCache<string, boolean>(maxEntries(1_000));
  readonly #presence = new LRUCache<string, boolean>({ ...maxEntries(10_000), ttl: PRESENCE_TTL_MS });

  constructor(host: Host, blobs: BlobCache, options: GitHubOptions) {
    this.#host = host;
    this.#blobs = blobs;
    this.#server = new LfsServer(host, options);
    this.#log = options.log;
  }

  /**
   * Returns the object that a blob points to. Returns undefined if the blob is an ordinary file or GitHub does not have
   * the object. `chain` are the trees from the root to the blob's folder.
   */
  async find(blob: TreeEntry, chain: readonly Tree[], options: Cancellable): Promise<LfsObject | undefined> {
    if (!isPointerSize(blob.size) || !(await this.#isEnabled(chain, options))) return undefined;
    const object = await this.#readPointer(blob, options);
    return object && (await this.#isPresent(object, options)) ? object : undefined;
  }

  async open(object: LfsObject, options: Cancellable & { range?: ResolvedRange }): Promise<Readable> {
    return this.#server.open(object, options);
  }

  /** Requests a download URL that needs no authentication; undefined if GitHub gives none. */
  async downloadUrl(object: LfsObject, options: Cancellable): Promise<string | undefined> {
    const download = await this.#server.findDownload(object, options);
    // A client that follows the redirect can't send these headers.
    return download && Object.keys(download.header).length === 0 ? download.href : undefined;
  }

  /**
   * Returns whether a `.gitattributes` file in one of the folders enables Git LFS. If none does, no blob has to be
   * read.
   */
  async #isEnabled(chain: readonly Tree[], options: Cancellable): Promise<boolean> {
    for (const { entries } of chain) {
      const file = entries.get('.gitattributes');
      if (!file || !isFile(file) || file.size > MAX_ATTRIBUTES_BYTES) continue;
      const known = this.#attributes.get(file.sha);
      const isEnabled = known ?? /\bfilter=lfs\b/.test(await this.#readText(file, options));
      this.#attributes.set(file.sha, isEnabled);
      if (isEnabled) return true;
    }
    return false;
  }

  async #readPointer(blob: TreeEntry, options: Cancellable): Promise<LfsObject | undefined> {
    const known = this.#pointers.get(blob.sha) ?? { object: parsePointer(await this.#readText(blob, options)) };
    this.#pointers.set(blob.sha, known);
    return known.object;
  }

  async #readText({ sha, size }: TreeEntry, { signal }: Cancellable): Promise<string> {
    const fetchBlob = (cancelled: AbortSignal) => this.#host.blob(sha, { signal: cancelled });
    return (await buffer(await this.#blobs.open({ sha, size }, fetchBlob, { signal }))).toString();
  }

  async #isPresent(object: LfsObject, options: Cancellable): Promise<boolean> {
    const key = `${object.id} ${object.size}`;
    const known = this.#presence.get(key);
    if (known !== undefined) return known;
    const isPresent = (await this.#server.findDownload(object, options)) !== undefined;
    if (!isPresent) this.#log.warn('A Git LFS object is missing.', { oid: object.id });
    this.#presence.set(key, isPresent);
    return isPresent;
  }
}

/** The Git LFS server of the repository. Its requests do not count against the quota of the REST API. */
class LfsServer {
  readonly #host: Host;
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(host: Host, { apiUrl, token }: GitHubOptions) {
    this.#host = host;
    this.#baseUrl = webUrlOf(apiUrl);
    const credentials = Buffer.from(`x-access-token:${token ?? ''}`).toString('base64');
    this.#headers = {
      accept: LFS_JSON,
      'content-type': LFS_JSON,
      ...(token !== undefined && { authorization: `Basic ${credentials}` }),
    };
  }

  /** Requests the download of an object; undefined if GitHub does not offer one. */
  async findDownload({ id, size }: LfsObject, { signal }: Cancellable): Promise<Download | undefined> {
    try {
      const url = `${this.#baseUrl}/${this.#host.repository()}.git/info/lfs/objects/batch`;
      const response = await timedFetch({ timeout: REQUEST_TIMEOUT_MS })(url, {
        method: 'POST',
        headers: this.#headers,
        body: JSON.stringify({ operation: 'download', transfers: ['basic'], objects: [{ oid: id, size }] }),
        ...(signal && { signal }),
      });
      // A response that is not JSON, such as a web page, does not come from a Git LFS server.
      if (response.ok && isJson(response)) return downloadIn(parseJson(await response.text()), id);
      const isTransient = [408, 429].includes(response.status) || response.headers.has('retry-after');
      if (isServerFailure(response.status) || isTransient) throw busy(response);
      return undefined;
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#translate(error);
    }
  }

  async open(object: LfsObject, { range, signal }: Cancellable & { range?: ResolvedRange }): Promise<Readable> {
    const download = await this.findDownload(object, { signal });
    if (!download) throw missingObject(object);
    // Aborts the download when the reader leaves, even if GitHub has stalled.
    const closed = new AbortController();
    try {
      const response = await timedFetch({ timeout: REQUEST_TIMEOUT_MS, streamsBody: true })(download.href, {
        headers: download.header,
        signal: signal ? AbortSignal.any([signal, closed.signal]) : closed.signal,
      });
      if (!response.ok) throw busy(response);
      const translate = (error: unknown) => this.#translate(error);
      const bytes = Readable.from(slice(response.body, range, object, translate), { objectMode: false });
      return bytes.once('close', () => closed.abort());
    } catch (error) {
      closed.abort();
      signal?.throwIfAborted();
      throw this.#translate(error);
    }
  }

  #translate(error: unknown): unknown {
    const server = { name: `The Git LFS server at ${this.#baseUrl}`, setting: 'GITHUB_API_URL' };
    return networkProblem(error, server) ?? error;
  }
}

/** Parses a pointer; returns undefined if the text is not one. */
function parsePointer(text: string): LfsObject | undefined {
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
function downloadIn(response: unknown, id: string): Download | undefined {
  const { objects } = asRecord(response);
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
  { size }: LfsObject,
  translate: (error: unknown) => unknown,
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
    throw translate(error);
  }
  if (position <= end)
    throw new StoreError('unexpected-store-response', 'The Git LFS server sent only a part of the file.', {
      retryAfter: SHORT_RETRY_AFTER_SECONDS,
    });
}

/**
 * Returns the base URL of the host's web pages and Git LFS: github.com for api.github.com, the URL without `/api/v3`
 * for an Enterprise server.
 */
function webUrlOf(apiUrl: string): string {
  return apiUrl.replace(/\/api\/v3$/, '').replace(/^https:\/\/api\./, 'https://');
}

function busy({ status, headers }: Response): StoreError {
  const message = `The Git LFS server is busy or failing (status ${status}).`;
  const retryAfter = parseRetryAfter(headers.get('retry-after'), headers.get('date')) ?? SHORT_RETRY_AFTER_SECONDS;
  return new StoreError('store-busy', message, { retryAfter: Math.max(1, retryAfter) });
}

function missingObject({ id }: LfsObject): StoreError {
  return new StoreError('unavailable', `The Git LFS server no longer has the object ${id}.`, {
    retryAfter: SHORT_RETRY_AFTER_SECONDS,
  });
}
