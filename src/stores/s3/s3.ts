import { GetObjectCommand, HeadBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { attachment } from '../../domain/attachment.ts';
import { isStoreError, StoreError } from '../../domain/error.ts';
import { servedType, UNKNOWN_TYPE } from '../../domain/media-type.ts';
import type { Cancellable, Store } from '../../domain/store.ts';
import { createTreeOperations } from '../../domain/tree-operations.ts';
import { type Bucket, connect } from './bucket.ts';
import { createCopier } from './copy.ts';
import { createEntries } from './entries.ts';
import { createFileOperations } from './files.ts';
import { createFolderOperations } from './folders.ts';
import { createLister, walkEntries } from './list.ts';
import { createReader } from './read.ts';
import { createRemover } from './remove.ts';
import type { S3Options } from './settings.ts';
import { createObjectTree } from './tree.ts';
import { createWriter } from './write.ts';

/** A bucket of any S3-compatible store. Nothing of ours is kept in it but the markers of folders. */
export function openS3(options: S3Options): Store {
  const bucket = connect(options);
  const entries = createEntries(options.publicUrl);
  const reader = createReader(bucket, entries);
  const copier = createCopier(bucket, options.copyLimit);
  const remover = createRemover(bucket, entries, reader.stat);
  const tree = createObjectTree(bucket, copier, remover, options.concurrency);

  return {
    list: createLister(bucket, entries),
    walk: (folder, walked = {}) => walkEntries(bucket, entries, folder, walked),
    ...reader,
    write: createWriter(bucket, entries, reader.stat),
    remove: remover.remove,
    ...createFolderOperations(bucket, copier, remover),
    ...createFileOperations(reader.stat, copier, remover, entries),
    ...createTreeOperations(tree),

    presign({ path, type }, { expires, download }) {
      const command = new GetObjectCommand({
        Bucket: bucket.name,
        Key: path,
        ResponseContentDisposition: download ? attachment(path) : undefined,
        // An object that others put there may have no type, or none that says anything.
        ResponseContentType: type === UNKNOWN_TYPE ? undefined : servedType(type),
      });
      return getSignedUrl(bucket.client, command, { expiresIn: expires });
    },

    check: (checked = {}) => check(bucket, checked),
    close: async () => bucket.client.destroy(),
  };
}

/** A look at the bucket; where it fails, a listing, whose answer says why: that of a HEAD has no room for it. */
async function check(bucket: Bucket, { signal }: Cancellable): Promise<void> {
  const head = new HeadBucketCommand({ Bucket: bucket.name });
  try {
    await bucket.ask({ signal }, (options) => bucket.client.send(head, options));
  } catch {
    const list = new ListObjectsV2Command({ Bucket: bucket.name, MaxKeys: 1 });
    try {
      await bucket.ask({ signal }, (options) => bucket.client.send(list, options));
    } catch (error) {
      if (!isStoreError(error, 'denied')) throw error;
      const message = `The object store refuses a look into the bucket ${bucket.name} to the access key in S3_ACCESS_KEY_ID: it needs s3:ListBucket.`;
      throw new StoreError('unavailable', message, { cause: error, retryAfter: 30 });
    }
  }
}
