import { quoted, StoreError } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, FileEntry, Store, WriteCondition } from '../../model/store.ts';
import { requireSize } from '../../model/store-errors.ts';
import { RETRY_LATER_SECONDS } from '../network.ts';
import { type BlobCache, createBlobCache } from './blobs/blob-cache.ts';
import { createLargeObjects } from './blobs/large-objects.ts';
import { isGitSettings, requireWritable } from './branch/objects.ts';
import { createSnapshots, type Snapshots } from './branch/snapshots.ts';
import { createTrees } from './branch/trees.ts';
import { copyFile, moveFile, putFile, removeFile, type StoredBlob } from './commits/changes.ts';
import { createCommitQueue } from './commits/commit-queue.ts';
import { createDraft } from './commits/draft.ts';
import { createBegin } from './commits/first-commit.ts';
import { createTakeIn, type Place } from './commits/upload.ts';
import { createFolderOperations } from './folders.ts';
import { MAX_FILE_BYTES, tooLarge } from './host/errors.ts';
import { Host } from './host/host.ts';
import { createReader } from './read.ts';
import type { GitHubOptions } from './settings.ts';

/** Opens a branch of a repository on GitHub or on a GitHub Enterprise server. Every change is part of a commit. */
export function openGitHub(options: GitHubOptions): Store {
  const { log } = options;
  const host = new Host(options);
  const trees = createTrees(host, log);
  const snapshots = createSnapshots(host, trees, options);
  const begin = createBegin(host, snapshots, options);
  const queue = createCommitQueue(host, trees, snapshots, begin, options);
  const blobs = createBlobCache({ ...options.cache, warn: (message, details) => log.warn(message, details) });
  const largeObjects = createLargeObjects(host, blobs, options);
  const reader = createReader(host, trees, snapshots, blobs, largeObjects);

  /**
   * Checks the write and its condition before any bytes are sent to GitHub, so that an upload that must fail does so
   * early.
   */
  const prepare = async (place: Place | undefined, { signal }: Cancellable): Promise<void> => {
    queue.requireOpen();
    const { root } = await begin({ signal });
    if (place) {
      const draft = createDraft(trees, await trees.read(root, { signal }));
      await putFile(place.file, UNKNOWN_BLOB, place.condition).apply(draft);
    }
  };

  const put = async (file: FilePath, blob: StoredBlob, condition: WriteCondition | undefined, signal?: AbortSignal) =>
    queue.run(putFile(file, blob, condition), signal);

  const takeIn = createTakeIn(host, prepare);

  return {
    list: reader.list,
    stat: reader.stat,
    read: reader.read,

    async write(file, { body, size }, { condition, signal } = {}) {
      try {
        requireWritable(file);
        if (size !== undefined && size > MAX_FILE_BYTES) throw tooLarge();
        const checkSize = (actual: number) => requireSize(file, actual, size);
        const blob = await takeIn({ body, place: { file, condition }, checkSize }, { signal });
        return await put(file, blob, condition, signal);
      } finally {
        body.destroy();
      }
    },

    // GitHub removes blobs that no commit refers to, so `abort` has nothing to do.
    async stage({ body }, { signal } = {}) {
      const blob = await takeIn({ body }, { signal });
      return { commit: (file, _upload, { condition } = {}) => put(file, blob, condition), abort: async () => {} };
    },

    remove: (file, { ifMatch, signal } = {}) => queue.run(removeFile(file, ifMatch), signal),
    copy: async (from, to, { replace, signal }) => queue.run(copyFile(from, to, { replace }), signal),
    move: async (from, to, { replace, signal }) => queue.run(moveFile(from, to, { replace }), signal),
    ...createFolderOperations(queue, trees),

    async presign({ path }, { signal }) {
      const { file, snapshot, object } = await reader.find(path, { signal });
      const url = object
        ? await largeObjects.downloadUrl(object, { signal })
        : await host.downloadUrl(path, snapshot.head ?? options.branch, { signal });
      if (url === undefined) throw givesNoUrl(file);
      return url;
    },

    check: createCheck(host, snapshots, blobs, options),
    quota: () => host.quota(),
    isPrivileged: isGitSettings,

    async close() {
      await queue.close();
      await blobs.close();
      host.close();
    },
  };
}

/** Placeholder for a blob that does not exist yet. */
const UNKNOWN_BLOB: StoredBlob = { sha: '', size: 0 };

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
  let isKnown = false;
  return async (options = {}) => {
    if (!isKnown) {
      const { mayWrite, isArchived } = await host.describe(options);
      if (!readOnly) requireWriting(host.repository(), { mayWrite, isArchived });
      await blobs.check();
      isKnown = true;
    }
    await snapshots.latest(options);
  };
}

function requireWriting(
  repository: string,
  { mayWrite, isArchived }: { mayWrite: boolean; isArchived: boolean },
): void {
  const refuse = (what: string) => {
    throw new StoreError('unavailable', `${what}, or set READ_ONLY=true.`, { retryAfter: RETRY_LATER_SECONDS });
  };
  if (isArchived) refuse(`The repository ${repository} is archived and can't be written to: unarchive it`);
  if (!mayWrite) {
    refuse(
      `The token in GITHUB_TOKEN may not write to ${repository}: give it the permission "Contents: read and write"`,
    );
  }
}

function givesNoUrl({ path, size }: FileEntry): StoreError {
  const message = `The file ${quoted(path)} has ${size} bytes, and the host of the repository gives no URL to fetch it by.`;
  return new StoreError('too-large', message);
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
