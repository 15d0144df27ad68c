import { link, lstat, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemErrorCode } from '../../model/error.ts';
import { newKeptId } from '../../model/kept-ids.ts';
import { type FilePath, type FolderPath, nameOf } from '../../model/path.ts';
import { openDirHandle } from './folder.ts';
import type { Root } from './root.ts';
import { formatVersionName, historyOf } from './version-names.ts';

/** Logs events of the disk that fail no request. */
export interface DiskLog {
  warn(message: string, details: object): void;
  /** Logs an event after which the operator must act. */
  error(message: string, details: object): void;
}

export interface RecoveryFolderOptions {
  readonly root: Pick<Root, 'makeOwnFolder'>;
  /** Absolute path of the folder with the versions of replaced files. */
  readonly versions: string;
  readonly log: DiskLog;
  /** Returns a new name that identifies this process as its owner. */
  newName(): string;
}

/**
 * The folder `.holdall/recovered`. It contains folders while they are being replaced, and files and folders that could
 * not be restored to their path. Unlike temporary files, its content outlives the process: only the operation that
 * moved an item here, or the operator, removes it.
 */
export class RecoveryFolder {
  readonly path: string;
  readonly #options: RecoveryFolderOptions;

  constructor(path: string, options: RecoveryFolderOptions) {
    this.path = path;
    this.#options = options;
  }

  /** Returns a new path with the last segment `name`, in a new folder. */
  async reserve(name: string): Promise<string> {
    const folder = join(this.path, this.#options.newName());
    await this.#options.root.makeOwnFolder(folder);
    return join(folder, name);
  }

  /** Removes the folder of a reserved path that is unused. */
  async release(reserved: string): Promise<void> {
    // Errors are ignored: an empty folder is removed at the next start.
    await rmdir(dirname(reserved)).catch(() => {});
  }

  /**
   * Renames the file `moved` back to `target`, the absolute path of `path`. If another file has the name meanwhile,
   * `moved` becomes a version of it, unless that file is removed in the same moment. A file that can't be restored is moved
   * to this folder.
   */
  async restoreFile(moved: string, target: string, path: FilePath | FolderPath): Promise<void> {
    try {
      await this.#restoreFile(moved, target, path);
    } catch (error) {
      await this.#receive(moved, path, error);
    }
  }

  /**
   * Renames the folder `moved` back to `target`, the absolute path of `path`, or merges into a newer folder, like
   * `restoreFolder`. What can't be restored is moved to this folder.
   */
  async returnFolder(moved: string, target: string, path: FolderPath): Promise<void> {
    try {
      await this.#restoreFolder(Buffer.from(moved), Buffer.from(target), path);
    } catch (error) {
      await this.#receive(moved, path, error);
    }
  }

  async #receive(moved: string, path: FilePath | FolderPath, error: unknown): Promise<void> {
    const reserved = await this.reserve(nameOf(path));
    await rename(moved, reserved);
    this.#reportUnrestored(path, reserved, error);
  }

  /**
   * Renames the folder at `reserved` back to `target`, the absolute path of `path`. If another folder has the name
   * meanwhile, merges into it: its own files remain, and replaced ones become versions. What can't be restored stays at
   * `reserved`.
   */
  async restoreFolder(reserved: string, target: string, path: FolderPath): Promise<void> {
    try {
      await this.#restoreFolder(Buffer.from(reserved), Buffer.from(target), path);
      await this.release(reserved);
    } catch (error) {
      this.#reportUnrestored(path, reserved, error);
    }
  }

  async #restoreFile(moved: string | Buffer, target: string | Buffer, path: string): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      if (await renamedBack(moved, target)) return;
      if (await this.#keptAsVersion(moved, target, path)) return;
    }
    throw repeatedlyTaken(target);
  }

  /**
   * Makes the file `moved` a version of the newer file `target`. Returns false, and leaves `moved` in place, if `target`
   * was removed meanwhile. Rejects if either is not a regular file.
   */
  async #keptAsVersion(moved: string | Buffer, target: string | Buffer, path: string): Promise<boolean> {
    if (!(await lstat(moved)).isFile()) throw new Error(`${String(moved)} is not a regular file.`);
    const newer = await lstat(target).catch(undefinedIfMissing);
    if (!newer) return false;
    if (!newer.isFile()) throw new Error(`${String(target)} is not a regular file.`);
    const history = historyOf(this.#options.versions, path.replace(/\/$/, '') as FilePath);
    await this.#options.root.makeOwnFolder(history);
    const version = join(history, formatVersionName(newKeptId(), undefined));
    await rename(moved, version);
    if (await isPresent(target)) return true;
    // Without a file at its path, users would not find the version.
    await rename(version, moved);
    return false;
  }

  async #restoreFolder(moved: Buffer, target: Buffer, path: FolderPath): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      try {
        return await rename(moved, target);
      } catch (error) {
        if (!isNameInUse(error)) throw error;
      }
      try {
        await this.#mergeFolders(moved, target, path);
        return await rmdir(moved);
      } catch (error) {
        // The newer folder was removed meanwhile, so its name is free.
        if (systemErrorCode(error) !== 'ENOENT' || (await isPresent(target))) throw error;
      }
    }
    throw repeatedlyTaken(target);
  }

  async #mergeFolders(moved: Buffer, target: Buffer, path: FolderPath): Promise<void> {
    await using from = await openDirHandle(moved);
    await using to = await openDirHandle(target);
    for (const child of await from.children()) {
      const [source, destination] = [from.at(child.name), to.at(child.name)];
      const childPath = `${path}${child.name.toString()}`;
      if (child.isDirectory()) await this.#restoreFolder(source, destination, `${childPath}/` as FolderPath);
      else await this.#restoreFile(source, destination, childPath);
    }
  }

  #reportUnrestored(path: FilePath | FolderPath, recovered: string, error: unknown): void {
    this.#options.log.error('An item could not be restored to its path and is kept in the recovery folder.', {
      path,
      recovered,
      err: error,
    });
  }

  /**
   * Logs the number of items that ended processes left here. `isOrphaned` returns whether the process that owns a name
   * in this folder has ended.
   */
  async reportOrphans(isOrphaned: (name: string) => Promise<boolean>): Promise<void> {
    let items = 0;
    // The folder can have been replaced by a link.
    const isFolder = await lstat(this.path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    for (const name of isFolder ? await readdir(this.path).catch(ignoreMissing) : []) {
      if (await isOrphaned(name)) items += await countUnlessEmpty(join(this.path, name));
    }
    if (items === 0) return;
    const message = 'The recovery folder is not empty. Move its items to their paths, or delete them.';
    this.#options.log.error(message, { folder: this.path, items });
  }
}

/**
 * Maximum attempts to restore an item. An attempt fails if another program creates an item of the same name, and removes it
 * again, between two system calls.
 */
const MAX_ATTEMPTS = 100;

const repeatedlyTaken = (target: string | Buffer) =>
  new Error(`Other programs created and removed ${String(target)} ${MAX_ATTEMPTS} times meanwhile.`);

/** Renames a file, unless the name `target` is taken. */
async function renamedBack(moved: string | Buffer, target: string | Buffer): Promise<boolean> {
  try {
    await link(moved, target);
    await unlink(moved);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    if (!areLinksRefused(error)) throw error;
    if (await isPresent(target)) return false;
    await rename(moved, target);
    return true;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== 'ENOENT') throw error;
}

function ignoreMissing(error: unknown): string[] {
  if (systemErrorCode(error) === 'ENOENT') return [];
  throw error;
}

/** Removes a folder that is empty. Returns 1 if it is not. */
async function countUnlessEmpty(folder: string): Promise<0 | 1> {
  return rmdir(folder).then(
    () => 0,
    (error: unknown) => (systemErrorCode(error) === 'ENOENT' ? 0 : 1),
  );
}

const isPresent = (path: string | Buffer): Promise<boolean> => lstat(path).then(Boolean, () => false);

/** Returns whether a rename or link failed because the destination exists. */
export const isNameInUse = (error: unknown): boolean => NAME_IN_USE_CODES.has(systemErrorCode(error) ?? '');

const NAME_IN_USE_CODES = new Set(['EEXIST', 'ENOTEMPTY']);

/**
 * Returns whether the system refused a hard link: on file systems without hard links (FAT, some network file systems),
 * and on Linux for files of other users (`fs.protected_hardlinks`).
 */
export const areLinksRefused = (error: unknown): boolean => LINKS_REFUSED.has(systemErrorCode(error) ?? '');

const LINKS_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
