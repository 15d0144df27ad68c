import { after, before } from 'node:test';
import { startPostgres, type TestPostgres } from '../../testing/servers/postgres.ts';
import type { Need } from '../runner/needs.ts';
import { testDatabaseUploads } from './database-contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

testDatabaseUploads('PostgreSQL', async () => ({
  url: await server.createMigratedDatabase(),
  stateFolder: '/nowhere',
}));
