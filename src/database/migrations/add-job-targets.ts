import type { Migration } from './migration.ts';

export const ADD_JOB_TARGETS: Migration = {
  name: 'add job targets',
  async up(db) {
    await db.schema.alterTable('jobs').addColumn('store', 'text').execute();
    await db.schema.alterTable('jobs').addColumn('target', 'text').execute();
  },
};
