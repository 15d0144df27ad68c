import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readEnvironmentFile } from '../../src/config/config.ts';
import { atEnd, type Owner, runHoldall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { send } from '../http/client.ts';
import { untilAllServe } from './serving.ts';

/** A command that starts Node.js in a folder. */
const inFolder = (folder: string): [string, ...string[]] => ['env', '-C', folder, process.execPath];

/** Writes an `.env` into a folder. If the command applied its NODE_OPTIONS, they would create a file `ran` there. */
async function plantEnvironment(folder: string, lines: readonly string[] = []): Promise<void> {
  await writeFile(
    join(folder, 'preload.cjs'),
    `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`,
  );
  await writeFile(join(folder, '.env'), [`NODE_OPTIONS=--require=${join(folder, 'preload.cjs')}`, ...lines].join('\n'));
}

describe('The .env file', () => {
  it('configures Holdall and its workers and sets no other variables', async (t) => {
    const folder = await temporaryFolder(t);
    await plantEnvironment(folder, ['READ_ONLY=true', 'MAX_CONNECTIONS=2', 'PATH=/nowhere', 'LD_PRELOAD=/nowhere']);
    const holdall = await startHoldall(t, { command: inFolder(folder), settings: { WORKERS: '2', HOLDALL_PROT: '1' } });
    assert.equal(
      holdall.printed().match(/^holdall: Unknown environment variable HOLDALL_PROT\. Did you mean /gm)?.length,
      1,
    );
    // Once: the workers don't read the file.
    assert.equal(holdall.printed().match(/^holdall: Ignoring LD_PRELOAD, NODE_OPTIONS, PATH in \.env, /gm)?.length, 1);
    assert.equal((await send(holdall.port, '/delete/x', { method: 'DELETE' })).status, 403);
    assert.equal(existsSync(join(folder, 'ran')), false);

    await t.test(
      'two workers at its MAX_CONNECTIONS close new connections, and accept connections again after some close',
      async (test) => {
        await untilAllServe(holdall);
        const held = new Set<Socket>();
        let closed = 0;
        for (let count = 0; count < 12; count++) {
          const socket = connect(holdall.port, '127.0.0.1');
          atEnd(test, () => socket.destroy());
          held.add(socket);
          socket.on('error', () => {});
          socket.once('close', () => {
            held.delete(socket);
            closed++;
          });
          socket.resume();
        }
        await until('the connections above the limit are closed', () => closed >= 8);
        assert.ok(held.size > 0 && held.size <= 4, `${held.size} are held.`);
        await until('the limit is logged', () =>
          holdall.log.some(({ msg, connections }) => String(msg).includes('MAX_CONNECTIONS') && connections === 2),
        );
        for (const socket of held) socket.destroy();
        await until('requests are served', () =>
          send(holdall.port, '/-/health/live').then(
            ({ status }) => status === 200,
            () => false,
          ),
        );
      },
    );
  });

  it('prevents the start when it is in the served folder, for any spelling of the paths and any content', async (t) => {
    const folder = await servedFolder(t);
    const root = join(folder, 'files');
    const starts: { cwd: string; settings: Record<string, string> }[] = [
      { cwd: join(root, 'sub'), settings: { DISK_ROOT: '../../link' } },
      { cwd: join(folder, 'elsewhere'), settings: { DISK_ROOT: root } },
    ];
    for (const { cwd, settings } of starts) {
      const ran = await runHoldall(t, { command: inFolder(cwd), settings });
      assert.equal(ran.code, 78);
      assert.match(
        ran.stderr,
        /^holdall: \.env is inside DISK_ROOT .*, so users who upload files could change the settings\. Start Holdall in a folder outside DISK_ROOT, /,
      );
      assert.equal(existsSync(join(root, 'ran')), false);
    }
  });

  it('is read when it is next to the served folder', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, '.env'), 'PRESIGN_EXPIRES=none');
    const ran = await runHoldall(t, { command: inFolder(folder), settings: { DISK_ROOT: './data' } });
    assert.match(ran.stderr, /PRESIGN_EXPIRES .*"none"/);
  });

  it('is parsed into known settings and ignored variables', async (t) => {
    const folder = await temporaryFolder(t);
    const path = join(folder, '.env');
    assert.equal(readEnvironmentFile(path), undefined);
    await writeFile(path, 'DISK_ROOT="/srv/a # b"\n# a comment\nexport PORT=1\nFOO=bar\n__proto__=x\ntoString=y\n');
    assert.deepEqual(readEnvironmentFile(path), {
      settings: { DISK_ROOT: '/srv/a # b', PORT: '1' },
      ignored: ['FOO', '__proto__', 'toString'].toSorted(),
    });
    await writeFile(path, '');
    assert.deepEqual(readEnvironmentFile(path), { settings: {}, ignored: [] });
  });
});

/** Creates a folder that contains a served folder with an `.env`, and links to both. */
async function servedFolder(t: Owner): Promise<string> {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'files');
  await mkdir(join(root, 'sub'), { recursive: true });
  await mkdir(join(folder, 'elsewhere'));
  // A file that a user uploads can't name another store.
  await plantEnvironment(root, ['STORAGE_TYPE=s3', 'DISK_ROOT=/srv/other']);
  await plantEnvironment(join(root, 'sub'));
  await symlink('files', join(folder, 'link'));
  await symlink(join(root, '.env'), join(folder, 'elsewhere', '.env'));
  return folder;
}
