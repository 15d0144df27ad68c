import type { Migration } from './migration.ts';

export const ADD_LINK_ITEMS: Migration = {
  name: 'add link items',
  async up(db) {
    // SQLite adds only one column at a time.
    for (const column of ['identity', 'removed_as', 'removed_from'] as const) {
      await db.schema.alterTable('links').addColumn(column, 'text').execute();
    }
    await db.schema.createIndex('links_of_path').on('links').columns(['path']).execute();
  },
};
