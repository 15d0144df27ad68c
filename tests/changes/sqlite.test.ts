import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createSqlite } from '../../testing/migrated-database.ts';
import { testChanges } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-changes-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
testChanges('SQLite', () => createSqlite(join(folder, String(++count))));
