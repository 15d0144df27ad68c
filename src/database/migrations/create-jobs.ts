import type { Migration } from './migration.ts';

export const CREATE_JOBS: Migration = {
  name: 'create jobs',
  async up(db) {
    await db.schema
      .createTable('jobs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('input', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('owner', 'text')
      .addColumn('submitter', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('run_at', 'bigint', (column) => column.notNull())
      .addColumn('lease', 'text')
      .addColumn('lease_expires_at', 'bigint')
      .addColumn('cancel_requested', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('progress', 'text')
      .addColumn('result', 'text')
      .addColumn('failure', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('finished_at', 'bigint')
      .execute();
    await db.schema.createIndex('jobs_due').on('jobs').columns(['status', 'run_at']).execute();
    await db.schema.createIndex('jobs_of_owner').on('jobs').columns(['owner', 'created_at']).execute();
  },
};
