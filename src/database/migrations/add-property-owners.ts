import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const ADD_PROPERTY_OWNERS: Migration = {
  name: 'add property owners',
  async up(db) {
    await db.schema.alterTable('properties').addColumn('username', 'text').execute();
    await db.schema
      .alterTable('properties')
      .addColumn('length', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    await sql`update properties set length = length(xml)`.execute(db);
    // Both have the lengths, so that sums don't read the rows.
    await db.schema.createIndex('properties_by_user').on('properties').columns(['username', 'length']).execute();
    await db.schema.createIndex('properties_by_path').on('properties').columns(['path', 'length']).execute();
  },
};
