import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import type { FilePath, FolderPath } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { maxPathBytesBelow } from '../../src/stores/disk/root.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { buildArchive } from '../../src/zip/walk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { file, folder, longPath, silentLog, textOf, treeOf, upload } from '../contract/bytes.ts';
import { parseArchive } from '../zip/parse-archive.ts';

const keep = { replace: false };
const replace = { replace: true };
const retention = { trash: true, versions: true };

async function open(t: TestContext) {
  const { store, root } = await openDisk({ root: await temporaryFolder(t), log: silentLog });
  atEnd(t, async () => store.close?.());
  return { store, root, files: createFiles(store, { presignExpires: 60, retention }), limit: maxPathBytesBelow(root) };
}

describe('Paths of more than 1,024 bytes on a disk', () => {
  it('are written, listed, read, replaced and restored up to the limit of the disk', async (t) => {
    const { store, files, limit } = await open(t);
    const path = file(longPath('a', limit));
    await store.write(path, upload('first'));
    assert.deepEqual(Object.values(await treeOf(store)).filter(Boolean), ['first']);
    assert.equal(await text((await store.read(path)).body), 'first');
    await files.upload({ target: { path }, body: upload('second').body });
    const { versions } = await store.listVersions(path);
    assert.equal(versions.length, 1);
    await store.restoreVersion(path, versions[0]?.id ?? newKeptId(), {});
    assert.equal(await textOf(store, path), 'first');
    for (const call of [store.stat, store.read, (longer: FilePath) => store.write(longer, upload('x'))]) {
      await assert.rejects(call(`${path}y` as FilePath), {
        code: 'path-too-long',
        message: new RegExp(`has ${limit + 1} bytes\\. The maximum is ${limit}\\.$`),
      });
    }
  });

  it('are copied, moved, renamed, deleted and restored with their folder, or named before any change', async (t) => {
    const { store, files, root, limit } = await open(t);
    await store.write(file(longPath('a', limit - 10)), upload('deep'));
    const tree = (start: string) => ({ deep: longPath(start, limit - 10 - 1 + start.length) });
    await files.copyFolder(folder('a'), folder('copy'), keep);
    await files.moveFolder(folder('a'), folder('moved'), keep);
    await files.deleteFolder(folder('moved'), {});
    const [item] = (await store.listTrash()).items;
    assert.ok(item);
    await store.restoreTrashed(item.id, folder('back'));
    for (const start of ['copy', 'back']) assert.equal(await textOf(store, tree(start).deep), 'deep');
    const longer = folder('longer-than-that');
    for (const operation of ['copyFolder', 'moveFolder'] as const) {
      await assert.rejects(files[operation](folder('copy'), longer, replace), { code: 'path-too-long' });
    }
    await files.deleteFolder(folder('back'), { permanent: true });
    assert.deepEqual((await readdir(root)).toSorted(), ['.holdall', 'copy']);
  });

  it('are in ZIP archives', async (t) => {
    const { store, files, limit } = await open(t);
    const path = longPath('a', limit);
    await store.write(file(path), upload('deep'));
    const archive = await buildArchive(files, [folder('a')]);
    const options = { files, checksums: new Checksums(), signal: AbortSignal.timeout(60_000) };
    const entries = parseArchive(await buffer(archiveStream(archive, options)));
    assert.deepEqual(
      entries.map(({ name, content }) => [name, content.toString()]),
      [[path, 'deep']],
    );
  });

  it('of so many folders that no version fits are replaced without versions, and otherwise before any change', async (t) => {
    const { store, files, limit } = await open(t);
    // Each folder takes two more bytes among the versions, for which the limit leaves 512.
    const path = file('a23456789/'.repeat(Math.floor(limit / 10) - 1) + 'b');
    await store.write(path, upload('first'));
    await store.write(path, upload('second'));
    assert.deepEqual((await store.listVersions(path)).versions, []);
    await assert.rejects(files.upload({ target: { path }, body: upload('third').body }), {
      code: 'path-too-long',
      message: /or one of its names is too long for this disk/,
    });
    assert.equal(await textOf(store, path), 'second');
  });

  it('are watched', async (t) => {
    const { store, root, limit } = await open(t);
    const path = longPath('a', limit - 2);
    await store.write(file(path), upload('deep'));
    const reported: (readonly (FilePath | FolderPath)[] | undefined)[] = [];
    const ending = new AbortController();
    atEnd(t, async () => ending.abort());
    store.watch?.((paths) => void reported.push(paths), { signal: ending.signal });
    await until('the watcher has started', () => reported.length > 0);
    await writeFile(join(root, `${path}2`), 'new');
    await until('the new file is reported', () => reported.some((paths) => paths?.includes(file(`${path}2`))));
  });
});

describe('The limit of paths on a disk', () => {
  it('leaves space for the root and for temporary copies', () => {
    assert.equal(maxPathBytesBelow('/srv'), 4095 - 512 - '/srv/'.length);
    assert.equal(maxPathBytesBelow(`/${'x'.repeat(250)}`), 4095 - 512 - 252);
  });
});
