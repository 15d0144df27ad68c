import { quoted, StoreError } from '../../model/error.ts';
import { MAX_KEY_BYTES } from '../../model/path.ts';
import type { Cancellable, FileEntry, Store } from '../../model/store.ts';
import { limitPaths } from '../layers/limit-paths.ts';
import { LONG_RETRY_AFTER_SECONDS } from '../network.ts';
import { BlobCache } from './blobs/blob-cache.ts';
import { isPointerSize, LfsObjects } from './blobs/lfs.ts';
import { isGitSettings } from './branch/reserved-names.ts';
import { ServedFolder } from './branch/served-folder.ts';
import { Snapshots } from './branch/snapshots.ts';
import { Trees } from './branch/trees.ts';
import { BranchWatcher } from './branch/watcher.ts';
import { CommitQueue } from './commits/commit-queue.ts';
import { createFirstCommit } from './commits/push.ts';
import { createFileOperations, createReader } from './files.ts';
import { createFolderOperations, FolderMeter } from './folders.ts';
import { CommitLog } from './history/commit-log.ts';
import { FolderChanges } from './history/folder-changes.ts';
import { BranchTrash } from './history/trash.ts';
import { BranchVersions } from './history/versions.ts';
import { Host } from './host/host.ts';
import type { GitHubOptions } from './settings.ts';

/**
 * Opens a branch of a repository on GitHub or on a GitHub Enterprise server, or a folder of it. Every change is part of a
 * commit.
 */
export function openGitHub(options: GitHubOptions): Store {
  const { log } = options;
  const host = new Host(options);
  const trees = new Trees(host, log);
  const served = new ServedFolder(trees, options);
  const snapshots = new Snapshots(host, trees, served, options);
  const ensureFirstCommit = createFirstCommit(host, snapshots, options);
  const queue = new CommitQueue(host, trees, snapshots, ensureFirstCommit, options);
  const blobs = new BlobCache({ ...options.cache, warn: (message, details) => log.warn(message, details) });
  const lfs = new LfsObjects(host, blobs, options);
  const reader = createReader(host, trees, snapshots, blobs, lfs, served);
  const meter = new FolderMeter(trees);
  const commits = new CommitLog(host);
  const trash = new BranchTrash({ host, trees, snapshots, served, queue, log: commits, meter });
  const changes = new FolderChanges({ snapshots, trees, served, log: commits });
  const versions = new BranchVersions({ snapshots, served, queue, log: commits, reader });

  const store: Store = {
    list: reader.list,
    stat: reader.stat,
    read: reader.read,
    ...createFileOperations(host, trees, queue, ensureFirstCommit, served, versions),
    ...createFolderOperations(queue, meter),

    state: (stateOptions = {}) => changes.state(stateOptions),
    changeSince: (state, folder, changeOptions = {}) => changes.since(state, folder, changeOptions),

    moveToTrash: (path, deleteOptions) => trash.move(path, deleteOptions),
    listTrash: (listOptions = {}) => trash.list(listOptions),
    findTrashed: (id, findOptions = {}) => trash.find(id, findOptions),
    measureTrashed: (id, measureOptions = {}) => trash.measure(id, measureOptions),
    restoreTrashed: (id, to, restoreOptions = {}) => trash.restore(id, to, restoreOptions),

    listVersions: (file, listOptions = {}) => versions.list(file, listOptions),
    readVersion: (file, id, readOptions = {}) => versions.read(file, id, readOptions),
    restoreVersion: (file, id, restoreOptions) => versions.restore(file, id, restoreOptions),

    async presign({ path }, { signal }) {
      const { file, snapshot, object } = await reader.find(path, { signal });
      const url = object
        ? await lfs.downloadUrl(object, { signal })
        : await host.downloadUrl(served.fullPath(path), snapshot.head ?? options.branch, { signal });
      if (url === undefined) throw noDownloadUrl(file);
      return url;
    },

    check: createCheck(host, snapshots, blobs, options),
    quota: () => host.quota(),
    watch: (report, { signal }) =>
      void new BranchWatcher(snapshots, trees, served, { report, signal, pollMs: options.pollEvery }).run(),
    isPrivileged: (file) => isGitSettings(served.fullPath(file)),
    isSizeCertain: ({ size }) => !isPointerSize(size),

    async close() {
      // Otherwise, a commit that waits for the quota could delay the shutdown for minutes.
      host.stopWaiting();
      await queue.close();
      await blobs.close();
      host.close();
    },
  };
  return limitPaths(store, MAX_KEY_BYTES);
}

/**
 * Creates the health check. The first successful check verifies the repository, the token's permissions and the cache;
 * later ones only the branch.
 */
function createCheck(
  host: Host,
  snapshots: Snapshots,
  blobs: BlobCache,
  { readOnly }: GitHubOptions,
): (options?: Cancellable) => Promise<void> {
  let isVerified = false;
  return async (options = {}) => {
    if (!isVerified) {
      const { mayWrite, isArchived } = await host.describe(options);
      if (!readOnly) requireWriteAccess(host.repository(), { mayWrite, isArchived });
      await blobs.check();
      isVerified = true;
    }
    await snapshots.latest(options);
  };
}

function requireWriteAccess(
  repository: string,
  { mayWrite, isArchived }: { mayWrite: boolean; isArchived: boolean },
): void {
  const refuse = (what: string) => {
    throw new StoreError('store-not-writable', `${what}, or set READ_ONLY=true.`, {
      retryAfter: LONG_RETRY_AFTER_SECONDS,
    });
  };
  if (isArchived) refuse(`The repository ${repository} is archived and can't be written to. Unarchive it`);
  if (!mayWrite) {
    refuse(`The token in GITHUB_TOKEN can't write to ${repository}. Give it the permission "Contents: read and write"`);
  }
}

function noDownloadUrl({ path, size }: FileEntry): StoreError {
  const message = `The file ${quoted(path)} has ${size} bytes, and GitHub returns no download URL for it.`;
  return new StoreError('no-download-url', message);
}

/** Returns the origins of the download URLs that GitHub gives for files and for Git LFS objects. */
export function repositoryOrigins(apiUrl: string): readonly string[] {
  const { protocol, host, origin } = new URL(apiUrl);
  if (host === 'api.github.com') return GITHUB;
  // An Enterprise server uses its own hostname or subdomains of it ("Enabling subdomain isolation" in its
  // documentation). An IP address has no subdomains.
  const web = host.replace(/^api\./, '');
  const others = [web, `raw.${web}`, `media.${web}`].map((name) => `${protocol}//${name}`);
  return [...new Set([origin, ...others.filter((url) => URL.canParse(url))])];
}

/** Origins of github.com. The first is that of `download_url`, the others serve Git LFS objects. */
const GITHUB = [
  'https://raw.githubusercontent.com',
  'https://media.githubusercontent.com',
  'https://objects.githubusercontent.com',
  'https://github-cloud.githubusercontent.com',
  'https://github-cloud.s3.amazonaws.com',
];
