import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { assertSettings, LONGEST_STOP } from './settings.ts';

export const needs: readonly Need[] = ['systemd'];

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('The systemd unit', () => {
  let unit = '';
  before(async () => {
    unit = await readFile(join(ROOT, 'deploy/systemd/holdall.service'), 'utf8');
  });

  const values = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

  it('is valid for systemd and has a low exposure score', async (t) => {
    const file = join(await temporaryFolder(t), 'holdall.service');
    // With an existing Node.js and package, because systemd checks that they exist.
    const here = unit
      .replace('/usr/bin/node', process.execPath)
      .replace('/opt/holdall/node_modules/holdall/bin/holdall.js', join(ROOT, 'bin/holdall.js'));
    await writeFile(file, here);
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]);
    assert.equal(stdout + stderr, '');
    // The threshold on a scale from 0 (no privileges) to 100. The check fails above it.
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=15', '--no-pager', file]);
  });

  it('allows what V8 requires, and leaves time for a graceful shutdown', () => {
    // In a unit, a later line or another form of the same setting could revert an earlier one.
    assert.deepEqual(values('MemoryDenyWriteExecute'), []);
    assert.ok(Number(values('TimeoutStopSec')) >= LONGEST_STOP);
    assert.deepEqual(values('KillMode'), ['mixed']);
  });

  it('sets only existing settings', () => {
    assertSettings(values('Environment').flatMap((line) => line.split(' ').map((each) => each.replace(/=.*/, ''))));
  });

  it('runs as the user that the sysusers file creates', async () => {
    const [, user] = /^u (\S+) - /m.exec(await readFile(join(ROOT, 'deploy/systemd/holdall.sysusers'), 'utf8')) ?? [];
    assert.deepEqual([...values('User'), ...values('Group')], [user, user]);
  });
});
