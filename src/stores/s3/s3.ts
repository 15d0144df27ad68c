import { createKeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { createItemwiseOperations } from '../../files/folder-operations.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import type { FolderPath } from '../../model/path.ts';
import { attachmentHeader, isDisplayable, presentationOf } from '../../model/presentation.ts';
import type { Bounded, Cancellable, Store } from '../../model/store.ts';
import { limitPaths } from '../layers/limit-paths.ts';
import { boundedTree } from './bounded-tree.ts';
import { type Bucket, openBucket, type S3Options } from './bucket.ts';
import { BucketVersions } from './bucket-versions.ts';
import { ConditionalPut } from './conditional-put.ts';
import { Copier } from './copy.ts';
import { bucketEndpoint } from './endpoint.ts';
import { createEntries, type Entries } from './entries.ts';
import { configurationError } from './errors.ts';
import { copyFile, createFolder, moveFile, removeFolder, restoreVersion } from './files.ts';
import { encodeKey, type Key, maxPathBytesOf } from './keys.ts';
import { Leases } from './lease.ts';
import { createLister } from './list.ts';
import { ObjectVersions } from './object-versions.ts';
import { headBucket, headTime, listObjects } from './operations.ts';
import { hideOwnFolder } from './own-folder.ts';
import { BucketUploads } from './pending-uploads.ts';
import { Reader } from './read.ts';
import { Remover } from './remove.ts';
import { Replacer } from './replace.ts';
import { keepReplacedFolders } from './replaced-folders.ts';
import { BucketTrash } from './trash.ts';
import { TrashDeletes } from './trash-deletes.ts';
import { createObjectTree } from './tree.ts';
import { VersionCopies } from './version-copies.ts';
import { walkEntries } from './walk.ts';
import { Writer } from './write.ts';

/**
 * Opens a bucket of any S3-compatible store. Holdall writes only the files of users, folder markers, and its own folder,
 * which holds the trash, the versions and unfinished uploads.
 */
export function openS3(options: S3Options): Store {
  const bucket = openBucket(options);
  const entries = createEntries(publicUrlOf(options));
  const { stat, read } = new Reader(bucket, entries);
  const puts = new ConditionalPut(bucket, stat);
  const remover = new Remover(bucket, entries, stat);
  const copier = new Copier(bucket, remover, puts, options.maxCopyBytes);
  const objects = new ObjectVersions(bucket);
  const versions = new BucketVersions(bucket, { objects, copies: new VersionCopies({ bucket, copier, remover }) });
  const locks = createKeyedMutex();
  const replacer = new Replacer(stat, versions, locks);
  const writer = new Writer(bucket, entries, puts, replacer);
  const context = { bucket, entries, stat, copier, remover, replacer };
  const writeOwn = openOwnObjects(bucket);
  const leases = new Leases({ bucket, write: writeOwn, leaseMs: options.leaseMs });
  const tree = createObjectTree(bucket, { copier, remover, leases, concurrency: options.concurrency });
  const erase = async (prefix: Key) => {
    if (await versions.hasObjectVersions()) await objects.erase(prefix, {});
  };
  const trash = new BucketTrash({ context, tree, leases, locks, erase });
  const deletes = new TrashDeletes({ context, tree, leases, locks, trash });
  const transfersFrom = (from: FolderPath, { before }: Bounded) => {
    const bounded = boundedTree(tree, from, before);
    return keepReplacedFolders(createItemwiseOperations(bounded), { tree: bounded, trash, deletes, leases });
  };
  const uploads = new BucketUploads({ bucket, stat, puts, replacer, writer, writeOwn, erase });

  const store = hideOwnFolder({
    list: createLister(bucket, entries),
    walk: (folder, walkOptions = {}) => walkEntries(bucket, entries, folder, walkOptions),
    stat,
    read,
    write: writer.write,
    createUpload: (id, target, uploadOptions = {}) => uploads.create(id, target, uploadOptions),
    openUpload: (id, uploadOptions = {}) => uploads.open(id, uploadOptions),
    removeUploads: (orphaned) => uploads.removeOrphaned(orphaned),
    presignParts: (id, parts, partOptions) => uploads.presignParts(id, parts, partOptions),
    remove: remover.remove,
    createFolder: (folder, folderOptions = {}) => createFolder(context, folder, folderOptions),
    removeFolder: (folder, folderOptions = {}) => removeFolder(context, folder, folderOptions),
    copy: (from, to, copyOptions) => copyFile(context, from, to, copyOptions),
    move: (from, to, moveOptions) => moveFile(context, from, to, moveOptions),
    async now(timeOptions = {}) {
      return headTime(bucket, timeOptions);
    },
    removeTree: (folder, removeOptions) =>
      createItemwiseOperations(boundedTree(tree, folder, removeOptions?.before)).removeTree(folder, removeOptions),
    copyFolder: (from, to, copyOptions) => transfersFrom(from, copyOptions).copyFolder(from, to, copyOptions),
    moveFolder: (from, to, moveOptions) => transfersFrom(from, moveOptions).moveFolder(from, to, moveOptions),
    presign: createPresigner(bucket, entries, stat),
    check: createCheck(bucket),
    close: async () => bucket.client.close(),

    moveToTrash: (path, deleteOptions) => deletes.move(path, deleteOptions),
    async listTrash(listOptions = {}) {
      if (listOptions.cursor === undefined) await deletes.completeInterrupted(listOptions);
      return trash.list(listOptions);
    },
    findTrashed: (id, findOptions) => trash.find(id, findOptions),
    measureTrashed: async (id, findOptions) => (await trash.find(id, findOptions)).size ?? 0,
    restoreTrashed: (id, to, restoreOptions) => trash.restore(id, to, restoreOptions),
    purgeTrashed: (id, purgeOptions) => trash.purge(id, purgeOptions),

    listVersions: (file, listOptions = {}) => versions.list(file, listOptions),
    readVersion: (file, id, readOptions = {}) => versions.read(file, id, readOptions),
    restoreVersion: async (file, id, restoreOptions) =>
      restoreVersion(context, await versions.find(file, id, restoreOptions), file, restoreOptions),
    purgeVersions: (path, purgeOptions = {}) => versions.purge(path, purgeOptions),
    expireVersions: (expireOptions) => versions.expire(expireOptions),
  });
  return limitPaths(store, maxPathBytesOf(bucket));
}

/** Returns the function that writes Holdall's own objects, which are not remembered with the files of users. */
function openOwnObjects(bucket: Bucket): Store['write'] {
  const entries = createEntries(undefined);
  const { stat } = new Reader(bucket, entries);
  const replacer: Pick<Replacer, 'replace' | 'attributesOf'> = {
    replace: async (_file, { condition }, put) => put(condition),
    attributesOf: async () => ({}),
  };
  return new Writer(bucket, entries, new ConditionalPut(bucket, stat), replacer).write;
}

/** Returns the public URL of the served part of a bucket. */
function publicUrlOf({ publicUrl, prefix = '' }: S3Options): string | undefined {
  return publicUrl === undefined || prefix === '' ? publicUrl : `${publicUrl}/${encodeKey(prefix).slice(0, -1)}`;
}

function createPresigner(bucket: Bucket, entries: Entries, stat: Store['stat']): NonNullable<Store['presign']> {
  return async (file, { expires, download, purpose, signal }) => {
    // A file that the browser may display needs its stored media type. An attachment does not, which saves a request.
    const mayShow = !download && isDisplayable(file.path);
    const entry = mayShow && !entries.isTyped(file) ? await stat(file.path, { signal }) : file;
    const { type, displayKind } = presentationOf(entry, { download });
    // A signature is valid for one method only.
    const method = purpose === 'read' ? 'GET' : 'HEAD';
    const query = {
      'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
      // These values override the headers that are stored with the object.
      'response-content-disposition': displayKind === undefined ? attachmentHeader(file.path) : 'inline',
      'response-content-type': mayShow || entries.isTyped(entry) ? type : undefined,
      'x-id': method === 'GET' ? 'GetObject' : undefined,
    };
    return bucket.client.presign({ method, key: file.path, query }, expires);
  };
}

/**
 * Creates the check of the bucket. The first check is a listing: its error names the reason, and no other server sends
 * such a response. Later checks use the cheaper HeadBucket, and a listing if that fails.
 */
function createCheck(bucket: Bucket): (options?: Cancellable) => Promise<void> {
  let isKnown = false;
  const isReachable = (options: Cancellable) =>
    headBucket(bucket, options).then(
      () => true,
      () => false,
    );

  return async (options = {}) => {
    if (isKnown && (await isReachable(options))) return;
    try {
      await listObjects(bucket, { 'max-keys': '1' }, options);
      isKnown = true;
    } catch (error) {
      if (!isStoreError(error, 'denied')) throw error;
      throw configurationError(
        'list-permission-missing',
        `The object store denied listing the bucket ${quoted(bucket.name)} to ${bucket.accessKey}. Grant it s3:ListBucket.`,
        error,
      );
    }
  };
}

/** Returns the origins of the URLs of a bucket's objects: of presigned URLs, and of a public bucket. */
export function bucketOrigins(options: S3Options): readonly string[] {
  const urls = [bucketEndpoint(options).origin, options.publicUrl].filter((url) => url !== undefined);
  return [...new Set(urls.map((url) => new URL(url).origin))];
}
