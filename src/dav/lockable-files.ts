import { Readable } from 'node:stream';
import { DatabaseFault } from '../database/engine.ts';
import type { Files } from '../files/files.ts';
import type { IncomingFile, UploadTarget } from '../files/upload.ts';
import { exists, isStoreError } from '../model/error.ts';
import { childFile, childFolder, type FilePath, type FolderPath, isFolder, isWithin, parentOf } from '../model/path.ts';
import { findObstacle, type Lock, type LockedChange, type LockHolder, lockedError } from './lock.ts';
import type { Locks } from './locks.ts';
import type { Properties } from './properties.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

export interface LockableFilesOptions {
  readonly locks: Locks;
  readonly properties: Properties;
  readonly holder: LockHolder;
  /** Called if the locks and properties of changed files could not be changed. The change itself succeeded. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds in which a lock is not checked again: most bodies are small and arrive faster. */
const CHECK_LIFETIME_MS = 100;

/**
 * The files of one user, without the changes that locks forbid: they throw `locked`. Locks end with their file or folder.
 * Properties follow it to copies and moves, and end with it. While the database is unavailable, files can be changed as
 * if nothing were locked; while it is only busy, changes fail. `Required` makes a new member of `Files` a type error here, also if it is optional.
 */
export class LockableFiles implements Required<Files> {
  readonly #files: Files;
  readonly #options: LockableFilesOptions;

  constructor(files: Files, options: LockableFilesOptions) {
    this.#files = files;
    this.#options = options;
  }

  requireUnlocked(...[file]: Args<'requireUnlocked'>) {
    return this.#requireUpload(file);
  }

  async upload(...[incoming, options]: Args<'upload'>) {
    let isNew: boolean | undefined;
    const watched: IncomingFile = {
      ...incoming,
      onOutcome(outcome) {
        isNew = !outcome.replaced;
        incoming.onOutcome?.(outcome);
      },
    };
    const checked = await this.#checked(watched).catch((error: unknown) => {
      // Nothing reads the body, so its failure would end the process.
      if (incoming.body instanceof Readable) incoming.body.destroy();
      throw error;
    });
    const file = await this.#files.upload(checked, options);
    if (isNew) await this.#afterwards(() => this.#options.properties.removeAll(file.path));
    return file;
  }

  async deleteFile(...[file, options]: Args<'deleteFile'>) {
    await this.#require({ path: file, isMember: true, isTree: false });
    await this.#files.deleteFile(file, options);
    await this.#end(file);
  }

  async renameFile(...[file, name, options]: Args<'renameFile'>) {
    await this.#requireMove(file, childFile(parentOf(file), name));
    const to = await this.#files.renameFile(file, name, options);
    await this.#moved(file, to);
    return to;
  }

  async copyFile(...[from, to, options]: Args<'copyFile'>) {
    await this.#requireArrival(to);
    await this.#requirePropertiesOf(from);
    const file = await this.#files.copyFile(from, to, options);
    await this.#copied(from, to);
    return file;
  }

  async moveFile(...[from, to, options]: Args<'moveFile'>) {
    await this.#requireMove(from, to);
    await this.#files.moveFile(from, to, options);
    await this.#moved(from, to);
  }

  async setModified(...[file, modified, options]: Args<'setModified'>) {
    await this.#require({ path: file, isMember: false, isTree: false });
    return this.#files.setModified(file, modified, options);
  }

  async createFolder(...[folder, options]: Args<'createFolder'>) {
    await this.#require({ path: folder, isMember: true, isTree: false });
    await this.#files.createFolder(folder, options);
  }

  async renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    await this.#requireMove(folder, childFolder(parentOf(folder), name));
    const to = await this.#files.renameFolder(folder, name, options);
    await this.#moved(folder, to);
    return to;
  }

  async deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    await this.#require({ path: folder, isMember: true, isTree: true });
    await this.#files.deleteFolder(folder, options);
    await this.#end(folder);
  }

  async copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    await this.#requireArrival(to);
    await this.#requirePropertiesOf(from);
    await this.#files.copyFolder(from, to, options);
    await this.#copied(from, to);
  }

  async moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    await this.#requireMove(from, to);
    await this.#files.moveFolder(from, to, options);
    await this.#moved(from, to);
  }

  restoreTrashed(...[id, options = {}]: Args<'restoreTrashed'>) {
    const permit = async (to: FilePath | FolderPath) => {
      await (options.rename ? this.#requireArrivalOrTaken(to) : this.#requireArrival(to));
      await options.permit?.(to);
    };
    return this.#files.restoreTrashed(id, { ...options, permit });
  }

  async restoreVersion(...[file, id, options]: Args<'restoreVersion'>) {
    await this.#requireUpload(file);
    return this.#files.restoreVersion(file, id, options);
  }

  async deleteVersions(...[file, options]: Args<'deleteVersions'>) {
    await this.#require({ path: file, isMember: false, isTree: false });
    return this.#files.deleteVersions(file, options);
  }

  list(...args: Args<'list'>) {
    return this.#files.list(...args);
  }

  stat(...args: Args<'stat'>) {
    return this.#files.stat(...args);
  }

  folderExists(...args: Args<'folderExists'>) {
    return this.#files.folderExists(...args);
  }

  space(...args: Args<'space'>) {
    return this.#files.space(...args);
  }

  read(...args: Args<'read'>) {
    return this.#files.read(...args);
  }

  download(...args: Args<'download'>) {
    return this.#files.download(...args);
  }

  downloadUrl(...args: Args<'downloadUrl'>) {
    return this.#files.downloadUrl(...args);
  }

  readCached(...args: Args<'readCached'>) {
    return this.#files.readCached(...args);
  }

  listTrash(...args: Args<'listTrash'>) {
    return this.#files.listTrash(...args);
  }

  findTrashed(...args: Args<'findTrashed'>) {
    return this.#files.findTrashed(...args);
  }

  purgeTrashed(...args: Args<'purgeTrashed'>) {
    return this.#files.purgeTrashed(...args);
  }

  emptyTrash(...args: Args<'emptyTrash'>) {
    return this.#files.emptyTrash(...args);
  }

  listVersions(...args: Args<'listVersions'>) {
    return this.#files.listVersions(...args);
  }

  statVersion(...args: Args<'statVersion'>) {
    return this.#files.statVersion(...args);
  }

  readVersion(...args: Args<'readVersion'>) {
    return this.#files.readVersion(...args);
  }

  downloadVersion(...args: Args<'downloadVersion'>) {
    return this.#files.downloadVersion(...args);
  }

  versionUrl(...args: Args<'versionUrl'>) {
    return this.#files.versionUrl(...args);
  }

  check(...args: Args<'check'>) {
    return this.#files.check(...args);
  }

  quota() {
    return this.#files.quota();
  }

  isPrivileged(...args: Args<'isPrivileged'>) {
    return this.#files.isPrivileged(...args);
  }

  isSizeCertain(...args: Args<'isSizeCertain'>) {
    return this.#files.isSizeCertain(...args);
  }

  maxPathBytes() {
    return this.#files.maxPathBytes();
  }

  /**
   * Returns an upload that fails if its destination is locked. A body can take hours to arrive, however small it is, so the
   * lock is checked again after it.
   */
  async #checked(incoming: IncomingFile): Promise<IncomingFile> {
    const { target, atEnd } = incoming;
    if (typeof target === 'function') {
      const findTarget = async (): Promise<UploadTarget> => {
        const found = await target();
        await (found.rename ? this.#requireNewFile(found.path) : this.#requireUpload(found.path));
        return found;
      };
      return { ...incoming, target: findTarget };
    }
    const checkedAt = performance.now();
    await this.#requireUpload(target.path);
    return {
      ...incoming,
      atEnd: async () => {
        await atEnd?.();
        if (performance.now() - checkedAt > CHECK_LIFETIME_MS) await this.#requireUpload(target.path);
      },
    };
  }

  /** Requires that a file can be written. If it is new, its parent folder changes too. */
  async #requireUpload(file: FilePath): Promise<void> {
    const change = { path: file, isMember: true, isTree: false };
    await this.#require(change, async () => ({ ...change, isMember: !(await exists(this.#files.stat(file))) }));
  }

  /**
   * Requires that a file can be added to the folder of a path, under that name or another one. A file of that name doesn't
   * change, so that its lock reveals nothing.
   */
  #requireNewFile(file: FilePath): Promise<void> {
    const added = { path: parentOf(file), isMember: false, isTree: false };
    return this.#require({ path: file, isMember: true, isTree: false }, async () => added);
  }

  /** Requires that a file or folder can appear at a path, and replace another one. */
  #requireArrival(to: FilePath | FolderPath): Promise<void> {
    return this.#require({ path: to, isMember: true, isTree: isFolder(to) });
  }

  /** Requires that a file or folder can appear at a path, or another name is tried because that one is taken. */
  #requireArrivalOrTaken(to: FilePath | FolderPath): Promise<void> {
    const arrival = { path: to, isMember: true, isTree: isFolder(to) };
    return this.#require(arrival, async () => {
      const isTaken = await (isFolder(to) ? this.#files.folderExists(to) : exists(this.#files.stat(to)));
      return isTaken ? { path: parentOf(to), isMember: false, isTree: false } : arrival;
    });
  }

  async #requireMove(from: FilePath | FolderPath, to: FilePath | FolderPath): Promise<void> {
    await this.#require({ path: from, isMember: true, isTree: isFolder(from) });
    await this.#requireArrival(to);
  }

  async #require(change: LockedChange, refine?: () => Promise<LockedChange>): Promise<void> {
    const { locks, holder } = this.#options;
    const created = (folder: FolderPath) => this.#firstMissing(folder, change.path);
    await requireUnlocked(locks, change, { holder, refine, created }).catch(ignoreOutage);
  }

  /** Returns the first folder below `folder` on the way to `path` if it does not exist, so that a change creates it. */
  async #firstMissing(folder: FolderPath, path: FilePath | FolderPath): Promise<FolderPath | undefined> {
    const child = path.slice(0, path.indexOf('/', folder.length) + 1) as FolderPath;
    return (await this.#files.folderExists(child)) ? undefined : child;
  }

  /** Ends the locks and properties of what was deleted. */
  async #end(path: FilePath | FolderPath): Promise<void> {
    const { locks, properties } = this.#options;
    await this.#afterwards(() => locks.removeAll(path));
    await this.#afterwards(() => properties.removeAll(path));
  }

  /** Requires that a copy can have the properties of its source. */
  async #requirePropertiesOf(from: FilePath | FolderPath): Promise<void> {
    const { properties, holder } = this.#options;
    await properties.requireCopy(from, holder.user).catch(ignoreOutage);
  }

  async #copied<Path extends FilePath | FolderPath>(from: Path, to: Path): Promise<void> {
    const { properties, holder } = this.#options;
    await this.#afterwards(() => properties.copyAll(from, to, holder.user));
  }

  /** Ends the locks of the source of a move, which stay behind (RFC 4918, section 7.6). The properties move along. */
  async #moved<Path extends FilePath | FolderPath>(from: Path, to: Path): Promise<void> {
    const { locks, properties } = this.#options;
    await this.#afterwards(() => locks.removeAll(from));
    await this.#afterwards(() => properties.moveAll(from, to));
  }

  async #afterwards(work: () => Promise<void>): Promise<void> {
    await work().catch(this.#options.onError);
  }
}

interface UnlockedOptions {
  readonly holder: LockHolder;
  /** Called only if a lock might forbid the change. Returns what changes exactly. */
  readonly refine?: (() => Promise<LockedChange>) | undefined;
  /** Returns the folder that the change creates directly in a folder above the parent of its path; undefined for none. */
  readonly created?: ((folder: FolderPath) => Promise<FolderPath | undefined>) | undefined;
}

/** Throws `locked` if a lock forbids a change. Throws `database-unavailable`. */
export async function requireUnlocked(
  locks: Locks,
  change: LockedChange,
  { holder, refine, created }: UnlockedOptions,
): Promise<void> {
  const found = await locks.concerning(change);
  if (found.length === 0) return;
  let obstacle = findObstacle(change, found, holder);
  if (obstacle && refine) obstacle = findObstacle(await refine(), found, holder);
  if (!obstacle && created && change.isMember) obstacle = await findObstacleAbove(change, found, { holder, created });
  if (obstacle) throw lockedError(change.path, obstacle, holder);
}

/** Returns the lock of a folder whose names a change adds to, by creating the missing parents of its path. */
async function findObstacleAbove(
  { path }: LockedChange,
  locks: readonly Lock[],
  { holder, created }: Required<Pick<UnlockedOptions, 'holder' | 'created'>>,
): Promise<Lock | undefined> {
  const parent = parentOf(path);
  for (const { path: folder } of locks) {
    if (!isFolder(folder) || folder === parent || !isWithin(parent, folder)) continue;
    const missing = await created(folder);
    const change = missing && { path: missing, isMember: true, isTree: false };
    const obstacle = change && findObstacle(change, locks, holder);
    if (obstacle) return obstacle;
  }
  return undefined;
}

/**
 * Returns undefined for the error of an unavailable database. Throws any other error, also that of a busy database: a user could
 * otherwise overload it to write under the locks of others.
 */
export function ignoreOutage(error: unknown): undefined {
  const isUnavailable = isStoreError(error) && (error.code === 'database-unavailable' || error.code === 'state-full');
  if (isUnavailable && !(error.cause instanceof DatabaseFault && !error.cause.isOutage)) return undefined;
  throw error;
}
