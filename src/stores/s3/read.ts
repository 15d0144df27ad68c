import type { IncomingMessage } from 'node:http';
import { finished, PassThrough, Readable } from 'node:stream';
import { asError, isStoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import { type ByteRange, type ResolvedRange, resolveRange } from '../../model/range.ts';
import type { Cancellable, Content, FileEntry, Store } from '../../model/store.ts';
import { versionReplaced } from '../../model/store-errors.ts';
import { BufferedContent } from '../../streams/bodies.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { noStore, partMismatch, requireStored, toStoreError } from './errors.ts';
import { type Key, quote, unquote } from './keys.ts';
import type { ObjectHead } from './objects.ts';
import { readWhole } from './responses.ts';

/** Creates the operations that read the metadata and the content of files, mostly with one request each. */
export function createReader(bucket: Bucket, entries: Entries): Pick<Store, 'stat' | 'read'> {
  const get = async (
    file: FilePath,
    range: ByteRange | undefined,
    ifMatch: string | undefined,
    signal?: AbortSignal,
  ) => {
    const conditions = { range: range && headerOf(range), ifMatch: ifMatch === undefined ? undefined : quote(ifMatch) };
    try {
      return await bucket.ask({ key: file, signal }, (options) =>
        bucket.objects.get(file, conditions, options, async (head, body): Promise<Got> => {
          try {
            const part = partOf(head, body.statusCode, range, bucket);
            if (ifMatch !== undefined && unquote(head.ETag) !== ifMatch) throw versionReplaced(file);
            const isSmall = (head.ContentLength ?? Number.POSITIVE_INFINITY) <= SMALL;
            return { head, part, content: isSmall ? await readWhole(body, SMALL) : body };
          } catch (error) {
            body.destroy();
            throw error;
          }
        }),
      );
    } catch (error) {
      if (isStoreError(error, 'not-found')) entries.forget(file);
      throw isStoreError(error, 'condition-failed') ? versionReplaced(file) : error;
    }
  };

  const stat: Store['stat'] = async (file, { signal } = {}) => {
    const head = await headObject(bucket, file, { signal });
    return entries.of(file, { ...head, Size: head.ContentLength });
  };

  const getRange = async (file: FilePath, range: ByteRange, ifMatch: string | undefined, signal?: AbortSignal) => {
    // Ceph 16 returns the whole object for a suffix range of 0 bytes.
    const isNothing = 'suffix' in range && range.suffix === 0;
    const output = isNothing ? undefined : await get(file, range, ifMatch, signal).catch(unlessUnsatisfiable);
    if (output) return output;
    resolveRange(range, (await stat(file, { signal })).size);
    throw versionReplaced(file);
  };

  return {
    stat,

    async read(file, { range, ifMatch, maxSize, signal } = {}) {
      const known = maxSize === undefined ? undefined : entries.seen(file);
      // The remembered entry is too large, so the caller needs only metadata. Send no request.
      if (known && maxSize !== undefined && known.size > maxSize && (ifMatch ?? known.etag) === known.etag) {
        return { file: known, body: Readable.from([]) };
      }
      if (range) return contentOf(bucket, file, await getRange(file, range, ifMatch, signal), entries, true);
      // Ceph needs a sixth more CPU time for a range, and rejects a range of an empty object. So if the remembered
      // entry is small, read the whole object.
      const isWhole = maxSize === undefined || (known && known.size <= maxSize);
      if (isWhole) return contentOf(bucket, file, await get(file, undefined, ifMatch, signal), entries, false);
      const start = { start: 0, end: maxSize - 1 };
      const output = await get(file, start, ifMatch, signal).catch(unlessUnsatisfiable);
      // An empty object does not satisfy any range that starts at its first byte.
      return contentOf(bucket, file, output ?? (await get(file, undefined, ifMatch, signal)), entries, false);
    },
  };
}

/** Returns the headers of an object. Throws if the response is not one of an object store. */
export async function headObject(bucket: Bucket, key: Key, { signal }: Cancellable): Promise<ObjectHead> {
  const head = await bucket.ask({ key, signal }, (options) => bucket.objects.head(key, options));
  requireStored(head.ETag, bucket.endpoint);
  if (head.ContentLength === undefined) throw noStore(bucket.endpoint);
  return head;
}

function unlessUnsatisfiable(error: unknown): undefined {
  if (!isStoreError(error, 'range-unsatisfiable')) throw error;
}

function headerOf(range: ByteRange): string {
  return 'suffix' in range ? `bytes=-${range.suffix}` : `bytes=${range.start}-${range.end ?? ''}`;
}

/** Maximum bytes of an object that is buffered. For small objects, a stream costs more than the read itself. */
const SMALL = 64 * 2 ** 10;

interface Got {
  readonly head: ObjectHead;
  /** The part of the object in the body; undefined if the body is the whole object. */
  readonly part: Part | undefined;
  readonly content: IncomingMessage | Buffer;
}

function contentOf(
  bucket: Bucket,
  file: FilePath,
  { head, part, content }: Got,
  entries: Entries,
  isRanged: boolean,
): Content {
  const entry: FileEntry = entries.of(file, { ...head, Size: part?.size ?? head.ContentLength ?? 0 });
  // A store that ignores `Range` returns the whole object, so the content then has no range.
  const range = isRanged ? part?.range : undefined;
  if (!Buffer.isBuffer(content))
    return { file: entry, body: translated(content, bucket, file), ...(range && { range }) };
  return new BufferedContent(entry, range, content);
}

/** Returns the same bytes as a stream that translates errors in the middle of the body to a `StoreError`. */
function translated(body: Readable, { name, endpoint }: Bucket, file: FilePath): Readable {
  const readable = new PassThrough();
  finished(
    body,
    (error) => error && readable.destroy(asError(toStoreError(error, { key: file, bucket: name, endpoint }))),
  );
  readable.once('close', () => body.destroy());
  return body.pipe(readable);
}

interface Part {
  readonly range: ResolvedRange;
  /** Bytes of the whole object. */
  readonly size: number;
}

/**
 * Returns the part that a response holds, by `Content-Range: bytes 0-9/100` (RFC 9110, section 14.4); undefined if it
 * is the whole object. Throws `unavailable` if the part is not the requested one, or if the response lacks the headers
 * of object stores. Its body would otherwise count as the file.
 */
function partOf(
  { ETag, ContentLength, ContentRange }: ObjectHead,
  status: number | undefined,
  asked: ByteRange | undefined,
  { endpoint }: Bucket,
): Part | undefined {
  requireStored(ETag, endpoint);
  if (ContentLength === undefined) throw noStore(endpoint);
  if (status !== 206) return undefined;
  const [start = Number.NaN, end = Number.NaN, size = Number.NaN] =
    /^bytes (\d+)-(\d+)\/(\d+)$/
      .exec(ContentRange ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  const expected = asked && resolveRange(asked, size);
  if (start !== expected?.start || end !== expected.end || ContentLength !== end - start + 1)
    throw partMismatch(endpoint);
  return { range: { start, end }, size };
}
