/*
 * Processes that record changes, run jobs and send webhooks are killed while PostgreSQL has their rows: the tests that run on
 * SQLite in each run, with a process of its own for each.
 */

import { after, before, type TestContext } from 'node:test';
import { type SharedPostgres, sharePostgres } from '../../testing/servers/postgres.ts';
import { testChanges } from '../changes/contract.ts';
import { testJobs } from '../jobs/contract.ts';
import type { Need } from '../runner/needs.ts';
import { testWebhooks } from '../webhooks/contract.ts';

export const needs: readonly Need[] = ['postgres'];

let server: SharedPostgres;
before(async () => {
  server = await sharePostgres();
});
after(() => server.stop());

const create = async (t: TestContext) => ({ url: await server.lendDatabase(t), stateFolder: '/nowhere' });

testChanges('PostgreSQL', create);
testJobs('PostgreSQL', create);
testWebhooks('PostgreSQL', create);
