import { lstat, opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type BoundedItem, ownerOf, SizeBound } from '../../files/size-bound.ts';
import { isExpired } from '../../model/clock.ts';
import { isStoreError, StoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, type FolderPath, isFolder, ROOT } from '../../model/path.ts';
import type { Cancellable, ExpiredVersions } from '../../model/store.ts';
import { syncNames } from '../../system.ts';
import { toStoreError } from './errors.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';
import { removeTree } from './trees.ts';
import { fileOfHistory, historyOf, mirrorOf, parseClaimName, parseVersionName } from './version-names.ts';
import type { DiskVersions } from './versions.ts';

/** A version on the disk. */
interface StoredVersion extends BoundedItem {
  readonly path: string;
  readonly name: string;
}

/** Names that are read in one call. The default of 32 makes large folders four times as slow. */
const READ_BUFFER_NAMES = 512;

/** Removes versions of any number of files. */
export class VersionExpiry {
  readonly #root: Root;
  readonly #versions: DiskVersions;
  readonly #temporary: Temporary;
  readonly #folder: string;

  /** `folder` is the absolute path of the folder with all versions. */
  constructor(root: Root, versions: DiskVersions, temporary: Temporary, folder: string) {
    this.#root = root;
    this.#versions = versions;
    this.#temporary = temporary;
    this.#folder = folder;
  }

  /** Fulfils the contract of `Store.purgeVersions`. */
  async purge(path: FilePath | FolderPath, { before, signal }: { before?: Date } & Cancellable): Promise<void> {
    const folder = isFolder(path) ? mirrorOf(this.#folder, path) : historyOf(this.#folder, path);
    try {
      if (!(await this.#hasFolder(folder))) return;
      if (before === undefined) return await this.#removeFolder(folder, path);
      await this.#visit(folder, { signal }, async (version) => {
        if (version.time < before) await unlink(version.path).catch(ignoreMissing);
      });
    } catch (error) {
      throw toStoreError(error, path);
    }
  }

  /** Fulfils the contract of `Store.expireVersions`. */
  async expire({
    before = new Date(0),
    maxBytes,
    signal,
  }: { before?: Date; maxBytes?: number } & Cancellable): Promise<ExpiredVersions> {
    await this.#root.requireOwnFolder(this.#folder);
    const bound = maxBytes === undefined ? undefined : new SizeBound(maxBytes);
    if (bound) {
      do {
        await this.#visit(this.#folder, { signal }, async (version) => {
          if (!isExpired(version.time, before)) bound.note(version);
        });
      } while (bound.decide());
    }
    const result = { removed: 0, remaining: 0, bytes: 0 };
    const undecided: StoredVersion[] = [];
    const remove = async ({ path }: StoredVersion) => {
      await unlink(path).catch(ignoreMissing);
      result.removed++;
    };
    await this.#visit(this.#folder, { signal }, async (version) => {
      const verdict = isExpired(version.time, before) ? 'remove' : (bound?.verdict(version) ?? 'keep');
      if (verdict === 'remove') return remove(version);
      if (verdict === 'undecided') undecided.push(version);
      result.remaining++;
      result.bytes += version.size;
    });
    // Ids, with which the names begin, sort the newest first.
    const newestFirst = undecided.toSorted((left, right) => (left.name < right.name ? -1 : 1));
    for (const version of bound?.choose(newestFirst) ?? []) {
      await remove(version);
      result.remaining--;
      result.bytes -= version.size;
    }
    return result;
  }

  /** Returns whether a folder exists. A file or link that replaced it, or one above it, contains no versions. */
  async #hasFolder(folder: string): Promise<boolean> {
    try {
      await this.#root.requireOwnFolder(folder);
      return (await lstat(folder).catch(ignoreMissing)) !== undefined;
    } catch (error) {
      if (isStoreError(error) && error.code === 'disk-error') return false;
      throw error;
    }
  }

  /**
   * Removes the folder with the versions of `path` durably. Moves it first, so that they disappear in one step. Those that
   * can't be removed return.
   */
  async #removeFolder(folder: string, path: FilePath | FolderPath): Promise<void> {
    const removed = await this.#temporary.name();
    try {
      await rename(folder, removed);
    } catch (error) {
      return ignoreMissing(error);
    }
    await syncNames(dirname(folder));
    await removeTree(removed).catch(async (error: unknown) => {
      // A newer version can have the folder now. The rest then remains a temporary folder, which a later sweep removes.
      await rename(removed, folder).catch(() => {});
      throw toStoreError(error instanceof StoreError ? error.cause : error, path);
    });
  }

  /** Calls `visit` with each version below a folder, and removes folders that are empty afterwards. */
  async #visit(
    folder: string,
    { signal }: Cancellable,
    visit: (version: StoredVersion) => Promise<void>,
  ): Promise<void> {
    signal?.throwIfAborted();
    const claims: string[] = [];
    const file = fileOfHistory(relative(this.#folder, folder));
    try {
      for await (const { name, parentPath } of await opendir(folder, { bufferSize: READ_BUFFER_NAMES })) {
        const path = join(parentPath, name);
        const parsed = parseVersionName(name);
        const stats = await lstat(path).catch(ignoreMissing);
        if (stats?.isDirectory()) await this.#visit(path, { signal }, visit);
        else if (parseClaimName(name) !== undefined) claims.push(name);
        else if (parsed && stats?.isFile()) {
          const owner = ownerOf(file ?? ROOT, parsed.user);
          await visit({ path, name, owner, time: parsed.time, size: stats.size });
        }
      }
    } catch (error) {
      return ignoreMissing(error);
    }
    if (file !== undefined && claims.length > 0) await this.#versions.finishInterrupted(file, claims);
    if (folder !== this.#folder) await rmdir(folder).catch(ignoreUsed);
  }
}

function ignoreMissing(error: unknown): undefined {
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return undefined;
  throw error;
}

function ignoreUsed(error: unknown): void {
  const code = systemErrorCode(error);
  if (code !== 'ENOTEMPTY' && code !== 'EEXIST') ignoreMissing(error);
}
