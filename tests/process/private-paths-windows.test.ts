import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { requirePrivatePaths } from '../../src/server/private-paths.ts';
import { SettingsError } from '../../src/settings/setting.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { mountFileSystemOfWindows } from '../faults/mounts.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['windows-file-systems'];

it('Holdall rejects a state folder inside the served folder under a different spelling', async (t) => {
  const base = await temporaryFolder(t);
  const isRefused = async (DISK_ROOT: string, STATE_DIR: string) => {
    const config = readConfig({ DISK_ROOT: join(base, DISK_ROOT), STATE_DIR: join(base, STATE_DIR) });
    return (await requirePrivatePaths(config).catch((error: unknown) => error)) instanceof SettingsError;
  };
  for (const kind of ['ntfs', 'exfat'] as const) {
    const reason = await mountFileSystemOfWindows(t, kind, {
      image: join(base, `${kind}.img`),
      folder: join(base, kind),
    });
    assert.equal(reason, undefined);
    await mkdir(join(base, kind, 'files', 'a'), { recursive: true });
    for (const path of ['FILES', 'Files/a/x', 'files/x']) {
      assert.equal(await isRefused(`${kind}/files`, `${kind}/${path}`), true, path);
    }
    for (const path of ['FILES/.HOLDALL/x', 'filesx', 'x']) {
      assert.equal(await isRefused(`${kind}/files`, `${kind}/${path}`), false, path);
    }
  }
});
