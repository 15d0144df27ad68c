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

/** Removes all uploads that expired before a time. Returns their number. */
export async function expireUploads(
  parts: UploadParts,
  { before, signal }: { readonly before: Date } & Cancellable,
): Promise<number> {
  let count = 0;
  for (;;) {
    const expired = await parts.table.expired(before);
    if (expired.length === 0) return count;
    for (const upload of expired) {
      signal?.throwIfAborted();
      await removeUpload(parts, upload);
      count++;
    }
  }
}

/** Milliseconds by which orphaned content outlasts the lifetime of uploads. */
const ORPHAN_MARGIN_MS = 30 * 24 * 60 * 60_000;

/**
 * Removes content in the store that no upload of the table has, because the database was lost or replaced. Only content
 * so old that every service has expired it: another service with its own database can use the same store. An upload that
 * begins is in the table before the store. Returns the number of removed uploads.
 */
export async function removeOrphanedUploads(
  { table, store }: { readonly table: Pick<Uploads, 'has'>; readonly store: Pick<Store, 'removeUploads'> },
  { now, lifetimeMs, signal }: { readonly now: Date; readonly lifetimeMs: number } & Cancellable,
): Promise<number> {
  const before = new Date(now.getTime() - lifetimeMs - ORPHAN_MARGIN_MS);
  const isOrphaned = async (id: string) => !(await table.has(id));
  return (await store.removeUploads?.({ before, isOrphaned, signal })) ?? 0;
}
