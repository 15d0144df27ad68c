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

/** Bytes of a file, and how to recycle them, if that is possible. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly recycle: ((chunk: Buffer) => void) | undefined;
}

/** Attempts in a row that bring no byte, after which the error is final. */
const MAX_ATTEMPTS = 4;

const MIN_RETRY_MS = 100;

/**
 * Yields the bytes of a part of a file. If the store fails in the middle, continues from there, because a download of hours
 * should not depend on a single connection to a bucket. Throws `file-changed` if the file is another version.
 */
export async function* readContent(
  files: ZipFiles,
  part: ContentPart,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<Chunk> {
  let position = part.start;
  for (let failures = 0; position < part.end; ) {
    try {
      for await (const chunk of open(files, { ...part, start: position }, signal)) {
        failures = 0;
        position += chunk.bytes.length;
        if (position > part.end) throw versionReplaced(part.path);
        yield chunk;
      }
      // The store ended the content early, without an error.
      if (position < part.end) throw versionReplaced(part.path);
    } catch (error) {
      failures++;
      if (!isStoreError(error, 'unavailable') || failures === MAX_ATTEMPTS || signal.aborted) throw error;
      await delay(MIN_RETRY_MS * 2 ** failures, undefined, { signal });
    }
  }
}

/** Returns a small file as one buffer. */
export async function readWhole(
  files: ZipFiles,
  file: Omit<ContentPart, 'start' | 'end'>,
  options: { readonly signal: AbortSignal },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const { bytes } of readContent(files, { ...file, start: 0, end: file.size }, options)) chunks.push(bytes);
  const [only] = chunks;
  return chunks.length === 1 && only ? only : Buffer.concat(chunks);
}

async function* open(
  files: ZipFiles,
  { path, etag, size, start, end }: ContentPart,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  // A range costs some stores more than a whole file.
  const range = start === 0 && end === size ? undefined : { start, end: end - 1 };
  const content = await files.read(path, { ifMatch: etag, isOnce: true, signal, ...(range && { range }) });
  if (content.file.size !== size || (range && !isSameRange(content, range))) {
    content.body.destroy();
    throw versionReplaced(path);
  }
  if (content.bytes) return yield { bytes: content.bytes, recycle: undefined };
  const recycle = recyclerOf(content.body);
  try {
    for await (const bytes of content.body) yield { bytes: bytes as Buffer, recycle };
  } catch (error) {
    throw asError(error);
  }
}

function isSameRange({ range }: Content, { start, end }: { readonly start: number; readonly end: number }): boolean {
  return range?.start === start && range.end === end;
}
