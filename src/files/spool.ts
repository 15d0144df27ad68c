import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { StoreError } from '../model/error.ts';
import type { Cancellable, StagedUpload, Store } from '../model/store.ts';

/** Bytes per read of the temporary file. */
const READ_AHEAD = 1024 * 1024;

/**
 * Stages an upload in a temporary file, for stores without `stage`. The file is unlinked immediately, so that the
 * system frees it even if the process crashes.
 */
export async function spool(store: Store, body: Readable, options: Cancellable = {}): Promise<StagedUpload> {
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
      async publish(path, { type, modified }, { condition } = {}) {
        try {
          const bytes = file.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_AHEAD });
          return await store.write(path, { body: bytes, size, type, modified }, { condition });
        } finally {
          await file.close();
        }
      },
      discard: () => file.close(),
    };
  } catch (error) {
    body.destroy();
    await file.close();
    throw isFull(error) ? temporaryFolderFull(error) : error;
  }
}

/** ENOSPC: the file system is full. EDQUOT: the user's quota is exhausted. */
function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

function temporaryFolderFull(cause: unknown): StoreError {
  const message =
    'The folder for temporary files (TMPDIR) is full, where a file waits for a "prefix" that follows it: send "prefix" first.';
  return new StoreError('unavailable', message, { cause, retryAfter: 60 });
}
