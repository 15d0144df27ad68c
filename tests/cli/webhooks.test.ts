import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCli } from '../../testing/cli.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

describe('holdall webhook', () => {
  let folder: string;
  let receiver: Receiver;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-cli-webhooks-'));
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const runIn = (state: string, ...args: string[]) =>
    runCli(args, { environment: { STATE_DIR: join(folder, state), WEBHOOK_NETWORKS: 'loopback' } });
  const run = (...args: string[]) => runIn('used', 'webhook', ...args);
  const runJson = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json');
    assert.deepEqual([code, stderr], [0, '']);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  it('does not create or migrate the database', async () => {
    const { code, stderr } = await run('list');
    assert.equal(code, 1);
    assert.match(stderr, /does not exist yet\. Start the service, or run "holdall database migrate"\.\n$/);
    await runIn('used', 'database', 'migrate');
    assert.equal((await run('list')).stdout, 'ID  URL  FOLDER  TYPES  STATE\n');
  });

  it('adds, changes, tests, pauses and removes a webhook', async () => {
    const added = await run('add', receiver.url, '--folder', 'photos', '--types', 'file.deleted, file.created');
    const [, id = assert.fail()] = /^Added the webhook (\S+)\. Its secret is shown only once/.exec(added.stderr) ?? [];
    const secret = added.stdout.trim();
    assert.match(secret, /^whsec_/);
    const [row = ''] = (await run('list')).stdout.split('\n').slice(1);
    assert.deepEqual(row.split(/ {2,}/), [id, receiver.url, '/photos/', 'file.created,file.deleted', 'enabled']);

    assert.equal((await run('test', id)).stdout, 'The endpoint accepted the message with 204.\n');
    const [received = assert.fail()] = receiver.received;
    receiver.verify(received, secret);
    const next = (await run('rotate-secret', id)).stdout.trim();
    receiver.respond = ({ response }) => void response.writeHead(500).end('broken');
    assert.deepEqual(await run('test', id), {
      code: 1,
      stdout: 'The endpoint responded with 500. Response: "broken"\n',
      stderr: '',
    });
    const [, second = assert.fail()] = receiver.received;
    for (const each of [secret, next]) receiver.verify(second, each);

    const { stdout } = await run('deliveries', id);
    assert.match(stdout, /^ID +TYPE +CREATED +STATUS +ATTEMPTS +LAST ERROR\n/);
    assert.ok(stdout.includes(`${second.id}  webhook.test`) && stdout.includes('The endpoint responded with 500.'));
    assert.partialDeepStrictEqual(await runJson('redeliver', id, second.id), { id: second.id, status: 'pending' });

    const changed = await runJson('set', id, '--types', '', '--description', 'Archive');
    assert.partialDeepStrictEqual(changed, { folder: 'photos/', types: null, description: 'Archive', owner: null });
    assert.equal((await run('disable', id)).stdout, `Disabled the webhook ${id}.\n`);
    assert.partialDeepStrictEqual(await runJson('set', id, '--folder', ''), { folder: '', disabledReason: 'user' });
    assert.match((await run('redeliver', id, second.id)).stderr, /^holdall: The webhook ".*" is disabled/);
    assert.partialDeepStrictEqual(await runJson('enable', id), { enabled: true });
    assert.deepEqual(await runJson('remove', id), { id, removed: true });
    assert.deepEqual(await runJson('list'), []);
  });

  it('reports invalid settings and unknown IDs in one line', async () => {
    for (const [args, error] of [
      [['add', 'https://10.0.0.1/'], /^holdall: The webhook URL "https:\/\/10\.0\.0\.1\/" has a private or reserved/],
      [['add', receiver.url, '--types', 'file.read'], /^holdall: The type of change "file\.read" does not exist\./],
      [['add', receiver.url, '--folder', 'a//b'], /^holdall: .*empty segment/],
      [['set', '0'], /^holdall: No change is given\./],
      [['enable', '0'], /^holdall: The webhook "0" does not exist\.\n$/],
      [['deliveries', '0'], /^holdall: The webhook "0" does not exist\.\n$/],
    ] as const) {
      const { code, stdout, stderr } = await run(...args);
      assert.ok(code > 0 && stdout === '', args.join(' '));
      assert.match(stderr, error);
    }
  });
});
