import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { expireKept } from '../../src/files/expiry.ts';
import { createTrashOperations } from '../../src/files/trash.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import type { FilePath, FolderPath } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { removeTree } from '../../src/stores/disk/trees.ts';
import { atEnd, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, pathsIn, silentLog, textOf, upload } from '../contract/bytes.ts';
import { mountBind, mountTmpfs } from '../faults/mounts.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['root'];

/** The two kinds of mounts: a bind mount of the same file system has the same device number. */
const MOUNTS = {
  'another file system': (t: TestContext, path: string) => mountTmpfs(t, path, 'size=8m'),
  'a bind mount of the same file system': async (t: TestContext, path: string) =>
    mountBind(t, await temporaryFolder(t), path),
};

const options = { replace: false };

describe('An item in the trash', () => {
  it('is not restored to another file system, and the error says that the trash is elsewhere', async (t) => {
    const root = await temporaryFolder(t);
    const { store } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    await store.write(file('a'), upload('1'));
    await store.write(file('f/b'), upload('2'));
    await mkdir(join(root, 'mount'));
    assert.equal(await mountTmpfs(t, join(root, 'mount'), 'size=1m'), undefined);
    const message = /^"mount\/x\/?" is on another file system than the trash/;
    for (const [path, to] of [[file('a'), file('mount/x')] as const, [folder('f'), folder('mount/x')] as const]) {
      const { id } = await store.moveToTrash(path, { id: newKeptId() });
      await assert.rejects(store.restoreTrashed(id, to), { code: 'other-file-system', message });
      await store.restoreTrashed(id, path);
    }
    assert.equal(await textOf(store, 'f/b'), '2');
  });
});

for (const [name, mount] of Object.entries(MOUNTS)) {
  describe(`A folder with ${name} mounted in it`, { concurrency: true }, () => {
    const open = async (t: TestContext) => {
      const root = await temporaryFolder(t);
      const path = join(root, 'f/the mount');
      await mkdir(path, { recursive: true });
      assert.equal(await mount(t, path), undefined);
      await writeFile(join(path, 'a'), 'old');
      const { store } = await openDisk({ root, log: silentLog });
      atEnd(t, () => store.close?.());
      const textsOf = async (of: string) => {
        const { versions } = await store.listVersions(file(of));
        return Promise.all(versions.map(async ({ id }) => (await store.readVersion(file(of), id)).bytes?.toString()));
      };
      return { store, root, path, textsOf };
    };

    it('is not deleted, moved or replaced, and the error names the mount point', async (t) => {
      const { store, root, path } = await open(t);
      await store.createFolder(folder('g'));
      const attempts = [
        () => store.removeTree?.(folder('f')),
        () => store.removeTree?.(folder('f/the mount')),
        () => store.moveToTrash(folder('f'), { id: newKeptId() }),
        () => store.moveFolder?.(folder('f'), folder('h'), options),
        () => store.moveFolder?.(folder('g'), folder('f'), { replace: true }),
        () => store.copyFolder?.(folder('g'), folder('f'), { replace: true, keep: {} }),
      ];
      for (const attempt of attempts) {
        await assert.rejects(async () => attempt(), { code: 'contains-mount', message: /f\/the mount/ });
      }
      assert.equal(await readFile(join(path, 'a'), 'utf8'), 'old');
      assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'f', 'g']);
      await assert.rejects(removeTree(join(root, 'f')), /mounted/);
      assert.equal(await readFile(join(path, 'a'), 'utf8'), 'old');
    });

    it('is not purged after the mount moved into the trash with it', async (t) => {
      const { store, root } = await open(t);
      await store.createFolder(folder('later'));
      const { id } = await store.moveToTrash(folder('later'), { id: newKeptId() });
      const inTrash = join(root, '.holdall/trash', id);
      assert.equal(await mount(t, inTrash), undefined);
      await writeFile(join(inTrash, 'a'), 'old');
      await assert.rejects(store.purgeTrashed(id), { code: 'contains-mount' });
      assert.equal(await readFile(join(inTrash, 'a'), 'utf8'), 'old');
    });

    it('remains in the trash when that expires or is emptied, and is named in the log', async (t) => {
      const root = await temporaryFolder(t);
      const warnings: object[] = [];
      const log = { ...silentLog, warn: (_: string, details: object) => void warnings.push(details) };
      const { store } = await openDisk({ root, log });
      atEnd(t, () => store.close?.());
      const trash = async (path: string) => {
        await store.createFolder(folder(path));
        return (await store.moveToTrash(folder(path), { id: newKeptId() })).id;
      };
      const idsInTrash = async () => (await store.listTrash()).items.map((item) => item.id);
      const [, id] = [await trash('older'), await trash('mounted'), await trash('newer')];
      assert.equal(await mount(t, join(root, '.holdall/trash', id)), undefined);
      const { trashed } = await expireKept(
        store,
        { trash: { days: 1, maxBytes: undefined }, versions: undefined },
        {},
        Date.now() + 7 * 86_400_000,
      );
      assert.deepEqual([trashed, await idsInTrash()], [2, [id]]);
      await trash('last');
      await assert.rejects(createTrashOperations(store).emptyTrash(), { code: 'contains-mount', message: /"mounted/ });
      assert.deepEqual(await idsInTrash(), [id]);
      assert.deepEqual(
        warnings.map((each) => 'id' in each && each.id),
        [id, id],
      );
    });

    it('accepts uploads, replacements and conditional writes, and keeps versions', async (t) => {
      const { store, path, textsOf } = await open(t);
      await store.write(file('f/the mount/new/b'), upload('b'), {});
      await store.write(file('f/the mount/c'), upload('c'), { condition: 'absent' });
      await store.write(file('f/the mount/a'), upload('1'), {});
      const { etag } = await store.write(file('f/the mount/a'), upload('2'), { keep: {} });
      await store.write(file('f/the mount/a'), upload('3'), { keep: {}, condition: { etag } });
      assert.deepEqual(await textsOf('f/the mount/a'), ['2', '1']);
      const staged = await store.stage?.(upload('staged'));
      await staged?.commit(file('f/the mount/d'), { type: 'text/plain' }, {});
      await store.copy?.(file('f/the mount/d'), file('f/the mount/e'), options);
      assert.deepEqual(
        await pathsIn(store, 'f/the mount/'),
        ['a', 'c', 'd', 'e', 'new/'].map((child) => `f/the mount/${child}`),
      );
      assert.equal(await textOf(store, 'f/the mount/a'), '3');
      assert.deepEqual((await readdir(path)).toSorted(), ['a', 'c', 'd', 'e', 'new']);
      const taken = store.write(file('f/the mount/c'), upload('x'), { condition: 'absent' });
      await assert.rejects(taken, ofKind('condition-failed'));
    });

    it('renames and moves files in it, which leaves one name', async (t) => {
      const { store, path } = await open(t);
      await mkdir(join(path, 'sub'));
      await store.move?.(file('f/the mount/a'), file('f/the mount/b'), options);
      await store.move?.(file('f/the mount/b'), file('f/the mount/sub/c'), options);
      await store.write(file('f/the mount/d'), upload('new'), {});
      await assert.rejects(
        async () => store.move?.(file('f/the mount/d'), file('f/the mount/sub/c'), options),
        ofKind('already-exists'),
      );
      await store.move?.(file('f/the mount/d'), file('f/the mount/sub/c'), { replace: true, keep: {} });
      assert.deepEqual((await readdir(path, { recursive: true })).toSorted(), ['sub', 'sub/c']);
      assert.equal(await readFile(join(path, 'sub/c'), 'utf8'), 'new');
      assert.equal((await stat(join(path, 'sub/c'))).nlink, 1);
    });

    it('lets only one of several moves of a file succeed', async (t) => {
      const { store, path } = await open(t);
      const moves = ['b', 'c', 'd'].map(async (to) =>
        store.move?.(file('f/the mount/a'), file(`f/the mount/${to}`), options),
      );
      const outcomes = await Promise.allSettled(moves);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await readdir(path)).length, 1);
    });

    it('moves nothing into the trash, and deletes permanently', async (t) => {
      const { store, path } = await open(t);
      await mkdir(join(path, 'sub'));
      await writeFile(join(path, 'sub/b'), 'b');
      for (const item of [file('f/the mount/a'), folder('f/the mount/sub')]) {
        await assert.rejects(store.moveToTrash(item, { id: newKeptId() }), {
          code: 'other-file-system',
          message: /\?permanent=true/,
        });
      }
      assert.deepEqual((await store.listTrash({})).items, []);
      await assert.rejects(
        store.move?.(file('f/the mount/a'), file('a'), options) ?? assert.fail(),
        ofKind('other-file-system'),
      );
      await store.removeTree?.(folder('f/the mount/sub'));
      const { etag } = await store.stat(file('f/the mount/a'));
      await store.remove(file('f/the mount/a'), { ifMatch: etag });
      assert.deepEqual(await readdir(path), []);
    });
  });
}

describe('A file system that is mounted below a small DISK_ROOT', { concurrency: true }, () => {
  const MIB = 2 ** 20;
  const content = Buffer.alloc(2 * MIB, 'large');
  const open = async (t: TestContext) => {
    const root = join(await temporaryFolder(t), 'root');
    assert.equal(await mountTmpfs(t, root, 'size=1m'), undefined);
    const path = join(root, 'mount');
    assert.equal(await mountTmpfs(t, path, 'size=16m'), undefined);
    const { store } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    const large = (name: string) =>
      store.write(file(name), { body: Readable.from([content]), type: 'text/plain', maxSize: content.length }, {});
    const requireClean = async (expected: readonly string[]) => {
      assert.deepEqual((await readdir(path)).toSorted(), expected);
      assert.deepEqual(await readdir(join(root, '.holdall/uploads')).catch(() => []), []);
      const [own = ''] = await readdir(join(root, '.holdall/temporary'));
      assert.deepEqual(await readdir(join(root, '.holdall/temporary', own)), []);
    };
    return { store, root, path, large, requireClean };
  };

  it('receives uploads and copies larger than the space of the root', async (t) => {
    const { store, path, large, requireClean } = await open(t);
    await large('mount/a');
    await large('mount/new/sub/b');
    await large('mount/a');
    await store.copy?.(file('mount/a'), file('mount/c'), options);
    await store.copyFolder?.(folder('mount/new'), folder('mount/copied/new'), options);
    for (const name of ['a', 'c', 'new/sub/b', 'copied/new/sub/b'])
      assert.ok(content.equals(await readFile(join(path, name))), name);
    await requireClean(['a', 'c', 'copied', 'new']);
    await assert.rejects(large('b'), { code: 'store-full' });
  });

  it('receives resumable uploads larger than the space of the root, and removes orphaned ones', async (t) => {
    const { store, path, requireClean } = await open(t);
    const target = { file: file('mount/new/a'), type: 'text/plain' };
    for (const id of ['one', 'two', 'three']) await store.createUpload?.(id, target);
    for (const part of [content.subarray(0, MIB), content.subarray(MIB)])
      await (await store.openUpload?.('one'))?.append(Readable.from([part]), {});
    assert.deepEqual(await pathsIn(store, 'mount/'), []);
    await (await store.openUpload?.('one'))?.commit(target.file, target, { condition: 'absent' });
    assert.ok(content.equals(await readFile(join(path, 'new/a'))));
    await (await store.openUpload?.('two'))?.remove();
    for (const id of ['one', 'two']) await assert.rejects(async () => store.openUpload?.(id), ofKind('not-found'));
    const removed = await store.removeUploads?.({ before: new Date(Date.now() + 1e6), isOrphaned: async () => true });
    assert.equal(removed, 1);
    await requireClean(['new']);
  });

  it('replaces no folder by a copy, and says so before it copies', async (t) => {
    const { store, large, requireClean } = await open(t);
    await large('mount/f/a');
    await store.createFolder(folder('mount/g'));
    for (const keep of [undefined, {}]) {
      const copied: unknown[] = [];
      const onProgress = (progress: unknown) => void copied.push(progress);
      const copy = store.copyFolder?.(folder('mount/f'), folder('mount/g'), { replace: true, keep, onProgress });
      await assert.rejects(copy ?? assert.fail(), ofKind('other-file-system'));
      assert.deepEqual(copied, []);
    }
    await requireClean(['f', 'g']);
  });

  it('keeps no temporary files of processes that were killed', async (t) => {
    const { store, root, path } = await open(t);
    await store.createFolder(folder('mount/f'));
    const { port, kill } = await startHoldall(t, { root });
    const head = 'PUT /file/mount/f/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n';
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    atEnd(t, () => socket.destroy());
    socket.write(`${head}${'x'.repeat(100_000)}`);
    await until('the upload is staged', async () => (await readdir(join(path, 'f'))).length > 0);
    await kill();
    assert.equal((await readdir(join(path, 'f'))).length, 1);
    const { store: next } = await openDisk({ root, log: silentLog });
    atEnd(t, () => next.close?.());
    assert.deepEqual(await readdir(join(path, 'f')), []);
  });
});

describe('A temporary file in a served folder', () => {
  it('is never listed, and no path names it', async (t) => {
    const root = await temporaryFolder(t);
    const { store } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    const name = '.holdall~0b7f2a52-4c0c-4b52-9c43-5d4f3f2f0b1e';
    await mkdir(join(root, 'f'));
    await writeFile(join(root, 'f', name), 'x');
    assert.deepEqual(await pathsIn(store, 'f/'), []);
    for (const path of [`f/${name}`, `f/${name.toUpperCase()}`, `f/${name}/x`]) {
      await assert.rejects(store.stat(file(path)), ofKind('not-found'));
      await assert.rejects(store.write(file(path), upload('y'), {}), ofKind('not-found'));
    }
    assert.equal((await stat(join(root, 'f', name))).size, 1);
  });
});

it('The space of a path is that of the file system which is mounted there', async (t) => {
  const root = await temporaryFolder(t);
  assert.equal(await mountTmpfs(t, join(root, 'f/the mount'), 'size=8m'), undefined);
  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  const available = async (path: FilePath | FolderPath) => (await store.space?.({ path }))?.available ?? 0;
  for (const path of [file('f/the mount/new/a'), folder('f/the mount')]) {
    assert.equal(await available(path), 8 * 2 ** 20);
  }
  for (const path of [file('f/the mountain'), folder('f')]) assert.ok((await available(path)) > 8 * 2 ** 20);
});
