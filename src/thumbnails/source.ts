import { addAbortSignal } from 'node:stream';
import { quoted, StoreError } from '../domain/error.ts';
import type { Files } from '../domain/files.ts';
import type { FileEntry } from '../domain/store.ts';

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
