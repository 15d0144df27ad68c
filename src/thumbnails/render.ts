import { addAbortSignal } from 'node:stream';
import type { Files } from '../files/files.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { FileEntry } from '../model/store.ts';
import { releaseMemory } from '../streams/bodies.ts';
import { RenderError } from './errors.ts';
import { estimateMemory, MAX_MEMORY_HERE } from './limits.ts';
import { type DrawApartOptions, drawApart } from './render-process.ts';

/** A render in progress. */
export interface Render {
  /** Settles within the time limit, with a JPEG or a `RenderError`. */
  readonly thumbnail: Promise<Buffer>;
  /** Resolves when nothing of the render runs any more, which may be later. Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Whether an image must be drawn in a separate process, because drawing it may take much memory or much time. Decided
 * by the image's header alone. Throws `RenderError` if it is not an image.
 */
export function needsProcess(image: Buffer): boolean {
  const memory = estimateMemory(image);
  if (memory === undefined) throw new RenderError('unsupported', 'The file has the signature of no image format.');
  return memory > MAX_MEMORY_HERE;
}

/**
 * Starts to draw the thumbnail of an image, in a separate process if `needsProcess`. The render owns the image and
 * frees its memory, all of its `ArrayBuffer`. `signal` ends a separate process; here, an image is drawn to the end
 * because libvips can't be stopped, which takes seconds at most.
 */
export function startRender(image: Buffer<ArrayBuffer>, options: DrawApartOptions & { isApart: boolean }): Render {
  const drawing = draw(image, options);
  return { thumbnail: withinTime(drawing, options.timeLimit), ended: drawing.then(ignore, ignore) };
}

async function draw(image: Buffer<ArrayBuffer>, options: DrawApartOptions & { isApart: boolean }): Promise<Buffer> {
  try {
    if (options.isApart) return await drawApart(image, options);
    // libvips is loaded with the first image: 50 ms, and 23 MB that a process without one does not hold.
    const { drawThumbnail } = await import('./draw.ts');
    return await drawThumbnail(image, options.timeLimit);
  } finally {
    // Left to the garbage collector, images of a megabyte make it go through the whole heap after every eighth of
    // them: 3 ms of CPU for each thumbnail, beside the 16 of drawing it.
    releaseMemory(image);
  }
}

function withinTime(drawing: Promise<Buffer>, timeLimit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(new RenderError('too-slow', 'The time is over.')), timeLimit);
  drawing.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

const ignore = () => {};

export interface SourceOptions {
  readonly signal: AbortSignal;
  /** Milliseconds until a source that is still not read counts as unreachable. */
  readonly timeLimit: number;
}

/**
 * All bytes of the version of a file that `file` describes, in an `ArrayBuffer` that nothing else is in and nobody else
 * has. Whatever happens, the source is closed when it settles.
 * `condition-failed` when the file is another version by now; `unavailable` when the source is too slow or gives
 * another number of bytes than announced; rejects with the signal's reason when it aborts.
 */
export async function readSource(
  files: Pick<Files, 'read'>,
  file: FileEntry,
  { signal, timeLimit }: SourceOptions,
): Promise<Buffer<ArrayBuffer>> {
  const slow = new AbortController();
  const timer = setTimeout(() => slow.abort(tooSlow(file, timeLimit)), timeLimit);
  const stop = AbortSignal.any([signal, slow.signal]);
  try {
    return await readAll(files, file, stop);
  } catch (error) {
    // A source that was stopped fails in its own words; why it was stopped says more.
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
    if (length + part.length > bytes.length) throw otherSize(file);
    length += part.copy(bytes, length);
  };
  // The store may keep what it has at hand: it is copied like any other part.
  if (content.bytes) add(content.bytes);
  // Leaving the loop before the end destroys the body, and so does the signal.
  else {
    for await (const part of addAbortSignal(signal, content.body)) {
      add(part);
      content.release?.(part);
    }
  }
  if (length < bytes.length) throw otherSize(file);
  return bytes;
}

function otherSize(file: FileEntry): StoreError {
  const message = `The file ${quoted(file.path)} did not come with its ${file.size} bytes. Try again.`;
  return new StoreError('unavailable', message, { retryAfter: 1 });
}

function tooSlow(file: FileEntry, timeLimit: number): StoreError {
  const message = `The file ${quoted(file.path)} could not be read within ${timeLimit / 1000} seconds. Try again.`;
  return new StoreError('unavailable', message, { retryAfter: 1 });
}
