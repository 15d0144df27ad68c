import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Migration } from './migration.ts';

export const CREATE_CHANGES: Migration = {
  name: 'create changes',
  async up(db, { keyType }) {
    await db.schema
      .createTable('changes')
      .addColumn('sequence', keyType, (column) => column.primaryKey())
      .addColumn('time', 'bigint', (column) => column.notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('path', 'text', (column) => column.notNull())
      .addColumn('source', 'text')
      .addColumn('size', 'bigint')
      .addColumn('etag', 'text')
      .addColumn('user_name', 'text')
      .execute();
    await db.schema
      .createTable('change_feed')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('last_sequence', 'bigint', (column) => column.notNull())
      .addColumn('last_time', 'bigint', (column) => column.notNull())
      .addColumn('expired_sequence', 'bigint', (column) => column.notNull())
      .execute();
    const key = randomBytes(16).toString('base64');
    await sql`insert into change_feed (id, key, last_sequence, last_time, expired_sequence)
      values (1, ${key}, 0, 0, 0)`.execute(db);
    await db.schema
      .createTable('change_writers')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};
