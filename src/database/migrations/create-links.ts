import type { Migration } from './migration.ts';

export const CREATE_LINKS: Migration = {
  name: 'create links',
  async up(db) {
    await db.schema
      .createTable('links')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('token_hash', 'text', (column) => column.notNull().unique())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('permissions', 'text', (column) => column.notNull())
      .addColumn('label', 'text')
      .addColumn('creator', 'text')
      .addColumn('creator_name', 'text')
      .addColumn('password_hash', 'text')
      .addColumn('expires_at', 'bigint')
      .addColumn('max_downloads', 'bigint')
      .addColumn('downloads', 'bigint', (column) => column.notNull())
      .addColumn('max_uploads', 'bigint')
      .addColumn('uploads', 'bigint', (column) => column.notNull())
      .addColumn('max_upload_bytes', 'bigint')
      .addColumn('ask_sender', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute();
    await db.schema.createIndex('links_of_creator').on('links').columns(['creator_name', 'created_at', 'id']).execute();
    await db.schema.createIndex('links_newest').on('links').columns(['created_at', 'id']).execute();
    await db.schema.alterTable('changes').addColumn('link', 'text').execute();
  },
};
