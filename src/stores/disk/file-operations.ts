import type { BigIntStats } from 'node:fs';
import { lstat, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { isStoreError, quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, nameOf } from '../../model/path.ts';
import { type ByteRange, resolveRange } from '../../model/range.ts';
import type { Content, FileEntry, Store } from '../../model/store.ts';
import { alreadyExists, notFound, requireEtag, versionReplaced } from '../../model/store-errors.ts';
import { BufferedContent } from '../../streams/bodies.ts';
import { inParent, lookUpFile, renameToNew } from './atomic-rename.ts';
import { entryOf } from './entry.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { isSmall, readPart, streamOf } from './read.ts';
import type { RecentFile } from './recent-files.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';
import { copyOpenFile, type Writer } from './write.ts';

type FileOperations = Required<Pick<Store, 'stat' | 'read' | 'readCached' | 'remove' | 'copy' | 'move'>>;

/** Maximum attempts of a move that concurrent changes interrupt. */
const MOVE_ATTEMPTS = 5;

/** Creates the operations on existing files. */
export function createFileOperations(root: Root, temporary: Temporary, writer: Writer): FileOperations {
  /** Returns whether both paths are spellings of one name, which the file system treats as equal. */
  const isRespelled = (from: FilePath, to: FilePath) =>
    from !== to && root.names.certain(from) === root.names.certain(to);

  return {
    async stat(path) {
      const recent = await root.recent.find(path);
      if (recent) return recent.file;
      await using opened = await root.openFile(path);
      const file = entryOf(path, opened.stats);
      root.recent.note(path, opened.stats, { file });
      return file;
    },

    async read(path, { range, ifMatch } = {}) {
      const recent = await root.recent.find(path);
      if (recent?.bytes) return contentOf(recent.file, recent.bytes, { range, ifMatch });
      const opened = await root.openFile(path);
      let body: Readable | undefined;
      try {
        const file = entryOf(path, opened.stats);
        requireEtag(file, ifMatch);
        const resolved = range && resolveRange(range, file.size);
        // Never read beyond the reported size, even if another program is appending.
        const part = resolved ?? { start: 0, end: file.size - 1 };
        if (isSmall(part)) {
          const bytes = await readPart(opened, part);
          if (!resolved) root.recent.note(path, opened.stats, { file, bytes });
          return new BufferedContent(file, resolved, bytes);
        }
        body = streamOf(opened, part);
        return { file, range: resolved, body };
      } catch (error) {
        throw toStoreError(error, path);
      } finally {
        if (!body) await opened.close();
      }
    },

    readCached(path) {
      const recent = root.recent.find(path);
      return recent instanceof Promise ? recent.then(wholeOf) : wholeOf(recent);
    },

    remove: (file, { ifMatch } = {}) =>
      inParent(root, file, async (folder) => {
        const found = await folder.lookUp(nameOf(file));
        if (!found?.isFile()) throw notFound(file);
        requireEtag(entryOf(file, found), ifMatch);
        if (ifMatch === undefined) await unlink(folder.at(nameOf(file)));
        else await removeVersion(folder, file, ifMatch);
        await folder.sync();
      }),

    async copy(from, to, { replace, signal }) {
      if (isRespelled(from, to)) {
        throw new StoreError(
          'same-path',
          `The source ${quoted(from)} and the destination ${quoted(to)} are the same file: this file system ignores differences in spelling.`,
        );
      }
      const copy = await temporary.name();
      const condition = replace ? undefined : 'absent';
      try {
        await using source = await root.openFile(from);
        await writer.requirePossible(to, condition);
        const stats = await copyOpenFile(source, join(root.path, from), copy);
        signal?.throwIfAborted();
        return await writer.publish({ path: copy, stats }, to, { condition });
      } catch (error) {
        if (!replace && isStoreError(error, 'condition-failed')) throw alreadyExists(to, error);
        throw toStoreError(error, to);
      } finally {
        await rm(copy, { force: true });
      }
    },

    move: (from, to, { replace }) =>
      inParent(root, from, async (folder) => {
        for (let attempt = 1; ; attempt++) {
          const source = await folder.lookUp(nameOf(from));
          if (!source?.isFile()) throw notFound(from);
          await using target = await root.makeParent(to);
          // Another request moved the folder meanwhile, and the file with it. Both paths are then one name of the file.
          if (nameOf(from) === nameOf(to) && isSameFile(await folder.stats(), await target.stats()))
            throw notFound(from);
          try {
            const present = await lookUpFile(target, to);
            // An interrupted move leaves two names of one file. rename(2) does nothing for these; `renameToNew`
            // completes the move.
            if (isRespelled(from, to) || (replace && !isSameFile(present, source))) {
              await rename(folder.at(nameOf(from)), target.at(nameOf(to)));
            } else await renameToNew(folder.at(nameOf(from)), target.at(nameOf(to)), from, temporary);
          } catch (error) {
            const isTaken = systemErrorCode(error) === 'EEXIST';
            // The source, the destination or the destination folder changed meanwhile.
            const isLate = systemErrorCode(error) === 'ENOENT' || (isTaken && replace);
            if (isLate && attempt < MOVE_ATTEMPTS) continue;
            throw isTaken ? alreadyExists(to, error) : toStoreError(error, to);
          }
          await target.sync();
          await folder.sync();
          return;
        }
      }),
  };

  /**
   * Removes the file if it has the ETag `etag`. Renames it away before it checks the ETag, so that a newer version is
   * never removed.
   */
  async function removeVersion(folder: Folder, file: FilePath, etag: string): Promise<void> {
    const taken = await temporary.name();
    await rename(folder.at(nameOf(file)), taken);
    const version = entryOf(file, await lstat(taken, { bigint: true }));
    if (version.etag === etag) return unlink(taken);
    await temporary.recovery.restoreFile(taken, folder.at(nameOf(file)), file);
    throw versionReplaced(file);
  }
}

const isSameFile = (one: BigIntStats | undefined, other: BigIntStats): boolean =>
  one?.ino === other.ino && one.dev === other.dev;

const wholeOf = (recent: RecentFile | undefined): Content | undefined =>
  recent?.bytes && new BufferedContent(recent.file, undefined, recent.bytes);

/** Returns the content of a file, or a range of it, from its cached bytes. */
function contentOf(
  file: FileEntry,
  bytes: Buffer,
  { range, ifMatch }: { range?: ByteRange; ifMatch?: string },
): Content {
  requireEtag(file, ifMatch);
  const resolved = range && resolveRange(range, file.size);
  return new BufferedContent(file, resolved, resolved ? bytes.subarray(resolved.start, resolved.end + 1) : bytes);
}
