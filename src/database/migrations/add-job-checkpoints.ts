import type { Migration } from './migration.ts';

export const ADD_JOB_CHECKPOINTS: Migration = {
  name: 'add job checkpoints',
  async up(db) {
    await db.schema.alterTable('jobs').addColumn('checkpoint', 'text').execute();
  },
};
