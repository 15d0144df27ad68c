import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createSqlite } from '../../testing/migrated-database.ts';
import { testDatabaseUploads } from './database-contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-uploads-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
testDatabaseUploads('SQLite', () => createSqlite(join(folder, String(++count))));
