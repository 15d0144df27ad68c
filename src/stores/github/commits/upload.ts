import { isUtf8 } from 'node:buffer';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createSemaphore, type Semaphore } from '../../../concurrency/semaphore.ts';
import { asError, StoreError } from '../../../model/error.ts';
import type { FilePath } from '../../../model/path.ts';
import type { Cancellable, WriteCondition } from '../../../model/store.ts';
import { shaOfBlob } from '../branch/objects.ts';
import { MAX_FILE_BYTES, tooLarge } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { StoredBlob } from './changes.ts';

/** Maximum bytes of a text that is sent with the tree instead of in its own request. */
export const INLINE = 32 * 1024;

/**
 * Maximum concurrent streamed uploads: half of GitHub's concurrency limit, so that slow clients do not block reads.
 */
const MAX_CONCURRENT_UPLOADS = 50;

/** Destination of a file, and the condition of the write. */
export interface Place {
  readonly file: FilePath;
  readonly condition: WriteCondition | undefined;
}

/** The body of an upload, before anything changes on the branch. */
export interface Incoming {
  /** Ends or is destroyed. */
  readonly body: Readable;
  /** The destination, if it is already known. */
  readonly place?: Place;
  /** Throws if the file may not have this size. */
  readonly checkSize?: (bytes: number) => void;
}

export type TakeIn = (incoming: Incoming, options: Cancellable) => Promise<StoredBlob>;

/** Creates the function that stores the body of an upload. It awaits `prepare` before it sends bytes to GitHub. */
export function createTakeIn(
  host: Host,
  prepare: (place: Place | undefined, options: Cancellable) => Promise<void>,
): TakeIn {
  const uploads = createSemaphore({
    limit: MAX_CONCURRENT_UPLOADS,
    maxWaiting: Number.POSITIVE_INFINITY,
    busyMessage: 'Too many files are uploaded',
  });
  return async ({ body, place, checkSize = () => {} }, { signal }) => {
    const abort = () => body.destroy(asError(signal?.reason));
    // Between two reads the body has no error listener. The next read still reports the error.
    body.on('error', ignore);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      const { chunks, isWhole } = await readBeginning(body);
      if (isPointer(Buffer.concat(chunks))) throw isPointerUpload();
      if (!isWhole) {
        await prepare(place, { signal });
        return await send(host, uploads, concatenated(chunks, body), { checkSize, signal });
      }
      const bytes = Buffer.concat(chunks);
      checkSize(bytes.length);
      const sha = shaOfBlob(bytes);
      if (isPlainText(bytes)) return { sha, size: bytes.length, content: bytes.toString() };
      await prepare(place, { signal });
      const stored = await host.createBlob(JSON.stringify({ encoding: 'base64', content: bytes.toString('base64') }), {
        signal,
      });
      if (stored !== sha) throw host.invalidResponse(`The host stored blob ${stored} instead of ${sha}.`);
      return { sha, size: bytes.length };
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
      body.destroy();
    }
  };
}

/** Bytes in which git-lfs looks for a pointer. */
const MAX_POINTER_BYTES = 1024;

/** All characters that some program treats as a line break. */
const LINE_END = /[\r\n\v\f\u0085\u2028\u2029]/;

/**
 * Returns whether git-lfs or this store may treat a file that begins with `bytes` as a pointer. A pointer has a line
 * with the specification, under any of its historical names, and a line with an object (github.com/git-lfs/git-lfs,
 * docs/spec.md). In a longer file, git-lfs reads only the beginning and trims white space (lfs/pointer.go,
 * `DecodeFrom`).
 */
function isPointer(bytes: Buffer): boolean {
  const lines = bytes.subarray(0, MAX_POINTER_BYTES).toString().trim().split(LINE_END);
  const hasOtherLines = lines.some((line) => !/^\s*(version|oid|size|ext-\S+)\s|^\s*$/i.test(line));
  if (bytes.length > MAX_POINTER_BYTES && hasOtherLines) return false;
  const namesObject = lines.some((line) => /^\s*oid\s/i.test(line));
  return namesObject && /^\s*version\s+https?:\/\/[^\s]*(git-lfs|hawser|git-media)/i.test(lines[0] ?? '');
}

/** A pointer serves the object that it names, which may be in a folder that the user can't read. */
function isPointerUpload(): StoreError {
  const message = 'The file is a pointer of Git LFS, which stands for another file. Upload the file itself.';
  return new StoreError('invalid-request', message);
}

/** Streams a file to GitHub as base64 inside JSON, the format of its blob API. */
async function send(
  host: Host,
  uploads: Semaphore,
  bytes: AsyncIterable<Buffer>,
  { checkSize, signal }: { checkSize: (bytes: number) => void } & Cancellable,
): Promise<StoredBlob> {
  let sent = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      done(sent > MAX_FILE_BYTES ? tooLarge() : null, chunk);
    },
    flush(done) {
      try {
        checkSize(sent);
        done();
      } catch (error) {
        done(asError(error));
      }
    },
  });
  const json = toJson();
  let failure: unknown;
  // Cancels the request when the body fails. A queued request would not notice.
  const broken = new AbortController();
  const flowing = pipeline(bytes, count, json).catch((error: unknown) => {
    failure ??= error;
    broken.abort(error);
  });
  try {
    const ended = signal ? AbortSignal.any([signal, broken.signal]) : broken.signal;
    const release = await uploads.acquire(ended);
    const sha = await host.createBlob(json, { signal: ended }).finally(release);
    await flowing;
    return { sha, size: sent };
  } catch (error) {
    // If the body failed first, its error is the cause of the other one.
    const reason = failure ?? json.errored ?? error;
    failure = reason;
    json.destroy();
    await flowing;
    throw reason;
  }
}

/** Returns a transform from bytes to the JSON body of a blob. */
function toJson(): Transform {
  let carried: Buffer = Buffer.alloc(0);
  let isBegun = false;
  const begin = () => {
    if (isBegun) return '';
    isBegun = true;
    return '{"encoding":"base64","content":"';
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = carried.length > 0 ? Buffer.concat([carried, chunk]) : chunk;
      // Base64 encodes three bytes as four characters. The remainder is encoded with the next chunk.
      const whole = bytes.length - (bytes.length % 3);
      carried = bytes.subarray(whole);
      done(null, begin() + bytes.toString('base64', 0, whole));
    },
    flush(done) {
      done(null, `${begin()}${carried.toString('base64')}"}`);
    },
  });
}

/** Reads until the body ends or exceeds `INLINE`. */
async function readBeginning(body: Readable): Promise<{ chunks: Buffer[]; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = chunk;
    chunks.push(bytes);
    length += bytes.length;
    if (length > INLINE) return { chunks, isWhole: false };
  }
  return { chunks, isWhole: true };
}

async function* concatenated(beginning: readonly Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  yield* beginning;
  yield* rest;
}

/** Returns whether a text survives a JSON string byte for byte: valid UTF-8 without a byte order mark or NUL. */
function isPlainText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0) && !bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const ignore = () => {};
