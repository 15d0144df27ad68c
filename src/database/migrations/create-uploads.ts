import type { Migration } from './migration.ts';

export const CREATE_UPLOADS: Migration = {
  name: 'create uploads',
  async up(db) {
    await db.schema
      .createTable('uploads')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text')
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('type', 'text')
      .addColumn('size', 'bigint')
      .addColumn('modified', 'bigint')
      .addColumn('condition', 'text')
      .addColumn('metadata', 'text')
      .addColumn('etag', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('writer', 'text')
      .addColumn('writer_until', 'bigint')
      .addColumn('is_wanted', 'integer', (column) => column.notNull())
      .addColumn('is_committing', 'integer', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('uploads_of_owner').on('uploads').columns(['owner', 'created_at', 'id']).execute();
    await db.schema.createIndex('uploads_expiry').on('uploads').column('expires_at').execute();
  },
};
