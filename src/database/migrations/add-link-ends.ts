import type { Migration } from './migration.ts';

export const ADD_LINK_ENDS: Migration = {
  name: 'add link ends',
  async up(db) {
    await db.schema.alterTable('links').addColumn('ended', 'text').execute();
  },
};
