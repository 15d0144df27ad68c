import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { testDavTables } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-dav-'));
});
after(() => rm(folder, { recursive: true, force: true }));

testDavTables('SQLite', async () => ({ url: undefined, stateFolder: folder }));
