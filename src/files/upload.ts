import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { isDiskFull, StoreError } from '../model/error.ts';
import { type FilePath, nameOf } from '../model/path.ts';
import { mediaTypeOfUpload } from '../model/presentation.ts';
import type {
  Cancellable,
  FileEntry,
  Keeping,
  PendingUpload,
  StagedUpload,
  Store,
  Upload,
  WriteCondition,
  WriteOptions,
} from '../model/store.ts';
import { checkedBody } from '../streams/bodies.ts';
import { withFreeName } from './free-name.ts';

/** The destination of an upload, and the condition on the file that exists there. */
export interface UploadTarget {
  readonly path: FilePath;
  readonly condition?: WriteCondition | undefined;
  /**
   * Whether to choose a numbered name if the name is taken. Requires the condition `absent`, and a target that is known
   * only after the content.
   */
  readonly rename?: boolean;
  /**
   * Called if the upload can't be committed, with the error. Resolves to true to call the function that found this target
   * again. Only for such a target.
   */
  readonly retry?: (error: unknown) => Promise<boolean>;
}

/** A file that a client uploads. `declaredType` is the media type that the client sent. */
export interface IncomingFile {
  /**
   * The destination. If it is known only after the content, a function that resolves to it, which is called after
   * `atEnd`. The content is staged until then.
   */
  readonly target: UploadTarget | (() => Promise<UploadTarget>);
  /** The content: a stream, or an upload whose content has arrived. */
  readonly body: Readable | PendingUpload;
  readonly declaredType?: string | undefined;
  /** Called with each chunk of the content before it is written. */
  readonly onChunk?: ((chunk: Buffer | string) => void) | undefined;
  /** Called after the last byte, before the file is committed. If it rejects, the upload fails. */
  readonly atEnd?: (() => Promise<void>) | undefined;
  /** Limit of the size in bytes, in addition to that of all uploads. */
  readonly sizeLimit?: number | undefined;
  /** Maximum size in bytes, if known. */
  readonly maxSize?: number | undefined;
  /** Returns the modification time to store. Called after the end of `body` and `atEnd`. */
  readonly modified?: Upload['modified'];
  /** See `WriteOptions`. */
  readonly onOutcome?: WriteOptions['onOutcome'];
}

type StreamedFile = IncomingFile & { readonly body: Readable };

/** `maxUploadSize`: maximum size of the content in bytes; undefined for no limit. */
export type UploadOptions = { readonly maxUploadSize: number | undefined } & Keeping & Cancellable;

/**
 * Writes an uploaded file to a store: directly if its destination is known, otherwise staged. Commits only after
 * `incoming.atEnd` has resolved.
 */
export async function upload(store: Store, incoming: IncomingFile, options: UploadOptions): Promise<FileEntry> {
  const { target, body } = incoming;
  if (!(body instanceof Readable)) return commitPending({ ...incoming, body }, options);
  return typeof target === 'function'
    ? stageAndCommit(store, { ...incoming, target, body }, options)
    : write(store, { ...incoming, target, body }, options);
}

async function commitPending(
  { target, declaredType, atEnd, modified, onOutcome, body }: IncomingFile & { body: PendingUpload },
  { keep }: UploadOptions,
): Promise<FileEntry> {
  await atEnd?.();
  const { path, condition } = typeof target === 'function' ? await target() : target;
  const type = mediaTypeOfUpload(declaredType, nameOf(path));
  return body.commit(path, { type, modified }, { condition, keep, onOutcome });
}

async function write(
  store: Store,
  {
    target: { path, condition },
    declaredType,
    onChunk,
    atEnd,
    maxSize,
    sizeLimit,
    modified,
    onOutcome,
    ...incoming
  }: StreamedFile & { target: UploadTarget },
  { maxUploadSize, ...options }: UploadOptions,
): Promise<FileEntry> {
  const type = mediaTypeOfUpload(declaredType, nameOf(path));
  const body = checkedBody(incoming.body, { limit: lowest(maxUploadSize, sizeLimit), onChunk, atEnd });
  return store.write(path, { body, type, maxSize, modified }, { ...options, condition, onOutcome });
}

async function stageAndCommit(
  store: Store,
  {
    target,
    declaredType,
    onChunk,
    atEnd,
    sizeLimit,
    modified,
    onOutcome,
    ...incoming
  }: StreamedFile & { target: () => Promise<UploadTarget> },
  { maxUploadSize, keep, ...options }: UploadOptions,
): Promise<FileEntry> {
  const body = checkedBody(incoming.body, { limit: lowest(maxUploadSize, sizeLimit), onChunk });
  const staged = await (store.stage
    ? store.stage({ body, maxSize: incoming.maxSize }, options)
    : spool(store, body, options));
  try {
    await atEnd?.();
    for (;;) {
      const { path, condition, rename = false, retry } = await target();
      const type = mediaTypeOfUpload(declaredType, nameOf(path));
      const commit = (to: FilePath) => staged.commit(to, { type, modified }, { condition, keep, onOutcome });
      try {
        return await (rename ? withFreeName(store, path, commit) : commit(path));
      } catch (error) {
        if (!(await retry?.(error))) throw error;
      }
    }
  } finally {
    await staged.abort();
  }
}

/** Returns the lower one of two limits, of which each can be missing. */
function lowest(...limits: readonly (number | undefined)[]): number {
  return Math.min(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY));
}

/** Bytes per read of the temporary file. */
const READ_AHEAD = 1024 * 1024;

/**
 * Stages an upload in a temporary file, for stores without `stage`. The file is unlinked immediately, so that the
 * system frees it even if the process crashes.
 */
async function spool(store: Store, body: Readable, options: Cancellable = {}): Promise<StagedUpload> {
  const name = join(tmpdir(), `holdall-${randomUUID()}`);
  const file = await open(name, 'wx+', 0o600).catch((error: unknown) => {
    body.destroy();
    throw error;
  });
  try {
    await unlink(name);
    await file.writeFile(options.signal ? addAbortSignal(options.signal, body) : body);
    const { size } = await file.stat();
    return {
      async commit(path, { type, modified }, commitOptions) {
        const bytes = Readable.from(readAll(file), { objectMode: false });
        return store.write(path, { body: bytes, size, type, modified }, commitOptions);
      },
      abort: () => file.close(),
    };
  } catch (error) {
    body.destroy();
    await file.close();
    throw isDiskFull(error) ? temporaryFolderFull(error) : error;
  }
}

/** Yields the content of a file from its beginning, and leaves the file open: a stream of it would close it. */
async function* readAll(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(READ_AHEAD), 0, READ_AHEAD, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

function temporaryFolderFull(cause: unknown): StoreError {
  const message = 'The folder for temporary files (TMPDIR) is full.';
  return new StoreError('temporary-folder-full', message, { cause, retryAfter: 60 });
}
