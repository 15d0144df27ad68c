import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createSqlite } from '../../testing/migrated-database.ts';
import { testJobs } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-jobs-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
testJobs('SQLite', () => createSqlite(join(folder, String(++count))));
