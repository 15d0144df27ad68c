import type { AppTokensTable } from './app-tokens.ts';
import type { ChangeFeedTable, ChangesTable, ChangeWritersTable } from './changes.ts';
import type { ExpiryClocksTable } from './expiry-clocks.ts';
import type { JobsTable } from './jobs.ts';
import type { LinkFeedTable, LinksTable } from './links.ts';
import type { LocksTable, LockTurnsTable } from './locks.ts';
import type { MigrationsTable } from './migrations.ts';
import type { PropertiesTable } from './properties.ts';
import type { UploadChunksTable, UploadContentsTable } from './upload-contents.ts';
import type { UploadsTable } from './uploads.ts';
import type { WebhookDeliveriesTable, WebhooksTable } from './webhooks.ts';
import type { ZipChecksumsTable } from './zip-checksums.ts';

/** All tables. Each has a file in this folder. */
export interface Tables {
  readonly app_tokens: AppTokensTable;
  readonly change_feed: ChangeFeedTable;
  readonly change_writers: ChangeWritersTable;
  readonly changes: ChangesTable;
  readonly expiry_clocks: ExpiryClocksTable;
  readonly holdall_migrations: MigrationsTable;
  readonly jobs: JobsTable;
  readonly link_feed: LinkFeedTable;
  readonly links: LinksTable;
  readonly lock_turns: LockTurnsTable;
  readonly locks: LocksTable;
  readonly properties: PropertiesTable;
  readonly upload_chunks: UploadChunksTable;
  readonly upload_contents: UploadContentsTable;
  readonly uploads: UploadsTable;
  readonly webhook_deliveries: WebhookDeliveriesTable;
  readonly webhooks: WebhooksTable;
  readonly zip_checksums: ZipChecksumsTable;
}
