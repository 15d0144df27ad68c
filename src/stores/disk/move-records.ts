import { createHash } from 'node:crypto';
import { lstat, mkdir, open, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFull, systemErrorCode } from '../../model/error.ts';
import { requireOwnFolder } from './own-folders.ts';

/** Milliseconds after which an interrupted move is not completed when it is requested again. */
const ORPHANED_AFTER_MS = 60 * 60 * 1000;

/**
 * Records of the moves that are in progress, in all processes: an empty file for each. A move that was interrupted leaves
 * two names of one file, as a hard link of a user does. Only its record tells them apart.
 */
export class MoveRecords {
  readonly #folder: string;

  /** `folder` is the absolute path. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Records a move. `move` identifies its file, source and destination. Resolves to whether a record of it exists already:
   * the move was interrupted, or another request makes it. On a full disk, resolves to false without a record, so
   * that files can be moved there: an interrupted move is then not completed.
   */
  async add(move: readonly string[]): Promise<boolean> {
    const create = async () => {
      await using _record = await open(this.#pathOf(move), 'wx', 0o600);
    };
    await requireOwnFolder(dirname(dirname(this.#folder)), this.#folder);
    for (;;) {
      try {
        await create();
        return false;
      } catch (error) {
        if (systemErrorCode(error) === 'EEXIST') return true;
        if (isDiskFull(error)) return false;
        if (systemErrorCode(error) !== 'ENOENT') throw error;
      }
      // Missing, or removed by the move of another request that ended.
      try {
        await mkdir(this.#folder, { mode: 0o700 });
      } catch (error) {
        if (isDiskFull(error)) return false;
        if (systemErrorCode(error) !== 'EEXIST') throw error;
      }
    }
  }

  /** Removes the record of a move that has ended. */
  async remove(move: readonly string[]): Promise<void> {
    await rm(this.#pathOf(move), { force: true });
    // Other moves are in progress, or have removed the folder.
    await rmdir(this.#folder).catch(() => {});
  }

  /** Removes the records if no move has begun for an hour. */
  async removeOrphans(): Promise<void> {
    const found = await lstat(this.#folder).catch(() => undefined);
    if (found?.isDirectory() && Date.now() - found.mtimeMs > ORPHANED_AFTER_MS)
      await rm(this.#folder, { recursive: true, force: true });
  }

  #pathOf(move: readonly string[]): string {
    return join(this.#folder, createHash('sha256').update(JSON.stringify(move)).digest('hex'));
  }
}
