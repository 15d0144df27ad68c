/** The applied migrations. The highest version is the version of the database. */
export interface MigrationsTable {
  /** The position in the history, from 1. */
  readonly version: number;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly applied_at: number;
}
