import type { JobsTable } from './jobs.ts';
import type { MigrationsTable } from './migrations.ts';

/** All tables. Each has a file in this folder. */
export interface Tables {
  readonly holdall_migrations: MigrationsTable;
  readonly jobs: JobsTable;
}
