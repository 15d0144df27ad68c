import type { Migration } from './migration.ts';

export const CREATE_UPLOAD_CONTENTS: Migration = {
  name: 'create upload contents',
  async up(db, { bytesType }) {
    await db.schema
      .createTable('upload_contents')
      .addColumn('upload_id', 'text', (column) =>
        column.primaryKey().references('uploads.id').onDelete('cascade').notNull(),
      )
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('written', 'bigint', (column) => column.notNull())
      .addColumn('writer', 'text')
      .addColumn('is_committing', 'integer', (column) => column.notNull())
      .addColumn('is_ended', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('upload_chunks')
      .addColumn('upload_id', 'text', (column) =>
        column.references('upload_contents.upload_id').onDelete('cascade').notNull(),
      )
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('bytes', bytesType, (column) => column.notNull())
      .addPrimaryKeyConstraint('upload_chunks_key', ['upload_id', 'position'])
      .execute();
  },
};
