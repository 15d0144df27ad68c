import { finished, PassThrough, Readable } from 'node:stream';
import { GetObjectCommand, type GetObjectCommandOutput, HeadObjectCommand } from '@aws-sdk/client-s3';
import { asError, isStoreError } from '../../domain/error.ts';
import type { FilePath } from '../../domain/path.ts';
import { changedMeanwhile } from '../../domain/problems.ts';
import { type ByteRange, type ResolvedRange, resolveRange } from '../../domain/range.ts';
import type { Content, FileEntry, Store } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Entries } from './entries.ts';
import { quote } from './keys.ts';
import { translate } from './translate.ts';

/** Looking at files and reading them: one request each. */
export function createReader(bucket: Bucket, entries: Entries): Pick<Store, 'stat' | 'read'> {
  const get = async (file: FilePath, range: string | undefined, ifMatch: string | undefined, signal?: AbortSignal) => {
    const command = new GetObjectCommand({
      Bucket: bucket.name,
      Key: file,
      Range: range,
      IfMatch: ifMatch === undefined ? undefined : quote(ifMatch),
    });
    try {
      return await bucket.ask({ key: file, signal }, (options) => bucket.client.send(command, options));
    } catch (error) {
      if (isStoreError(error, 'not-found')) entries.forget(file);
      throw isStoreError(error, 'condition-failed') ? changedMeanwhile(file) : error;
    }
  };

  const stat: Store['stat'] = async (file, { signal } = {}) => {
    const command = new HeadObjectCommand({ Bucket: bucket.name, Key: file });
    const head = await bucket.ask({ key: file, signal }, (options) => bucket.client.send(command, options));
    return entries.of(file, { ...head, Size: head.ContentLength });
  };

  const getRange = async (file: FilePath, range: ByteRange, ifMatch: string | undefined, signal?: AbortSignal) => {
    // Ceph 16 gives the whole object for its last 0 bytes.
    const isNothing = 'suffix' in range && range.suffix === 0;
    const output = isNothing ? undefined : await get(file, headerOf(range), ifMatch, signal).catch(unlessUnsatisfiable);
    if (output) return output;
    resolveRange(range, (await stat(file, { signal })).size);
    throw changedMeanwhile(file);
  };

  return {
    stat,

    async read(file, { range, ifMatch, ifBelow, signal } = {}) {
      const known = ifBelow === undefined ? undefined : entries.seen(file);
      // Known to be too large moments ago: nobody wants its bytes, so the store is not asked.
      if (known && ifBelow !== undefined && known.size >= ifBelow && (ifMatch ?? known.etag) === known.etag) {
        return { file: known, body: Readable.from([]) };
      }
      if (range) return contentOf(bucket, file, await getRange(file, range, ifMatch, signal), entries, true);
      if (ifBelow === undefined)
        return contentOf(bucket, file, await get(file, undefined, ifMatch, signal), entries, false);
      const start = `bytes=0-${ifBelow - 1}`;
      const output = await get(file, start, ifMatch, signal).catch(unlessUnsatisfiable);
      // An empty object has no first byte.
      return contentOf(bucket, file, output ?? (await get(file, undefined, ifMatch, signal)), entries, false);
    },
  };
}

function unlessUnsatisfiable(error: unknown): undefined {
  if (!isStoreError(error, 'range-unsatisfiable')) throw error;
}

function headerOf(range: ByteRange): string {
  return 'suffix' in range ? `bytes=-${range.suffix}` : `bytes=${range.start}-${range.end ?? ''}`;
}

function contentOf(
  bucket: Bucket,
  file: FilePath,
  output: GetObjectCommandOutput,
  entries: Entries,
  isRanged: boolean,
): Content {
  const { Body: body, ContentRange, ContentLength = 0 } = output;
  if (!(body instanceof Readable)) throw new Error('The client for S3 gave no stream.');
  const part = partOf(ContentRange);
  const entry: FileEntry = entries.of(file, { ...output, Size: part?.size ?? ContentLength });
  // A store that passes over `Range` gives all, and that is what is said.
  return { file: entry, body: translated(body, bucket, file), ...(isRanged && part && { range: part.range }) };
}

/** The same bytes; what breaks in the middle of them is told as every other failure of the store. */
function translated(body: Readable, { name, endpoint }: Bucket, file: FilePath): Readable {
  const readable = new PassThrough();
  finished(
    body,
    (error) => error && readable.destroy(asError(translate(error, { key: file, bucket: name, endpoint }))),
  );
  readable.once('close', () => body.destroy());
  return body.pipe(readable);
}

/** `Content-Range: bytes 0-9/100` (RFC 9110, section 14.4). */
function partOf(header: string | undefined): { range: ResolvedRange; size: number } | undefined {
  const [, start, end, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header ?? '') ?? [];
  return size === undefined ? undefined : { range: { start: Number(start), end: Number(end) }, size: Number(size) };
}
