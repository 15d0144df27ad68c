import { isUtf8 } from 'node:buffer';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Bottleneck from 'bottleneck';
import { untilAborted } from '../../../concurrency/single-flight.ts';
import { asError, StoreError } from '../../../model/error.ts';
import type { FilePath } from '../../../model/path.ts';
import type { Cancellable, WriteCondition } from '../../../model/store.ts';
import { shaOfBlob } from '../branch/objects.ts';
import { MAX_FILE, tooLarge } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { StoredBlob } from './changes.ts';

/** Bytes up to which a text goes along with the commit, and needs no request of its own. */
export const INLINE = 32 * 1024;

/** How many files are streamed at once: half of what the host takes, so that slow senders never hold up who reads. */
const MOST_UPLOADS = 50;

/** Where a file is to go, and under which condition. */
export interface Place {
  readonly file: FilePath;
  readonly condition: WriteCondition | undefined;
}

/** Bytes on their way in, before anything is changed on the branch. */
export interface Incoming {
  /** Ends or is destroyed. */
  readonly body: Readable;
  /** Where it is known already. */
  readonly place?: Place;
  /** Throws where the file may not have so many bytes. */
  readonly checkSize?: (bytes: number) => void;
}

export type TakeIn = (incoming: Incoming, options: Cancellable) => Promise<StoredBlob>;

/** `prepare` is called before the host is given bytes. */
export function createTakeIn(
  host: Host,
  prepare: (place: Place | undefined, options: Cancellable) => Promise<void>,
): TakeIn {
  const uploads = new Bottleneck({ maxConcurrent: MOST_UPLOADS });
  return async ({ body, place, checkSize = () => {} }, { signal }) => {
    const abort = () => body.destroy(asError(signal?.reason));
    // Between two parts nobody reads it, and its error would be nobody's; who reads on is told.
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
      const stored = await createBlob(host, JSON.stringify({ encoding: 'base64', content: bytes.toString('base64') }), {
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

/** Bytes of a file in which git-lfs looks for a pointer. */
const MAX_POINTER_BYTES = 1024;

/** Every character at which some program ends a line. */
const LINE_END = /[\r\n\v\f\u0085\u2028\u2029]/;

/**
 * Whether git-lfs or this store may take the file that begins with `bytes` for a pointer: a line that names its
 * specification, under any of the names that it had, and one that names an object (github.com/git-lfs/git-lfs, docs/spec.md).
 * Of a longer file, git-lfs reads the beginning alone, and trims white space (lfs/pointer.go, `DecodeFrom`).
 */
function isPointer(bytes: Buffer): boolean {
  const lines = bytes.subarray(0, MAX_POINTER_BYTES).toString().trim().split(LINE_END);
  const hasOtherLines = lines.some((line) => !/^\s*(version|oid|size|ext-\S+)\s|^\s*$/i.test(line));
  if (bytes.length > MAX_POINTER_BYTES && hasOtherLines) return false;
  const namesObject = lines.some((line) => /^\s*oid\s/i.test(line));
  return namesObject && /^\s*version\s+https?:\/\/[^\s]*(git-lfs|hawser|git-media)/i.test(lines[0] ?? '');
}

/** A pointer serves the object that it names, which may belong to a folder that the user can't read. */
function isPointerUpload(): StoreError {
  const message = 'The file is a pointer of Git LFS, which stands for another file. Upload the file itself.';
  return new StoreError('invalid-request', message);
}

/** Makes a blob of a JSON body; errors are those that callers act on. */
export async function createBlob(host: Host, body: string | Readable, options: Cancellable): Promise<string> {
  try {
    return await host.createBlob(body, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw host.translate(error, 'writes');
  }
}

/** Streams a file to the host: as base64 within JSON, as its interface wants it. */
async function send(
  host: Host,
  uploads: Bottleneck,
  bytes: AsyncIterable<Buffer>,
  { checkSize, signal }: { checkSize: (bytes: number) => void } & Cancellable,
): Promise<StoredBlob> {
  let sent = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sent += chunk.length;
      done(sent > MAX_FILE ? tooLarge() : null, chunk);
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
  // A request that still waits for its turn would not notice.
  const broken = new AbortController();
  const flowing = pipeline(bytes, count, json).catch((error: unknown) => {
    failure ??= error;
    broken.abort(error);
  });
  try {
    const ended = signal ? AbortSignal.any([signal, broken.signal]) : broken.signal;
    const sha = await untilAborted(
      uploads.schedule(() => createBlob(host, json, { signal: ended })),
      ended,
    );
    await flowing;
    return { sha, size: sent };
  } catch (error) {
    // Why the body failed, if that is why the request did: it is noted before the request can know.
    const reason = failure ?? error;
    failure = reason;
    json.destroy();
    await flowing;
    throw reason;
  }
}

/** The JSON of a blob around the base64 of the bytes. */
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
      // Three bytes make four characters: what is left over goes with the next chunk.
      const whole = bytes.length - (bytes.length % 3);
      carried = bytes.subarray(whole);
      done(null, begin() + bytes.toString('base64', 0, whole));
    },
    flush(done) {
      done(null, `${begin()}${carried.toString('base64')}"}`);
    },
  });
}

/** Reads until the body ends or is longer than what goes along with a commit. */
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

/** Whether a text comes back byte for byte from a JSON string: no byte order mark, no NUL, nothing that is not UTF-8. */
function isPlainText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0) && !bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const ignore = () => {};
