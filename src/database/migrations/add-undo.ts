import type { Migration } from './migration.ts';

export const ADD_UNDO: Migration = {
  name: 'add undo',
  async up(db) {
    await db.schema.alterTable('changes').addColumn('kept', 'text').execute();
    await db.schema.alterTable('changes').addColumn('undoes', 'bigint').execute();
  },
};
