import type { FilePath } from '../../model/path.ts';
import type { Cancellable, FileEntry, Store, WriteCondition } from '../../model/store.ts';
import { requireSize } from '../../model/store-errors.ts';
import { requireWritable } from './branch/objects.ts';
import type { Trees } from './branch/trees.ts';
import { copyFile, type FileContent, moveFile, putFile, removeFile } from './commits/changes.ts';
import type { CommitQueue } from './commits/commit-queue.ts';
import { Draft } from './commits/draft.ts';
import type { EnsureFirstCommit } from './commits/first-commit.ts';
import { BlobUploader } from './commits/upload.ts';
import { MAX_FILE_BYTES, tooLarge } from './host/errors.ts';
import type { Host } from './host/host.ts';

type FileOperations = Required<Pick<Store, 'write' | 'stage' | 'remove' | 'copy' | 'move'>>;

/** Creates the operations that change files. Each is one change in a commit. */
export function createFileOperations(
  host: Host,
  trees: Trees,
  queue: CommitQueue,
  ensureFirstCommit: EnsureFirstCommit,
): FileOperations {
  const uploader = new BlobUploader(host);

  const prepare = async ({ signal }: Cancellable) => {
    queue.requireOpen();
    return ensureFirstCommit({ signal });
  };

  /** Checks a write and its condition, so that an upload that must fail does so before its bytes are sent. */
  const prepareWrite = async (file: FilePath, condition: WriteCondition | undefined, { signal }: Cancellable) => {
    const { root } = await prepare({ signal });
    const draft = new Draft(trees, await trees.read(root, { signal }));
    await putFile(file, UNKNOWN_CONTENT, condition).apply(draft);
  };

  const commit = async (
    file: FilePath,
    content: FileContent,
    condition: WriteCondition | undefined,
    signal?: AbortSignal,
  ): Promise<FileEntry> => queue.run(putFile(file, content, condition), signal);

  return {
    async write(file, { body, size }, { condition, signal } = {}) {
      try {
        requireWritable(file);
        if (size !== undefined && size > MAX_FILE_BYTES) throw tooLarge();
        const content = await uploader.upload(body, {
          prepare: () => prepareWrite(file, condition, { signal }),
          checkSize: (actual) => requireSize(file, actual, size),
          signal,
        });
        return await commit(file, content, condition, signal);
      } finally {
        body.destroy();
      }
    },

    // GitHub removes blobs that no commit refers to, so `abort` has nothing to do.
    async stage({ body }, { signal } = {}) {
      const content = await uploader.upload(body, { prepare: async () => void (await prepare({ signal })), signal });
      return { commit: (file, _upload, { condition } = {}) => commit(file, content, condition), abort: async () => {} };
    },

    remove: (file, { ifMatch, signal } = {}) => queue.run(removeFile(file, ifMatch), signal),
    copy: async (from, to, { replace, signal }) => queue.run(copyFile(from, to, { replace }), signal),
    move: async (from, to, { replace, signal }) => queue.run(moveFile(from, to, { replace }), signal),
  };
}

/** Placeholder for a blob that does not exist yet. */
const UNKNOWN_CONTENT: FileContent = { sha: '', size: 0 };
