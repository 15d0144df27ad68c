import type { Migration } from './migration.ts';

export const ADD_LOCK_APP_TOKENS: Migration = {
  name: 'add lock app tokens',
  async up(db) {
    await db.schema.alterTable('locks').addColumn('app_token', 'text').execute();
  },
};
