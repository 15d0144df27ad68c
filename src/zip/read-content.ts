import { setTimeout as delay } from 'node:timers/promises';
import { asError, isStoreError } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { Content } from '../model/store.ts';
import { versionReplaced } from '../model/store-errors.ts';
import { recyclerOf } from '../streams/chunk-recycling.ts';
import type { ZipFiles } from './walk.ts';

/** The part of a version of a file: from `start` to the byte before `end`. */
export interface ContentPart {
  readonly path: FilePath;
  readonly etag: string;
  /** Size of the whole file. */
  readonly size: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Receives the next bytes of a file, and how to recycle them, if that is possible. The next call waits for the returned
 * promise.
 */
export type ChunkHandler = (bytes: Buffer, recycle: ((chunk: Buffer) => void) | undefined) => Promise<void> | undefined;

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly onChunk: ChunkHandler;
}

/** Attempts in a row that bring no byte, after which the error is final. */
const MAX_ATTEMPTS = 4;

const MIN_RETRY_MS = 100;

/**
 * Reads a part of a file. If the store fails in the middle, continues from there, because a download of hours should not
 * depend on a single connection to a bucket. Throws `file-changed` if the file is another version.
 */
export async function readContent(files: ZipFiles, part: ContentPart, options: ReadOptions): Promise<void> {
  let position = part.start;
  let failures = 0;
  const onChunk: ChunkHandler = (bytes, recycle) => {
    failures = 0;
    position += bytes.length;
    if (position > part.end) throw versionReplaced(part.path);
    return options.onChunk(bytes, recycle);
  };
  while (position < part.end) {
    try {
      await readOnce(files, { ...part, start: position }, { signal: options.signal, onChunk });
      // The store ended the content early, without an error.
      if (position < part.end) throw versionReplaced(part.path);
    } catch (error) {
      failures++;
      if (!isStoreError(error, 'unavailable') || failures === MAX_ATTEMPTS || options.signal.aborted) throw error;
      await delay(MIN_RETRY_MS * 2 ** failures, undefined, { signal: options.signal });
    }
  }
}

/** Returns a small file as one buffer. */
export async function readWhole(
  files: ZipFiles,
  file: Omit<ContentPart, 'start' | 'end'>,
  { signal }: Pick<ReadOptions, 'signal'>,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const onChunk = (bytes: Buffer) => void chunks.push(bytes);
  await readContent(files, { ...file, start: 0, end: file.size }, { signal, onChunk });
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}

async function readOnce(
  files: ZipFiles,
  { path, etag, size, start, end }: ContentPart,
  { signal, onChunk }: ReadOptions,
): Promise<void> {
  // A range costs some stores more than a whole file.
  const range = start === 0 && end === size ? undefined : { start, end: end - 1 };
  const content = await files.read(path, { ifMatch: etag, isOnce: true, signal, ...(range && { range }) });
  if (content.file.size !== size || (range && !isSameRange(content, range))) {
    content.body.destroy();
    throw versionReplaced(path);
  }
  if (content.bytes) return onChunk(content.bytes, undefined);
  const recycle = recyclerOf(content.body);
  try {
    for await (const bytes of content.body) {
      const waiting = onChunk(bytes as Buffer, recycle);
      // Most chunks need not wait, and a promise for each one costs throughput.
      if (waiting) await waiting;
    }
  } catch (error) {
    throw asError(error);
  }
}

function isSameRange({ range }: Content, { start, end }: { readonly start: number; readonly end: number }): boolean {
  return range?.start === start && range.end === end;
}
