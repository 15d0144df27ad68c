import { after, before, type TestContext } from 'node:test';
import { type SharedPostgres, sharePostgres } from '../../testing/servers/postgres.ts';
import type { Need } from '../runner/needs.ts';
import { testWebhooks } from './contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: SharedPostgres;
before(async () => {
  server = await sharePostgres();
});
after(() => server.stop());

const create = async (t: TestContext) => ({ url: await server.lendDatabase(t), stateFolder: '/nowhere' });

// tests/long/kills-postgres.test.ts kills processes, and sqlite.test.ts does so in each run.
testWebhooks('PostgreSQL', create, { kills: false });
