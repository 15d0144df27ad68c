import type { Migration } from './migration.ts';

export const CREATE_ZIP_CHECKSUMS: Migration = {
  name: 'create zip checksums',
  async up(db) {
    await db.schema
      .createTable('zip_checksums')
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('crc', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('zip_checksums_key', ['key', 'position'])
      .execute();
    await db.schema.createIndex('zip_checksums_created').on('zip_checksums').column('created_at').execute();
  },
};
