import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { createAddressPolicy } from '../../src/webhooks/address-policy.ts';
import { Sender } from '../../src/webhooks/sender.ts';
import { createSecret } from '../../src/webhooks/signature.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { until } from '../../testing/until.ts';
import { webhookAt } from './webhook-at.ts';

it('The endpoint in the guide accepts each signed message once, and no other', async (t) => {
  const guide = await readFile(new URL('../../docs/how-to/webhooks.md', import.meta.url), 'utf8');
  const [, sample = assert.fail()] = /^```js\n(.*?)^```$/ms.exec(guide) ?? [];
  const port = await findFreePort();
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-endpoint-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'endpoint.mjs'), sample.replace('8081', String(port)));
  const secret = createSecret();
  const child = spawn(process.execPath, ['endpoint.mjs'], {
    cwd: folder,
    env: { WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => lines.push(line));
  const sender = new Sender({ addresses: createAddressPolicy(['loopback']) });
  const send = async (id: string, secrets: readonly string[]) => {
    const body = JSON.stringify({ type: 'file.created', data: { path: id } });
    const { response } = await sender.send({ ...webhookAt(`http://127.0.0.1:${port}/`), secrets }, { id, body });
    return response?.status;
  };
  await until('the endpoint listens', async () => (await send('msg_0', [createSecret()])) === 401);
  assert.equal(await send('msg_1', [secret]), 204);
  assert.equal(await send('msg_1', [secret]), 204);
  assert.equal(await send('msg_2', [createSecret(), secret]), 204);
  await until('both messages are printed', () => lines.length === 2);
  assert.deepEqual(lines, ['file.created msg_1', 'file.created msg_2']);
});
