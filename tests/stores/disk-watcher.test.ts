import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import { chmod, mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Root } from '../../src/stores/disk/root.ts';
import { DiskWatcher, type DiskWatcherOptions } from '../../src/stores/disk/watcher.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

/** Watches a new folder. `seen` has the reported paths, and `?` for unknown changes. */
async function watchFolder(t: TestContext, options: Pick<DiskWatcherOptions, 'maxFolders'> = {}, folders = ['f/g']) {
  const path = await temporaryFolder(t);
  for (const folder of folders) await mkdir(join(path, folder), { recursive: true });
  const seen: string[] = [];
  const warnings: string[] = [];
  const ended = new AbortController();
  t.after(() => ended.abort());
  const watcher = new DiskWatcher(await Root.open(path, { threads: 4 }), {
    ...options,
    report: (paths) => void seen.push(...(paths ?? ['?'])),
    signal: ended.signal,
    log: { warn: (message) => void warnings.push(message) },
  });
  watcher.start();
  await until('the watches are set', () => seen.includes('?'));
  seen.length = 0;
  const untilSeen = (...paths: string[]) =>
    until(`${paths.join(', ')} are reported`, () => paths.every((each) => seen.includes(each)));
  return { path, seen, warnings, ended, untilSeen };
}

describe('The watcher of a disk', () => {
  it('reports files that appear, change, move and disappear, at any depth', async (t) => {
    const { path, seen, untilSeen } = await watchFolder(t);
    for (const name of ['a', 'f/b', 'f/g/c']) {
      await writeFile(join(path, name), 'one');
      await untilSeen(name);
      seen.length = 0;
      await writeFile(join(path, name), 'two');
      await untilSeen(name);
      seen.length = 0;
      await rename(join(path, name), join(path, `${name}2`));
      await untilSeen(name, `${name}2`);
      seen.length = 0;
      await unlink(join(path, `${name}2`));
      await untilSeen(`${name}2`);
      seen.length = 0;
    }
  });

  it('reports folders, and continues inside those that were created and moved', async (t) => {
    const { path, seen, untilSeen } = await watchFolder(t);
    await mkdir(join(path, 'new/inner'), { recursive: true });
    await untilSeen('new/');
    await writeFile(join(path, 'new/inner/a'), '');
    await untilSeen('new/inner/a');
    await rename(join(path, 'f'), join(path, 'new/moved'));
    await untilSeen('f/', 'new/moved/');
    await writeFile(join(path, 'new/moved/g/b'), '');
    await untilSeen('new/moved/g/b');
    assert.deepEqual(
      seen.filter((each) => each.startsWith('f/g')),
      [],
    );
    await rm(join(path, 'new'), { recursive: true });
    await untilSeen('new/');
  });

  it('ignores the permissions of folders, symbolic links to folders, and names that no path can have', async (t) => {
    const { path, seen, untilSeen } = await watchFolder(t, {}, ['f', '.holdall/temporary']);
    await chmod(join(path, 'f'), 0o700);
    await symlink('..', join(path, 'link'));
    await writeFile(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff])]), '');
    await writeFile(join(path, '.holdall/temporary/x'), '');
    await writeFile(join(path, 'last'), '');
    await untilSeen('last');
    assert.deepEqual(new Set(seen), new Set(['link', 'last']));
  });

  it('reports unknown changes if more happen at a time than the system can queue', async (t) => {
    const { path, seen, untilSeen } = await watchFolder(t);
    for (const name of ['a', 'b']) await writeFile(join(path, name), '');
    await untilSeen('a', 'b');
    seen.length = 0;
    // Synchronous, so that all events arrive together. The system queues 16,384 by default, and counts equal ones in a row once.
    for (let index = 0; index < 10_000; index++) for (const name of ['a', 'b']) chmodSync(join(path, name), 0o600);
    mkdirSync(join(path, 'late'));
    await untilSeen('?');
    seen.length = 0;
    await writeFile(join(path, 'late/a'), '');
    await untilSeen('late/a');
  });

  it('watches the folders near the root if there are too many, and logs that once', async (t) => {
    const { path, seen, warnings, untilSeen } = await watchFolder(t, { maxFolders: 3 }, ['a/deep', 'b/deep']);
    await writeFile(join(path, 'a/deep/x'), '');
    await writeFile(join(path, 'b/x'), '');
    await untilSeen('b/x');
    assert.ok(!seen.includes('a/deep/x'));
    await rm(join(path, 'a/deep'), { recursive: true });
    await untilSeen('a/deep/');
    assert.deepEqual(warnings.length, 1);
  });

  it('ends when the signal aborts', async (t) => {
    const { path, seen, ended } = await watchFolder(t);
    ended.abort();
    await writeFile(join(path, 'a'), '');
    const other = await watchFolder(t);
    await writeFile(join(other.path, 'a'), '');
    await other.untilSeen('a');
    assert.deepEqual(seen, []);
  });
});
