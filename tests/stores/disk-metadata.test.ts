import assert from 'node:assert/strict';
import { chmod, chown, lstat, mkdir, open as openFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, silentLog, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['root'];

async function open(t: TestContext) {
  const root = await temporaryFolder(t);
  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  const metadataOf = async (path: string) => {
    const { mode, uid, gid } = await lstat(join(root, path));
    return [(mode & 0o7777).toString(8), uid, gid];
  };
  const plant = async (path: string, mode: number, uid = 1234, gid = 2345) => {
    await writeFile(join(root, path), 'old');
    await chown(join(root, path), uid, gid);
    await chmod(join(root, path), mode);
  };
  return { store, root, metadataOf, plant };
}

describe('A file on a disk that replaces another', { concurrency: true }, () => {
  for (const mode of [0o600, 0o755, 0o640]) {
    it(`keeps its mode ${mode.toString(8)}, owner and group`, async (t) => {
      const { store, metadataOf, plant } = await open(t);
      await plant('a', mode);
      const expected = [mode.toString(8), 1234, 2345];
      await store.write(file('a'), upload('1'), {});
      assert.deepEqual(await metadataOf('a'), expected);
      const { etag } = await store.write(file('a'), upload('2'), { keep: {} });
      await store.write(file('a'), upload('3'), { keep: {}, condition: { etag } });
      assert.deepEqual(await metadataOf('a'), expected);
      const { versions } = await store.listVersions(file('a'));
      await store.restoreVersion(file('a'), versions[0]?.id ?? assert.fail(), { keep: {} });
      assert.deepEqual(await metadataOf('a'), expected);
      await plant('other', 0o644, 0, 0);
      await store.copy?.(file('other'), file('a'), { replace: true });
      assert.deepEqual(await metadataOf('a'), expected);
    });
  }

  it('loses the setuid and setgid bits', async (t) => {
    const { store, metadataOf, plant } = await open(t);
    await plant('a', 0o6755);
    await store.write(file('a'), upload('new'), {});
    assert.deepEqual(await metadataOf('a'), ['755', 1234, 2345]);
  });
});

describe('A new file on a disk', () => {
  it('has the group of a folder with the setgid bit', async (t) => {
    const { store, root, metadataOf } = await open(t);
    await mkdir(join(root, 'shared'));
    await chown(join(root, 'shared'), 0, 2345);
    await chmod(join(root, 'shared'), 0o2775);
    await store.write(file('shared/a'), upload('a'), {});
    await store.write(file('shared/sub/b'), upload('b'), {});
    assert.deepEqual(
      [(await metadataOf('shared/a'))[2], (await metadataOf('shared/sub'))[2], (await metadataOf('shared/sub/b'))[2]],
      [2345, 2345, 2345],
    );
  });
});

describe('A copy on a disk', { concurrency: true }, () => {
  it('has the modes and groups of a folder and its files', async (t) => {
    const { store, root, metadataOf, plant } = await open(t);
    await mkdir(join(root, 'f/sub'), { recursive: true });
    await plant('f/sub/a', 0o640, 0);
    await chown(join(root, 'f/sub'), 0, 2345);
    await chmod(join(root, 'f/sub'), 0o2550);
    await chmod(join(root, 'f'), 0o700);
    await store.copyFolder?.(folder('f'), folder('g'), { replace: false });
    for (const path of ['', '/sub', '/sub/a'])
      assert.deepEqual(await metadataOf(`g${path}`), await metadataOf(`f${path}`));
    await store.copy?.(file('f/sub/a'), file('b'), { replace: false });
    assert.deepEqual(await metadataOf('b'), ['640', 0, 2345]);
  });

  it('of a sparse file is sparse, with the same bytes', async (t) => {
    const { store, root } = await open(t);
    await writeFile(join(root, 'a'), 'start');
    await truncate(join(root, 'a'), 20_000_000);
    {
      await using handle = await openFile(join(root, 'a'), 'r+');
      await handle.write('middle', 9_999_999);
    }
    await store.copy?.(file('a'), file('b'), { replace: false });
    const [source, copy] = [await stat(join(root, 'a')), await stat(join(root, 'b'))];
    assert.equal(copy.size, source.size);
    assert.ok(copy.blocks * 512 < 1_000_000, `${copy.blocks} blocks`);
    await using handle = await openFile(join(root, 'b'), 'r');
    const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 9_999_998);
    assert.equal(buffer.toString(), '\0middle\0');
  });
});
