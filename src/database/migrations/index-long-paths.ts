import { type Kysely, sql } from 'kysely';
import type { Migration } from './migration.ts';

/** A byte that no namespace and no path contains. */
const SEPARATOR = sql.lit('\u0001');

/**
 * The B-tree of PostgreSQL holds no values of more than some 2,700 bytes, and paths on a disk have up to 4,096. Its hash
 * indexes have no limit, and queries compare paths only for equality. SQLite has no such limit.
 */
export const INDEX_LONG_PATHS: Migration = {
  name: 'index long paths',
  async up(db: Kysely<unknown>, { keyType }) {
    if (keyType === 'integer') return;
    const indexes = [
      ['links_of_path', 'links', 'path'],
      ['locks_by_path', 'locks', 'path'],
      ['locks_by_parent', 'locks', 'parent'],
      ['properties_by_parent', 'properties', 'parent'],
      ['properties_by_path', 'properties', 'path'],
    ] as const;
    for (const [name, table, column] of indexes) {
      await db.schema.dropIndex(name).execute();
      await db.schema.createIndex(name).on(table).using('hash').column(column).execute();
    }
    await db.schema.alterTable('properties').dropConstraint('properties_key').execute();
    await sql`
      alter table properties add constraint properties_key
      exclude using hash ((path || ${SEPARATOR} || namespace || ${SEPARATOR} || name) with =)
    `.execute(db);
  },
};
