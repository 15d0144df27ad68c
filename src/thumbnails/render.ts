import { execFile } from 'node:child_process';
import { extname, join } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { promisify } from 'node:util';
import type { Files } from '../files/files.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { Content, FileEntry } from '../model/store.ts';
import { freeMemory, recyclerOf } from '../streams/chunk-recycling.ts';
import { decoded, isDecodingError } from '../streams/decoded.ts';
import { parseRenderError, RenderError, type RenderLimits } from './errors.ts';
import { estimateMemory, MAX_INLINE_MEMORY_BYTES, MAX_RENDITION_BYTES, MAX_SOURCE_BYTES } from './limits.ts';
import { nameOfRendition, type Rendition } from './renditions.ts';
import type { SandboxedCommand } from './sandbox.ts';
import { isShortage } from './shortage.ts';

/** A render in progress. */
export interface Render {
  /** Settles within the deadline, with the image that was drawn or a `RenderError`. */
  readonly drawn: Promise<Buffer>;
  /** Resolves when the render has actually ended, which can be later. Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Returns whether an image must be drawn in a child process, because drawing can take much memory or time. Reads
 * only the header of the image. Throws `RenderError` if it is not an image.
 */
export function needsChildProcess(image: Buffer, rendition: Rendition): boolean {
  const memory = estimateMemory(image, rendition);
  if (memory === undefined) throw new RenderError('unsupported', 'The file has the signature of no image format.');
  return memory > MAX_INLINE_MEMORY_BYTES;
}

export interface RenderOptions extends ChildRenderOptions {
  readonly inChildProcess: boolean;
}

/**
 * Starts to draw a rendition of an image, in a child process if `inChildProcess` is set. The render owns the image
 * and frees its whole `ArrayBuffer`. `signal` kills a child process. A render in this process always runs to its end,
 * because libvips can't be aborted; that takes seconds at most.
 */
export function startRender(image: Buffer<ArrayBuffer>, options: RenderOptions): Render {
  const drawing = draw(image, options);
  return { drawn: withDeadline(drawing, options.deadlineMs), ended: drawing.then(ignore, ignore) };
}

async function draw(image: Buffer<ArrayBuffer>, options: RenderOptions): Promise<Buffer> {
  try {
    if (options.inChildProcess) return await drawInChildProcess(image, options);
    // Load libvips with the first image: it takes 50 ms, and 23 MB that a process without images does not need.
    const { drawRendition } = await import('./draw.ts');
    return await drawRendition(image, options.rendition, options.deadlineMs);
  } finally {
    // Otherwise, images of a megabyte cause a full garbage collection after every eighth image. That costs 3 ms of CPU
    // time per thumbnail, in addition to 16 ms for drawing.
    freeMemory(image);
  }
}

/** A render in this process is short, because its memory is limited. Past the deadline, the machine is busy with other work. */
function withDeadline(drawing: Promise<Buffer>, deadlineMs: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(new RenderError('overloaded', 'The render timed out.')), deadlineMs);
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
  if (content.file.encoding !== undefined) return readDecoded(content, signal);
  const bytes = Buffer.allocUnsafeSlow(file.size);
  let length = 0;
  const add = (part: Buffer) => {
    if (length + part.length > bytes.length) throw sizeMismatch(file);
    length += part.copy(bytes, length);
  };
  // The store might still use its buffered content, so copy it.
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

/** Reads a file that another program stored compressed. */
async function readDecoded(content: Content, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of addAbortSignal(signal, decoded(content))) {
      length += part.length;
      if (length > MAX_SOURCE_BYTES) throw new RenderError('too-large-unpacked', 'The decoded content is too large.');
      parts.push(part);
    }
  } catch (error) {
    throw isDecodingError(error) ? new RenderError('damaged', error.message, { cause: error }) : error;
  }
  const bytes = Buffer.allocUnsafeSlow(length);
  Buffer.concat(parts).copy(bytes);
  return bytes;
}

export function sizeMismatch(file: FileEntry): StoreError {
  const message = `The file ${quoted(file.path)} does not have ${file.size} bytes. Try again.`;
  return new StoreError('store-busy', message, { retryAfter: 1 });
}

export function readTimedOut(file: FileEntry, timeoutMs: number): StoreError {
  const message = `The file ${quoted(file.path)} could not be read within ${timeoutMs / 1000} seconds. Try again.`;
  return new StoreError('store-busy', message, { retryAfter: 1 });
}

/** The exit status if stdout contains a serialized `RenderError` instead of an image. */
export const RENDER_ERROR_EXIT_CODE = 3;

// The script is next to this file and has the same extension: TypeScript in the source, JavaScript in the build.
const SCRIPT = join(import.meta.dirname, `render-process-main${extname(import.meta.filename)}`);

const run = promisify(execFile);

export interface ChildRenderOptions extends RenderLimits {
  readonly rendition: Rendition;
  readonly signal?: AbortSignal;
}

/**
 * Draws a rendition of an image in any supported format, in a child process. Kills the process if it exceeds a limit or `signal`
 * aborts. Settles when the process has exited. Throws `RenderError`.
 *
 * A kilobyte of nested references and filters in an SVG can take hours or gigabytes. Only the end of the process stops
 * such a call. Other formats are decoded as a whole: a few kilobytes can hold a gigabyte. The child process has an
 * empty environment, so that a malicious file that takes over a decoder finds no secrets.
 */
export async function drawInChildProcess(
  image: Buffer,
  { rendition, cpuTimeMs, deadlineMs, memoryLimitBytes, signal }: ChildRenderOptions,
): Promise<Buffer> {
  signal?.throwIfAborted();
  const figures = [image.length, cpuTimeMs, deadlineMs, memoryLimitBytes].map(String);
  const command = { file: process.execPath, args: [SCRIPT, nameOfRendition(rendition), ...figures], stdin: image };
  const running = startProcess(command, deadlineMs);
  const kill = () => running.child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  try {
    return (await running).stdout;
  } catch (error) {
    signal?.throwIfAborted();
    throw asRenderError(error);
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * Starts a program with an empty environment, whose output is a rendition. Ends it after the deadline. `stdin` is what it
 * reads.
 *
 * @throws RenderError if the machine can't start it
 */
export function startProcess({ file, args, stdin }: SandboxedCommand, deadlineMs: number) {
  try {
    const running = run(file, args, {
      encoding: 'buffer',
      env: {},
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_RENDITION_BYTES,
      windowsHide: true,
    });
    // If the process exits before it has read everything, the pipe breaks. Its exit status is the better error.
    running.child.stdin?.on('error', () => {}).end(stdin);
    return running;
  } catch (error) {
    // Node.js throws some errors at once.
    throw isShortage(error) ? new RenderError('overloaded', error.message, { cause: error }) : error;
  }
}

/**
 * Translates the exit of the process to an error: the `RenderError` that it wrote, the deadline, a kill, or a crash of a
 * decoder. Linux sends SIGKILL when memory runs out. Returns any other error, which is a bug, unchanged.
 */
function asRenderError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error;
  if (isShortage(error)) return new RenderError('overloaded', error.message, { cause });
  const { code, signal, stdout } = error as Error & { code?: unknown; signal?: unknown; stdout?: unknown };
  // A process over a limit writes its error and then kills itself.
  const output = Buffer.isBuffer(stdout) ? stdout.toString() : '';
  if (code === RENDER_ERROR_EXIT_CODE || (signal === 'SIGKILL' && output.startsWith('{')))
    return parseRenderError(output);
  if (signal === 'SIGKILL') return new RenderError('overloaded', 'The process was killed.', { cause });
  if (signal) return new RenderError('damaged', 'The process crashed.', { cause });
  return error;
}
