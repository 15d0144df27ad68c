import { constants } from 'node:fs';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDiskFull, StoreError } from '../../model/error.ts';
import { EXACT_NAMES, type NameComparison, UNKNOWN_NAMES } from '../../model/name-comparison.ts';
import { isFolder, ROOT } from '../../model/path.ts';
import type { Store, TrashStore, VersionStore } from '../../model/store.ts';
import { loadSigningKey } from '../local-folders.ts';
import { toStoreError } from './errors.ts';
import { DiskFileOperations } from './file-operations.ts';
import { DiskFolderOperations } from './folder-operations.ts';
import { identify } from './identity.ts';
import { createLister } from './list.ts';
import { DiskUploads } from './pending-uploads.ts';
import { DiskReader } from './read.ts';
import type { DiskLog } from './recovery.ts';
import { RESERVED_FOLDER, UPLOADS_FOLDER } from './reserved-names.ts';
import { Root, unusableRoot } from './root.ts';
import { DiskSpace } from './space.ts';
import { Staging } from './staging.ts';
import { openTemporary, type Temporary } from './temporary.ts';
import { DiskTrash } from './trash.ts';
import { VersionExpiry } from './version-expiry.ts';
import { versionsIn } from './version-names.ts';
import { DiskVersions } from './versions.ts';
import { DiskWatcher } from './watcher.ts';
import { DiskWriter } from './write.ts';

export interface DiskOptions {
  /** The folder to serve. Created if missing. */
  readonly root: string;
  /** The key that signs URLs and sessions. Default: a key stored in Holdall's own folder. */
  readonly signingKey?: Buffer | undefined;
  /** Size of libuv's thread pool (`UV_THREADPOOL_SIZE`). Default: 4 */
  readonly threads?: number;
  /** The place of the folder that another process of this service serves. */
  readonly place?: string | undefined;
  /** Logs problems that an operator should know and that fail no request. */
  readonly log: DiskLog;
}

export interface Disk {
  readonly store: Store & Required<TrashStore & VersionStore>;
  /** The key that signs URLs and sessions: the given key, or the stored one. */
  readonly signingKey: Buffer;
  /** Absolute path of the served folder. */
  readonly root: string;
  /** Identifies the served folder. */
  readonly place: string;
  /** Absolute path of Holdall's own folder inside the root. */
  readonly ownFolder: string;
  /** How the file system compares names. */
  readonly names: NameComparison;
}

/** Default size of libuv's thread pool. */
const DEFAULT_THREADS = 4;

/**
 * Opens a local folder as a store of plain files, which other programs can read and write too. Holdall's own files are
 * in one hidden folder inside it. Throws `denied` with a one-line message if the folder can't be used, and `store-unreachable`
 * if `place` is that of another folder.
 */
export async function openDisk({
  root: folder,
  signingKey,
  threads = DEFAULT_THREADS,
  place,
  log,
}: DiskOptions): Promise<Disk> {
  const root = await Root.open(folder, { threads, place });
  const ownFolder = join(root.path, RESERVED_FOLDER);
  const { temporary, key } = await openOwnFolder(ownFolder, { signingKey, root, log }).catch((error: unknown) => {
    throw unusableRoot(folder, error);
  });
  if (root.names === UNKNOWN_NAMES) {
    log.warn('The disk is full, so how it compares names is unknown. Free space, and restart the service.', {
      root: root.path,
    });
  } else if (root.names !== EXACT_NAMES) {
    const message =
      'The file system of DISK_ROOT ignores differences in spelling, such as upper and lower case. Grants are compared in the same way; see "File systems that ignore case" in docs/reference/access-file.md.';
    log.warn(message, { root: root.path });
  }
  for (const name of ['trash', 'versions', 'recovered', 'moves', UPLOADS_FOLDER]) {
    await root.requireOwnFolder(join(ownFolder, name)).catch((error: unknown) => {
      log.error("One of Holdall's folders can't be used.", { folder: join(ownFolder, name), err: error });
    });
  }
  const list = createLister(root, log);
  const space = new DiskSpace(root.path);
  const reader = new DiskReader(root);
  const versionsFolder = versionsIn(ownFolder);
  const versions = new DiskVersions(root, temporary, versionsFolder);
  const expiry = new VersionExpiry(root, versions, temporary, versionsFolder);
  const staging = new Staging(root, temporary);
  const writer = new DiskWriter({ root, temporary, staging, versions });
  const uploads = new DiskUploads({ root, temporary, staging, writer, ownFolder });
  const trash = new DiskTrash({ root, temporary, ownFolder, log });
  const files = new DiskFileOperations({ root, temporary, staging, writer, versions, trash });
  const folders = new DiskFolderOperations({ root, temporary, staging, trash, list, log });

  const store = {
    list,
    stat: (path) => reader.stat(path),
    read: (path, options = {}) => reader.read(path, options),
    readCached: (path) => reader.readCached(path),
    write: (path, upload, options = {}) => writer.write(path, upload, options),
    stage: (upload, options = {}) => writer.stage(upload, options),
    createUpload: (id, target) => uploads.create(id, target),
    openUpload: (id) => uploads.open(id),
    removeUploads: (options) => uploads.removeOrphaned(options),
    remove: (path, options = {}) => files.remove(path, options),
    copy: (from, to, options) => files.copy(from, to, options),
    move: (from, to, options) => files.move(from, to, options),
    setModified: (path, modified) => files.setModified(path, modified),
    createFolder: (path) => folders.createFolder(path),
    hasFolder: (path) => folders.exists(path),
    identify: (path) => identify(root, path),
    now: () => temporary.now(),
    space: ({ path = ROOT } = {}) => space.of(path),
    removeFolder: (path) => folders.removeFolder(path),
    removeTree: (path, options) => folders.removeTree(path, options),
    copyFolder: (from, to, options) => folders.copyFolder(from, to, options),
    moveFolder: (from, to, options) => folders.moveFolder(from, to, options),

    moveToTrash: (path, options) =>
      isFolder(path) ? folders.moveToTrash(path, options) : files.moveToTrash(path, options),
    listTrash: (options = {}) => trash.list(options),
    findTrashed: async (id) => (await trash.find(id)).item,
    measureTrashed: (id, options = {}) => trash.measure(id, options),
    restoreTrashed: (id, to, options = {}) =>
      isFolder(to) ? folders.restoreTrashed(id, to, options) : files.restoreTrashed(id, to, options),
    purgeTrashed: (id, options = {}) => trash.purge(id, options),

    listVersions: (file, options = {}) => versions.list(file, options),
    readVersion: (file, id, options = {}) => files.readVersion(file, id, options),
    restoreVersion: (file, id, options) => files.restoreVersion(file, id, options),
    purgeVersions: (path, options = {}) => expiry.purge(path, options),
    expireVersions: (limits) => expiry.expire(limits),

    watch: (report, { signal }) => new DiskWatcher(root, { report, signal, log }).start(),

    maxPathBytes: () => root.maxPathBytes,
    check: () => requireUsable(root, temporary),
    close: () => temporary.close(),
  } satisfies Store;

  return { store, signingKey: key, root: root.path, place: root.place, ownFolder, names: root.names };
}

/** Throws `unavailable` if the root was replaced or can't be written to. A full disk is usable: it can be read, and deletes free space. */
async function requireUsable(root: Root, temporary: Temporary): Promise<void> {
  await root.requireSame();
  const probe = await temporary.name();
  try {
    await access(root.path, constants.R_OK | constants.W_OK | constants.X_OK);
    await writeFile(probe, '');
  } catch (error) {
    if (isDiskFull(error)) return;
    const message = `The folder ${root.path} (DISK_ROOT) can't be written to.`;
    throw new StoreError('store-not-writable', message, { cause: toStoreError(error, ROOT), retryAfter: 5 });
  } finally {
    await rm(probe, { force: true });
  }
}

async function openOwnFolder(
  folder: string,
  { signingKey, root, log }: { signingKey: Buffer | undefined; root: Root; log: DiskLog },
) {
  const temporary = await openTemporary(folder, root, log);
  return { temporary, key: signingKey ?? (await loadSigningKey(folder)) };
}
