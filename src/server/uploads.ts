import type { Logger } from 'pino';
import { Type } from 'typebox';
import type { Database } from '../database/database.ts';
import type { UploadService } from '../http/service.ts';
import type { ExpiryClock } from '../jobs/expiry-clock.ts';
import { defineKind, type JobKind } from '../jobs/job.ts';
import type { Store } from '../model/store.ts';
import { createDatabaseContents, DATABASE_LIMITS } from '../uploads/database-contents.ts';
import { expireUploads, removeOrphanedUploads } from '../uploads/expiry.ts';
import { Uploads } from '../uploads/uploads.ts';
import { WriteLeases } from '../uploads/write-lease.ts';

/** Milliseconds until another process can continue an upload whose process was killed. */
const LEASE_MS = 5_000;

/** Milliseconds that a request waits for the end of an earlier one. Longer than a lease. */
const WAIT_MS = 8_000;

const DAY_MS = 24 * 60 * 60_000;

/** Milliseconds between two removals of expired uploads. */
const EXPIRY_INTERVAL_MS = 60 * 60_000;

/** Maximum lifetime of a presigned URL of a part, in seconds. It has to last until the request begins. */
const MAX_PART_EXPIRES = 600;

export interface UploadSettings {
  /** Days until an unfinished upload expires. */
  readonly days: number;
  /** Bytes of the parts of the web UI. */
  readonly partBytes: number;
  /** Whether clients may send parts to the store itself. */
  readonly isDirect: boolean;
  /** Maximum lifetime of presigned URLs in seconds. */
  readonly presignExpires: number;
}

/** Creates what uploads in several requests need. Their content is in the database if the store can't receive it in parts. */
export function createUploads(
  database: Database,
  store: Store,
  { days, partBytes, isDirect, presignExpires }: UploadSettings,
): UploadService {
  const { createUpload, openUpload, presignParts } = store;
  const table = new Uploads(database, { lifetimeMs: days * DAY_MS, leaseMs: LEASE_MS });
  const leases = new WriteLeases(table, { leaseMs: LEASE_MS, waitMs: WAIT_MS });
  const expires = Math.min(presignExpires, MAX_PART_EXPIRES);
  const common = { table, leases, partBytes, direct: isDirect && presignParts ? { presignParts, expires } : undefined };
  if (createUpload && openUpload) return { ...common, maxBytes: undefined, contents: { createUpload, openUpload } };
  const { uploadBytes } = DATABASE_LIMITS;
  return { ...common, maxBytes: uploadBytes, contents: createDatabaseContents(database, store, DATABASE_LIMITS) };
}

/** What the expiry of uploads needs. */
export interface UploadExpiry {
  readonly uploads: UploadService;
  readonly store: Pick<Store, 'removeUploads'>;
  /** Days until an unfinished upload expires. */
  readonly days: number;
  readonly clock: Pick<ExpiryClock, 'advance'>;
  readonly logger: Pick<Logger, 'info'>;
}

/** Returns the kind of job that removes expired and orphaned uploads. */
export function createUploadExpiry({ uploads, store, days, clock, logger }: UploadExpiry): JobKind {
  return defineKind({
    name: UPLOAD_EXPIRY,
    input: Type.Object({}),
    intervalMs: EXPIRY_INTERVAL_MS,
    async run(_, { signal }) {
      const now = await clock.advance(UPLOAD_EXPIRY);
      if (!now) return { count: 0, orphaned: 0 };
      const count = await expireUploads(uploads, { before: now, signal });
      const orphaned = await removeOrphanedUploads(
        { table: uploads.table, store },
        { now, lifetimeMs: days * DAY_MS, signal },
      );
      if (count + orphaned > 0) logger.info({ count, orphaned }, 'Unfinished uploads expired');
      return { count, orphaned };
    },
  });
}

const UPLOAD_EXPIRY = 'expire-uploads';
