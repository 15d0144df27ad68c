import { type Kysely, sql } from 'kysely';
import type { Migration } from './migration.ts';

export const CREATE_LOCKS: Migration = {
  name: 'create locks',
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('locks')
      .addColumn('token', 'text', (column) => column.primaryKey().notNull())
      .addColumn('id', 'text', (column) => column.notNull().unique())
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('parent', 'text')
      .addColumn('scope', 'text', (column) => column.notNull())
      .addColumn('is_deep', 'integer', (column) => column.notNull())
      .addColumn('owner', 'text')
      .addColumn('username', 'text')
      .addColumn('timeout_seconds', 'integer', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('locks_by_path').on('locks').column('path').execute();
    await db.schema.createIndex('locks_by_parent').on('locks').column('parent').execute();
    await db.schema
      .createTable('lock_turns')
      .addColumn('id', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('turns', 'bigint', (column) => column.notNull())
      .execute();
    await sql`insert into lock_turns (id, turns) values (1, 0)`.execute(db);
    await db.schema
      .createTable('properties')
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('parent', 'text')
      .addColumn('namespace', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('xml', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('properties_key', ['path', 'namespace', 'name'])
      .execute();
    await db.schema.createIndex('properties_by_parent').on('properties').column('parent').execute();
  },
};
