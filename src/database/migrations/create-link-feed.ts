import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const CREATE_LINK_FEED: Migration = {
  name: 'create link feed',
  async up(db) {
    await db.schema.alterTable('changes').addColumn('is_external', 'integer').execute();
    await db.schema
      .createTable('link_feed')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('sequence', 'bigint', (column) => column.notNull())
      .execute();
    // Links have followed the earlier changes when these were recorded.
    await sql`insert into link_feed (id, sequence) select 1, last_sequence from change_feed`.execute(db);
  },
};
