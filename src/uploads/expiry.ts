import { undefinedIfNotFound } from '../model/error.ts';
import type { Cancellable, Store } from '../model/store.ts';
import type { Upload, Uploads } from './uploads.ts';
import type { WriteLeases } from './write-lease.ts';

/** What removing an upload needs. */
export interface UploadParts {
  readonly table: Uploads;
  readonly leases: WriteLeases;
  readonly contents: Required<Pick<Store, 'createUpload' | 'openUpload'>>;
}

/** Removes an upload and its content. A request that writes it ends first. Repeating the call completes it. */
export async function removeUpload(
  { table, leases, contents }: UploadParts,
  { id }: Pick<Upload, 'id'>,
): Promise<void> {
  await leases.run(id, async () => {
    const content = await undefinedIfNotFound(contents.openUpload(id));
    await content?.remove();
    await table.remove(id);
  });
}

/** Removes all uploads that have expired. Returns their number. */
export async function expireUploads(parts: UploadParts, { signal }: Cancellable = {}): Promise<number> {
  let count = 0;
  for (;;) {
    const expired = await parts.table.expired();
    if (expired.length === 0) return count;
    for (const upload of expired) {
      signal?.throwIfAborted();
      await removeUpload(parts, upload);
      count++;
    }
  }
}
