import assert from 'node:assert/strict';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { requirePrivatePaths } from '../../src/server/private-paths.ts';
import { SettingsError } from '../../src/settings/setting.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { mountBind } from '../faults/mounts.ts';

describe('A private path of the service', () => {
  it('is rejected inside the served folder, through any link', async (t) => {
    const base = await temporaryFolder(t);
    await mkdir(join(base, 'files', 'a'), { recursive: true });
    await mkdir(join(base, 'files', '.holdall'));
    await mkdir(join(base, 'outside'));
    await symlink('files', join(base, 'root'));
    await symlink('../files/a', join(base, 'outside', 'in'));
    await symlink('../../outside', join(base, 'files', 'a', 'out'));
    await symlink('files/a/out', join(base, 'through'));
    await symlink('circle', join(base, 'circle'));

    const problems = async (root: string, path: string): Promise<readonly string[]> => {
      const names = ['STATE_DIR', 'ACCESS_FILE', 'AUDIT_LOG', 'CACHE_DIR'];
      const settings = Object.fromEntries(names.map((name) => [name, join(base, path)]));
      const config = readConfig({ DISK_ROOT: join(base, root), ...settings });
      const result = await requirePrivatePaths(config).catch((error: unknown) => error);
      return result instanceof SettingsError ? result.problems : [];
    };
    for (const root of ['files', 'root']) {
      for (const path of [
        'files',
        'files/x',
        'files/missing/x',
        'root',
        'root/x',
        'outside/in',
        'outside/in/x',
        // A user with write access can replace the link.
        'files/a/out/x',
        'through/x',
        'files/.holdallx/x',
        'files/..x',
      ]) {
        assert.equal((await problems(root, path)).length, 4, `${path} in ${root}`);
      }
      for (const path of ['outside/x', 'filesx', 'x', 'files/.holdall', 'root/.holdall/x', 'circle/x', '.', '..']) {
        assert.deepEqual(await problems(root, path), [], `${path} in ${root}`);
      }
    }
    assert.equal((await problems('missing/root', 'missing/root/x')).length, 4);
    assert.deepEqual(await problems('missing/root', 'missing/x'), []);
  });

  it('is rejected inside the served folder, through another mount of the folder', async (t) => {
    const base = await temporaryFolder(t);
    const isRefused = async (DISK_ROOT: string, STATE_DIR: string) => {
      const config = readConfig({ DISK_ROOT: join(base, DISK_ROOT), STATE_DIR: join(base, STATE_DIR) });
      const refusal = await requirePrivatePaths(config).catch((error: unknown) => error);
      return refusal instanceof SettingsError;
    };
    await mkdir(join(base, 'files'));
    await mkdir(join(base, 'FILES'));
    assert.equal(await isRefused('files', 'FILES/x'), false);
    const reason = await mountBind(t, join(base, 'files'), join(base, 'bound'));
    if (reason) return t.skip(reason);
    assert.equal(await isRefused('files', 'bound/x'), true);
  });

  it('is checked only when it is a file and the store is a disk folder', async () => {
    const inRoot = { DISK_ROOT: '/', STATE_DIR: '/x' };
    await assert.rejects(requirePrivatePaths(readConfig(inRoot)), SettingsError);
    for (const AUDIT_LOG of ['stdout', 'off']) {
      await requirePrivatePaths(readConfig({ DISK_ROOT: process.cwd(), AUDIT_LOG }));
    }
    await requirePrivatePaths(
      readConfig({ ...inRoot, STORAGE_TYPE: 'github', GITHUB_OWNER: 'o', GITHUB_REPO: 'r', READ_ONLY: 'true' }),
    );
  });
});
