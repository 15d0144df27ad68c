import { isUtf8 } from 'node:buffer';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createSemaphore } from '../../../concurrency/semaphore.ts';
import { asError, StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { shaOfBlob } from '../branch/objects.ts';
import { MAX_FILE_BYTES, tooLarge } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { FileContent } from './changes.ts';

/** Maximum bytes of a text that is sent with the tree instead of in its own request. */
export const MAX_INLINE_BYTES = 32 * 1024;

/**
 * Maximum concurrent streamed uploads: half of GitHub's concurrency limit, so that slow clients do not block reads.
 */
const MAX_STREAMED_UPLOADS = 50;

export interface UploadOptions extends Cancellable {
  /** Called before any bytes are sent to GitHub. Throws if the upload must fail. */
  readonly prepare: () => Promise<void>;
  /** Throws if the file may not have this size. */
  readonly checkSize?: (bytes: number) => void;
}

/** Uploads the content of files to GitHub, without a change on the branch. */
export class BlobUploader {
  readonly #host: Host;
  readonly #streams = createSemaphore({
    limit: MAX_STREAMED_UPLOADS,
    maxWaiting: Number.POSITIVE_INFINITY,
    busyMessage: 'Too many uploads',
  });

  constructor(host: Host) {
    this.#host = host;
  }

  /** Uploads a body, which ends or is destroyed. A short text is only read: it is sent with the tree. */
  async upload(body: Readable, options: UploadOptions): Promise<FileContent> {
    const { signal } = options;
    const abort = () => body.destroy(asError(signal?.reason));
    // Between two reads the body has no error listener. The next read still reports the error.
    body.on('error', ignore);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      signal?.throwIfAborted();
      const { chunks, isWhole } = await readBeginning(body);
      const beginning = Buffer.concat(chunks);
      if (isPointer(beginning)) throw pointerUpload();
      return isWhole
        ? await this.#uploadBytes(beginning, options)
        : await this.#uploadStream(concatenated(beginning, body), options);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
      body.destroy();
    }
  }

  async #uploadBytes(bytes: Buffer, { prepare, checkSize, signal }: UploadOptions): Promise<FileContent> {
    checkSize?.(bytes.length);
    const content = { sha: shaOfBlob(bytes), size: bytes.length };
    if (isPlainText(bytes)) return { ...content, text: bytes.toString() };
    await prepare();
    const json = JSON.stringify({ encoding: 'base64', content: bytes.toString('base64') });
    const sha = await this.#host.createBlob(json, { ...(signal && { signal }) });
    if (sha !== content.sha) throw this.#host.invalidResponse(`GitHub stored blob ${sha} instead of ${content.sha}.`);
    return content;
  }

  /** Streams a file to GitHub as base64 inside JSON, the format of its blob API. */
  async #uploadStream(bytes: AsyncIterable<Buffer>, options: UploadOptions): Promise<FileContent> {
    const { prepare, checkSize, signal } = options;
    await prepare();
    const counter = new SizeCheck(checkSize);
    const json = toJson();
    // Cancels the request when the body fails. A queued request would not notice.
    const broken = new AbortController();
    const flowing = pipeline(bytes, counter, json).catch((error: unknown) => broken.abort(error));
    const ended = signal ? AbortSignal.any([signal, broken.signal]) : broken.signal;
    try {
      const release = await this.#streams.acquire(ended);
      const sha = await this.#host.createBlob(json, { signal: ended }).finally(release);
      await flowing;
      return { sha, size: counter.size };
    } catch (error) {
      // If the body failed first, its error is the cause of the other one.
      const cause = broken.signal.aborted ? broken.signal.reason : (json.errored ?? error);
      json.destroy();
      await flowing;
      throw cause;
    }
  }
}

/** Bytes in which git-lfs looks for a pointer. */
const MAX_POINTER_BYTES = 1024;

/** All characters that some program treats as a line break. */
const LINE_END = /[\r\n\v\f\u0085\u2028\u2029]/;

/**
 * Returns whether git-lfs or this store might treat a file that begins with `bytes` as a pointer. A pointer has a line
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

/** A pointer serves the object that it names, which might be in a folder that the user can't read. */
function pointerUpload(): StoreError {
  const message = 'The file is a Git LFS pointer, which represents another file. Upload that file instead.';
  return new StoreError('lfs-pointer', message);
}

/** Passes bytes on, counts them, and fails if there are too many or `checkSize` throws at the end. */
class SizeCheck extends Transform {
  readonly #checkSize: UploadOptions['checkSize'];
  size = 0;

  constructor(checkSize: UploadOptions['checkSize']) {
    super();
    this.#checkSize = checkSize;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.size += chunk.length;
    done(this.size > MAX_FILE_BYTES ? tooLarge() : null, chunk);
  }

  override _flush(done: TransformCallback): void {
    try {
      this.#checkSize?.(this.size);
      done();
    } catch (error) {
      done(asError(error));
    }
  }
}

/** Returns a transform from bytes to the JSON body of a blob. */
function toJson(): Transform {
  let remainder: Buffer = Buffer.alloc(0);
  let hasBegun = false;
  const begin = () => {
    if (hasBegun) return '';
    hasBegun = true;
    return '{"encoding":"base64","content":"';
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = remainder.length > 0 ? Buffer.concat([remainder, chunk]) : chunk;
      // Base64 encodes three bytes as four characters. Encodes the remainder with the next chunk.
      const whole = bytes.length - (bytes.length % 3);
      remainder = bytes.subarray(whole);
      done(null, begin() + bytes.toString('base64', 0, whole));
    },
    flush(done) {
      done(null, `${begin()}${remainder.toString('base64')}"}`);
    },
  });
}

/** Reads until the body ends or exceeds `MAX_INLINE_BYTES`. */
async function readBeginning(body: Readable): Promise<{ chunks: Buffer[]; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = chunk;
    chunks.push(bytes);
    length += bytes.length;
    if (length > MAX_INLINE_BYTES) return { chunks, isWhole: false };
  }
  return { chunks, isWhole: true };
}

async function* concatenated(beginning: Buffer, rest: Readable): AsyncGenerator<Buffer> {
  yield beginning;
  yield* rest;
}

/** Returns whether a text survives a JSON string byte for byte: valid UTF-8 without a byte order mark or NUL. */
function isPlainText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0) && !bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const ignore = () => {};
