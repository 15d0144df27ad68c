import type { Migration } from './migration.ts';

export const ADD_UPLOAD_OWNER_ENTRIES: Migration = {
  name: 'add upload owner entries',
  async up(db) {
    await db.schema
      .alterTable('uploads')
      .addColumn('owner_has_entry', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
