import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { testWebhooks } from './contract.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-webhooks-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
testWebhooks('SQLite', async () => ({ url: undefined, stateFolder: join(folder, String(++count)) }));
