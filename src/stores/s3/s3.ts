import { HeadBucketCommand } from '@aws-sdk/client-s3';
import { createItemwiseOperations } from '../../files/folder-operations.ts';
import { isStoreError, StoreError } from '../../model/error.ts';
import { parseFile } from '../../model/path.ts';
import { attachmentHeader, isDisplayable, presentationOf } from '../../model/presentation.ts';
import type { Cancellable, Store } from '../../model/store.ts';
import { type Bucket, connect, type S3Options } from './bucket.ts';
import { createCopier } from './copy.ts';
import { createEntries } from './entries.ts';
import { createFileOperations } from './files.ts';
import { createLister, requestList } from './list.ts';
import { createReader } from './read.ts';
import { createRemover } from './remove.ts';
import { createFolderOperations, createObjectTree } from './tree.ts';
import { walkEntries } from './walk.ts';
import { createWriter } from './write.ts';

/** Opens a bucket of any S3-compatible store. Besides the files, Holdall writes only folder markers to it. */
export function openS3(options: S3Options): Store {
  const bucket = connect(options);
  const entries = createEntries(options.publicUrl);
  const reader = createReader(bucket, entries);
  const remover = createRemover(bucket, entries, reader.stat);
  const copier = createCopier(bucket, remover.removeObject, options.copyLimit);
  const tree = createObjectTree(bucket, copier, remover, options.concurrency);

  return {
    list: createLister(bucket, entries),
    walk: (folder, walked = {}) => walkEntries(bucket, entries, folder, walked),
    ...reader,
    write: createWriter(bucket, entries, reader.stat),
    remove: remover.remove,
    ...createFolderOperations(bucket, copier, remover),
    ...createFileOperations(reader.stat, copier, remover, entries),
    ...createItemwiseOperations(tree),

    async presign(file, { expires, download, purpose, signal }) {
      // A file that the browser may display needs its stored media type. An attachment does not, which saves a request.
      const mayShow = !download && isDisplayable(file.path);
      const entry = mayShow && !entries.isTyped(file) ? await reader.stat(file.path, { signal }) : file;
      const { type, displayKind } = presentationOf(entry, { download });
      // These values override the headers that are stored with the object.
      const answered = {
        disposition: displayKind === undefined ? attachmentHeader(file.path) : 'inline',
        type: mayShow || entries.isTyped(entry) ? type : undefined,
      };
      // A signature is valid for one method only.
      return bucket.objects.presign(purpose === 'read' ? 'GET' : 'HEAD', file.path, answered, expires);
    },

    check: createCheck(bucket),
    close: async () => bucket.close(),
  };
}

/**
 * Creates the check of the bucket. The first check is a listing: its error names the reason, and no other server sends
 * such a response. Later checks use the cheaper HeadBucket, and a listing if that fails.
 */
function createCheck(bucket: Bucket): (options?: Cancellable) => Promise<void> {
  let isKnown = false;

  const look = async ({ signal }: Cancellable): Promise<boolean> => {
    const head = new HeadBucketCommand({ Bucket: bucket.name });
    return bucket
      .ask({ signal }, (options) => bucket.client.send(head, options))
      .then(
        () => true,
        () => false,
      );
  };

  return async (options = {}) => {
    if (isKnown && (await look(options))) return;
    try {
      await requestList(bucket, { 'max-keys': '1' }, options);
      isKnown = true;
    } catch (error) {
      if (!isStoreError(error, 'denied')) throw error;
      const message = `The object store refuses a look into the bucket ${bucket.name} to the access key in S3_ACCESS_KEY_ID: it needs s3:ListBucket.`;
      throw new StoreError('list-permission-missing', message, { cause: error, retryAfter: 30 });
    }
  };
}

/**
 * Returns the origins of the URLs of a bucket's objects: of presigned URLs, and of a public bucket. Presigns a sample
 * URL, because only the AWS SDK client knows the hosts of all regions and addressing styles. Sends no request.
 */
export async function bucketOrigins({ presign }: Store, publicUrl: string | undefined): Promise<readonly string[]> {
  const urls = [await presign?.(SAMPLE, { expires: 1, download: false, purpose: 'read' }), publicUrl];
  return [...new Set(urls.filter((url) => url !== undefined).map((url) => new URL(url).origin))];
}

const SAMPLE = {
  kind: 'file',
  path: parseFile('sample'),
  size: 0,
  etag: '',
  modified: null,
  type: 'application/octet-stream',
} as const;
