import { Readable } from 'node:stream';
import { isStoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { type ByteRange, type ResolvedRange, resolveRange } from '../../model/range.ts';
import type { Content, Store } from '../../model/store.ts';
import { versionReplaced } from '../../model/store-errors.ts';
import { BufferedContent } from '../../streams/bodies.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { partMismatch } from './errors.ts';
import { getObject, headObject, type ObjectResponse } from './operations.ts';

/** Maximum bytes of an object that is buffered. For small objects, a stream costs more than the read itself. */
const MAX_BUFFERED_BYTES = 64 * 2 ** 10;

/** Reads the metadata and the content of files, mostly with one request each. */
export class Reader {
  readonly #bucket: Bucket;
  readonly #entries: Entries;

  constructor(bucket: Bucket, entries: Entries) {
    this.#bucket = bucket;
    this.#entries = entries;
  }

  readonly stat: Store['stat'] = async (file, { signal } = {}) =>
    this.#entries.of(file, await headObject(this.#bucket, file, { signal }));

  readonly read: Store['read'] = (file, options = {}) => this.readObject(file, options);

  /** Reads an object like `read`, or an earlier version of it. */
  async readObject(file: FilePath, options: ReadObjectOptions): Promise<Content> {
    const { range, ifMatch, versionId, maxSize, signal } = options;
    const known = maxSize === undefined ? undefined : this.#entries.remembered(file);
    // The remembered entry is too large, so the caller needs only metadata. Send no request.
    if (known && maxSize !== undefined && known.size > maxSize && (ifMatch ?? known.etag) === known.etag) {
      return { file: known, body: Readable.from([]) };
    }
    const version = { ifMatch, versionId, signal };
    if (range) return this.#contentOf(file, await this.#getRange(file, range, version), true);
    // Ceph needs a sixth more CPU time for a range, and rejects a range of an empty object. So if the remembered entry
    // is small, read the whole object.
    const isWhole = maxSize === undefined || (known && known.size <= maxSize);
    const start = isWhole ? undefined : { start: 0, end: maxSize - 1 };
    const found = start && (await this.#get(file, start, version).catch(undefinedIfUnsatisfiable));
    // An empty object does not satisfy any range that starts at its first byte.
    return this.#contentOf(file, found ?? (await this.#get(file, undefined, version)), false);
  }

  async #getRange(file: FilePath, range: ByteRange, version: Version): Promise<Part> {
    // Ceph 16 returns the whole object for a suffix range of 0 bytes.
    const isEmpty = 'suffix' in range && range.suffix === 0;
    const part = isEmpty ? undefined : await this.#get(file, range, version).catch(undefinedIfUnsatisfiable);
    if (part) return part;
    resolveRange(range, (await headObject(this.#bucket, file, version)).size);
    throw versionReplaced(file);
  }

  async #get(file: FilePath, range: ByteRange | undefined, version: Version): Promise<Part> {
    const { ifMatch, versionId, signal } = version;
    try {
      const response = await getObject(this.#bucket, file, {
        range: range && headerOf(range),
        ifMatch,
        versionId,
        maxBytes: MAX_BUFFERED_BYTES,
        isStreamed: true,
        signal,
      });
      try {
        if (ifMatch !== undefined && response.head.etag !== ifMatch) throw versionReplaced(file);
        return partOf(response, range, this.#bucket);
      } catch (error) {
        if (response.body instanceof Readable) response.body.destroy();
        throw error;
      }
    } catch (error) {
      if (isStoreError(error, 'not-found')) this.#entries.forget(file);
      throw isStoreError(error, 'condition-failed') ? versionReplaced(file) : error;
    }
  }

  #contentOf(file: FilePath, { response: { head, body }, range, size }: Part, isRanged: boolean): Content {
    const entry = this.#entries.of(file, size === head.size ? head : { ...head, size });
    // A store that ignores `Range` returns the whole object, so the content then has no range.
    const contentRange = isRanged ? range : undefined;
    if (Buffer.isBuffer(body)) return new BufferedContent(entry, contentRange, body);
    return { file: entry, body, ...(contentRange && { range: contentRange }) };
  }
}

export type ReadObjectOptions = NonNullable<Parameters<Store['read']>[1]> & { readonly versionId?: string };

/** The version of the file to read. */
interface Version {
  /** The ETag of the version; undefined for the current one. */
  readonly ifMatch: string | undefined;
  /** The id of the object version; undefined for the current one. */
  readonly versionId: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A response to GetObject, and the part of the object in it. */
interface Part {
  readonly response: ObjectResponse;
  /** Undefined if the body is the whole object. */
  readonly range: ResolvedRange | undefined;
  /** Bytes of the whole object. */
  readonly size: number;
}

function undefinedIfUnsatisfiable(error: unknown): undefined {
  if (!isStoreError(error, 'range-unsatisfiable')) throw error;
}

function headerOf(range: ByteRange): string {
  return 'suffix' in range ? `bytes=-${range.suffix}` : `bytes=${range.start}-${range.end ?? ''}`;
}

/**
 * Returns the part that a response holds, by `Content-Range: bytes 0-9/100` (RFC 9110, section 14.4). Throws
 * `unavailable` if the part is not the requested one. Its body would otherwise count as the file.
 */
function partOf(response: ObjectResponse, requested: ByteRange | undefined, { endpoint }: Bucket): Part {
  const { head, status } = response;
  if (status !== 206) return { response, range: undefined, size: head.size };
  const [start = Number.NaN, end = Number.NaN, size = Number.NaN] =
    /^bytes (\d+)-(\d+)\/(\d+)$/
      .exec(head.headers['content-range'] ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  const expected = requested && resolveRange(requested, size);
  if (start !== expected?.start || end !== expected.end || head.size !== end - start + 1) throw partMismatch(endpoint);
  return { response, range: { start, end }, size };
}
