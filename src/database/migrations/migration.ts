import type { Kysely } from 'kysely';
import type { SqlDialect } from '../engine.ts';

/**
 * One step of the schema. Both engines run the same steps, in one transaction. A released migration never changes: it
 * names tables and columns as text instead of using the types of `tables/`, which describe the latest version.
 */
export interface Migration {
  readonly name: string;
  up(db: Kysely<unknown>, dialect: SqlDialect): Promise<void>;
}
