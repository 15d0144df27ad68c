import { after, before } from 'node:test';
import { type SharedPostgres, sharePostgres } from '../../testing/servers/postgres.ts';
import type { Need } from '../runner/needs.ts';
import { testJobs } from './contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: SharedPostgres;
before(async () => {
  server = await sharePostgres();
});
after(() => server.stop());

testJobs('PostgreSQL', async (t) => ({ url: await server.lendDatabase(t), stateFolder: '/nowhere' }));
