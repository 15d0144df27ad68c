import type { Migration } from './migration.ts';

export const CREATE_APP_TOKENS: Migration = {
  name: 'create app tokens',
  async up(db) {
    await db.schema
      .createTable('app_tokens')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('token_hash', 'text', (column) => column.notNull().unique())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('owner_name', 'text', (column) => column.notNull())
      .addColumn('folder', 'text', (column) => column.notNull())
      .addColumn('permissions', 'text', (column) => column.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('app_tokens_of_owner')
      .on('app_tokens')
      .columns(['owner_name', 'created_at', 'id'])
      .execute();
    await db.schema.alterTable('jobs').addColumn('app_token', 'text').execute();
    await db.schema.alterTable('uploads').addColumn('app_token', 'text').execute();
  },
};
