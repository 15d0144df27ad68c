import type { Migration } from './migration.ts';

export const ADD_UPLOAD_NETWORKS: Migration = {
  name: 'add upload networks',
  async up(db) {
    await db.schema.alterTable('uploads').addColumn('network', 'text').execute();
  },
};
