import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { testAppTokens } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-app-tokens-'));
});
after(() => rm(folder, { recursive: true, force: true }));

testAppTokens('SQLite', async () => ({ url: undefined, stateFolder: folder }));
