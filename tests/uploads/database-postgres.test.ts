import { after, before } from 'node:test';
import { type SharedPostgres, sharePostgres } from '../../testing/servers/postgres.ts';
import type { Need } from '../runner/needs.ts';
import { testDatabaseUploads } from './database-contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: SharedPostgres;
before(async () => {
  server = await sharePostgres();
});
after(() => server.stop());

testDatabaseUploads('PostgreSQL', async (owner) => ({
  url: await server.lendDatabase(owner),
  stateFolder: '/nowhere',
}));
