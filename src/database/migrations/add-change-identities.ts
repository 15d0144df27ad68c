import type { Migration } from './migration.ts';

export const ADD_CHANGE_IDENTITIES: Migration = {
  name: 'add change identities',
  async up(db) {
    await db.schema.alterTable('changes').addColumn('identity', 'text').execute();
  },
};
