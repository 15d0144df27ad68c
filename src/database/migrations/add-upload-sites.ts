import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const ADD_UPLOAD_SITES: Migration = {
  name: 'add upload sites',
  async up(db) {
    await db.schema.alterTable('uploads').addColumn('site', 'text').execute();
    await db.schema
      .createIndex('unfinished_uploads')
      .on('uploads')
      .columns(['owner', 'network', 'site'])
      .where(sql.ref('etag'), 'is', null)
      .execute();
  },
};
