import { addAbortSignal } from 'node:stream';
import type { Files } from '../files/files.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { FileEntry } from '../model/store.ts';
import { freeMemory, recyclerOf } from '../streams/chunk-recycling.ts';
import { RenderError } from './errors.ts';
import { estimateMemory, MAX_INLINE_MEMORY_BYTES } from './limits.ts';
import { type ChildRenderOptions, drawInChildProcess } from './render-process.ts';

/** A render in progress. */
export interface Render {
  /** Settles within the time limit, with a JPEG or a `RenderError`. */
  readonly thumbnail: Promise<Buffer>;
  /** Resolves when the render has actually ended, which can be later. Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Returns whether an image must be drawn in a child process, because drawing can take much memory or time. Reads
 * only the header of the image. Throws `RenderError` if it is not an image.
 */
export function needsChildProcess(image: Buffer): boolean {
  const memory = estimateMemory(image);
  if (memory === undefined) throw new RenderError('unsupported', 'The file has the signature of no image format.');
  return memory > MAX_INLINE_MEMORY_BYTES;
}

export interface RenderOptions extends ChildRenderOptions {
  readonly inChildProcess: boolean;
}

/**
 * Starts to draw the thumbnail of an image, in a child process if `inChildProcess` is set. The render owns the image and
 * frees its whole `ArrayBuffer`. `signal` kills a child process. A render in this process always runs to its end,
 * because libvips can't be aborted; that takes seconds at most.
 */
export function startRender(image: Buffer<ArrayBuffer>, options: RenderOptions): Render {
  const drawing = draw(image, options);
  return { thumbnail: withTimeout(drawing, options.timeoutMs), ended: drawing.then(ignore, ignore) };
}

async function draw(image: Buffer<ArrayBuffer>, options: RenderOptions): Promise<Buffer> {
  try {
    if (options.inChildProcess) return await drawInChildProcess(image, options);
    // Load libvips with the first image: it takes 50 ms, and 23 MB that a process without images does not need.
    const { drawThumbnail } = await import('./draw.ts');
    return await drawThumbnail(image, options.timeoutMs);
  } finally {
    // Otherwise, images of a megabyte cause a full garbage collection after every eighth image. That costs 3 ms of CPU
    // time per thumbnail, in addition to 16 ms for drawing.
    freeMemory(image);
  }
}

function withTimeout(drawing: Promise<Buffer>, timeoutMs: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(new RenderError('too-slow', 'The render timed out.')), timeoutMs);
  drawing.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

const ignore = () => {};

export interface SourceOptions {
  readonly signal: AbortSignal;
  /** Maximum milliseconds to read the source. */
  readonly timeoutMs: number;
}

/**
 * Returns all bytes of the version that `file` describes, in an `ArrayBuffer` of its own. The source is closed when the
 * promise settles.
 *
 * Throws `condition-failed` if the file has changed, and `unavailable` if the source is too slow or has a different
 * size. Rejects with the abort reason of `signal`.
 */
export async function readSource(
  files: Pick<Files, 'read'>,
  file: FileEntry,
  { signal, timeoutMs }: SourceOptions,
): Promise<Buffer<ArrayBuffer>> {
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(readTimedOut(file, timeoutMs)), timeoutMs);
  const stop = AbortSignal.any([signal, slow.signal]);
  try {
    return await readAll(files, file, stop);
  } catch (error) {
    // If the read was aborted, throw the abort reason instead of the error that the abort caused.
    stop.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function readAll(files: Pick<Files, 'read'>, file: FileEntry, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  const content = await files.read(file.path, { ifMatch: file.etag, signal });
  const bytes = Buffer.allocUnsafeSlow(file.size);
  let length = 0;
  const add = (part: Buffer) => {
    if (length + part.length > bytes.length) throw sizeMismatch(file);
    length += part.copy(bytes, length);
  };
  // The store may still use its buffered content, so copy it.
  if (content.bytes) add(content.bytes);
  // An exception in the loop destroys the body, and so does the signal.
  else {
    const recycle = recyclerOf(content.body);
    for await (const part of addAbortSignal(signal, content.body)) {
      add(part);
      recycle?.(part);
    }
  }
  if (length < bytes.length) throw sizeMismatch(file);
  return bytes;
}

function sizeMismatch(file: FileEntry): StoreError {
  const message = `The file ${quoted(file.path)} does not have ${file.size} bytes. Try again.`;
  return new StoreError('store-busy', message, { retryAfter: 1 });
}

function readTimedOut(file: FileEntry, timeoutMs: number): StoreError {
  const message = `The file ${quoted(file.path)} could not be read within ${timeoutMs / 1000} seconds. Try again.`;
  return new StoreError('store-busy', message, { retryAfter: 1 });
}
