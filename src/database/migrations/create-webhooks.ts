import type { Migration } from './migration.ts';

export const CREATE_WEBHOOKS: Migration = {
  name: 'create webhooks',
  async up(db, { keyType }) {
    await db.schema
      .createTable('webhooks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('folder', 'text', (column) => column.notNull())
      .addColumn('types', 'text')
      .addColumn('description', 'text')
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('previous_secret', 'text')
      .addColumn('previous_secret_expires_at', 'bigint')
      .addColumn('owner', 'text')
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('disabled_reason', 'text')
      .addColumn('position_sequence', 'bigint', (column) => column.notNull())
      .addColumn('position_time', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('webhook_deliveries')
      .addColumn('sequence', keyType, (column) =>
        keyType === 'integer' ? column.primaryKey() : column.primaryKey().generatedByDefaultAsIdentity(),
      )
      .addColumn('id', 'text', (column) => column.notNull().unique())
      .addColumn('webhook_id', 'text', (column) => column.notNull().references('webhooks.id').onDelete('cascade'))
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('body', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('queued_at', 'bigint', (column) => column.notNull())
      .addColumn('next_attempt_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('attempted_at', 'bigint')
      .addColumn('duration_ms', 'bigint')
      .addColumn('response_status', 'integer')
      .addColumn('response_excerpt', 'text')
      .addColumn('error', 'text')
      .execute();
    await db.schema
      .createIndex('webhook_deliveries_of_webhook')
      .on('webhook_deliveries')
      .columns(['webhook_id', 'sequence'])
      .execute();
    await db.schema
      .createIndex('webhook_deliveries_due')
      .on('webhook_deliveries')
      .columns(['status', 'next_attempt_at'])
      .execute();
  },
};
