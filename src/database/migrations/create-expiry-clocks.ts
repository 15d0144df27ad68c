import type { Migration } from './migration.ts';

export const CREATE_EXPIRY_CLOCKS: Migration = {
  name: 'create expiry clocks',
  async up(db) {
    await db.schema
      .createTable('expiry_clocks')
      .addColumn('kind', 'text', (column) => column.primaryKey().notNull())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .execute();
  },
};
