import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { timeOfKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { historyOf } from '../../src/stores/disk/version-names.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { file, folder, silentLog, textOf, upload } from '../contract/bytes.ts';
import { mountFileSystemOfWindows } from '../faults/mounts.ts';
import type { Need } from '../runner/needs.ts';
import { createClaim, timesOpen } from './disk-claims.ts';

export const needs: readonly Need[] = ['windows-file-systems'];

async function open(t: TestContext, root?: string) {
  const disk = await openDisk({ root: root ?? (await temporaryFolder(t)), log: silentLog });
  atEnd(t, () => disk.store.close?.());
  const { store, ownFolder } = disk;
  const write = (path: string, text: string, user?: string) =>
    store.write(file(path), upload(text), { keep: { user } });
  const textsOf = async (path: string) => {
    const { versions } = await store.listVersions(file(path));
    const contents = versions.map(async ({ id }) => (await store.readVersion(file(path), id)).bytes?.toString());
    return Promise.all(contents);
  };
  return { ...disk, write, textsOf, history: (path: string) => historyOf(join(ownFolder, 'versions'), file(path)) };
}

describe('The versions of a disk', () => {
  it('share the inode of the replaced file, so that no byte is copied', async (t) => {
    const { root, write, history } = await open(t);
    await write('f/a', 'old');
    const { ino } = await stat(join(root, 'f/a'));
    await write('f/a', 'new');
    const [name = ''] = await readdir(history('f/a'));
    assert.equal((await stat(join(history('f/a'), name))).ino, ino);
  });

  it('omit a username that is too long for a file name', async (t) => {
    const { store, write } = await open(t);
    const users = ['x'.repeat(150), 'é'.repeat(200)];
    await write('a', '0');
    for (const user of users) await write('a', user, user);
    const { versions } = await store.listVersions(file('a'));
    assert.deepEqual(
      versions.map(({ replacedBy }) => replacedBy),
      [undefined, users[0]],
    );
  });

  it('distinguish files and folders of one name, and names like those of the layout', async (t) => {
    const { store, write, textsOf } = await open(t);
    const paths = ['d', 'v/v', 'v/d/v', 'x/d/v', 'claim~1', 'x/claim~1'];
    for (const path of paths) for (const text of [`old ${path}`, 'new']) await write(path, text);
    for (const path of paths) assert.deepEqual(await textsOf(path), [`old ${path}`]);
    await store.remove(file('d'));
    for (const text of ['old d/v', 'new']) await write('d/v', text);
    assert.deepEqual([await textsOf('d'), await textsOf('d/v')], [['old d'], ['old d/v']]);
    await store.purgeVersions?.(folder('d'));
    assert.deepEqual([await textsOf('d'), await textsOf('d/v')], [['old d'], []]);
  });

  it('are none for a name that is too long for the file system', async (t) => {
    const { store, write } = await open(t);
    for (const text of ['old', 'new']) await write('a', text);
    const [version] = (await store.listVersions(file('a'))).versions;
    assert.ok(version);
    for (const path of ['é'.repeat(128), `f/${'é'.repeat(128)}`, `${'é'.repeat(128)}/f`].map(file)) {
      assert.deepEqual(await store.listVersions(path), { versions: [] });
      await assert.rejects(store.readVersion(path, version.id), { kind: 'not-found' });
    }
  });

  it('void the claim of a replacement that was interrupted before the new file arrived', async (t) => {
    const { root, write, textsOf, history } = await open(t);
    await write('a', 'current');
    await createClaim(root, 'a', history('a'));
    assert.deepEqual(await textsOf('a'), []);
    // The next replacement takes the claim over, after it has waited for the process that created it.
    await write('a', 'new');
    assert.deepEqual([await textsOf('a'), (await readdir(history('a'))).length], [['current'], 1]);
  });

  it('keep an upload at its path, also if the folder moves while it waits for another replacement', async (t) => {
    const { store, root, write, textsOf, history } = await open(t);
    await write('f/a', 'old');
    const claim = await createClaim(root, 'f/a', history('f/a'));
    const writing = write('f/a', 'new');
    // It waits for the claim with its folder open.
    await until('the folder is open', async () => (await timesOpen(join(root, 'f'))) > 0);
    assert.ok(store.moveFolder);
    await store.moveFolder(folder('f'), folder('g'), { replace: false });
    await rm(claim);
    await writing;
    assert.deepEqual([await textOf(store, 'g/a'), await textOf(store, 'f/a')], ['old', 'new']);
    assert.deepEqual(await textsOf('g/a'), []);
  });

  it('complete a replacement that was interrupted after the new file had arrived', async (t) => {
    const { store, root, write, textsOf, history } = await open(t);
    await write('a', 'old');
    await createClaim(root, 'a', history('a'));
    const replacedAt = Date.now();
    await store.write(file('a'), upload('new'));
    await until('the claim is too old to be in progress', async () => (await textsOf('a')).length === 1);
    assert.deepEqual([await textsOf('a'), await textOf(store, 'a')], [['old'], 'new']);
    const [name = ''] = await readdir(history('a'));
    const time = timeOfKeptId(name)?.getTime() ?? 0;
    assert.ok(Math.abs(time - replacedAt) < 1000, 'The version has the time of the replacement.');
  });

  it('leave no empty folders when they expire', async (t) => {
    const { store, ownFolder, write } = await open(t);
    for (const text of ['1', '2']) await write('f/g/a', text);
    await store.expireVersions?.({ before: new Date(Date.now() + 1000) });
    assert.deepEqual(await readdir(join(ownFolder, 'versions')), []);
    for (const text of ['3', '4']) await write('f/g/a', text);
    assert.equal((await store.listVersions(file('f/g/a'))).versions.length, 2);
  });

  it('are complete when they expire during replacements', async (t) => {
    const { store, write, textsOf } = await open(t);
    await write('f/a', '0');
    const expiring = (async () => {
      for (let round = 0; round < 50; round++) await store.expireVersions?.({ before: new Date(0) });
    })();
    for (let number = 1; number <= 50; number++) await write('f/a', String(number));
    await expiring;
    assert.equal((await textsOf('f/a')).length, 50);
  });

  it('are copies on a file system without hard links', async (t) => {
    const parent = await temporaryFolder(t);
    const root = join(parent, 'root');
    const reason = await mountFileSystemOfWindows(t, 'exfat', { image: join(parent, 'image'), folder: root });
    if (reason) return t.skip(reason);
    const { store, write, textsOf } = await open(t, root);
    for (const text of ['1', '2', '3']) await write('f/a', text);
    assert.deepEqual(
      [await textsOf('f/a'), await textsOf('F/A')],
      [
        ['2', '1'],
        ['2', '1'],
      ],
    );
    assert.equal(await readFile(join(root, 'f/a'), 'utf8'), '3');
    const { versions } = await store.listVersions(file('f/a'));
    await store.restoreVersion(file('f/a'), versions[1]?.id ?? assert.fail(), { keep: {} });
    assert.deepEqual([await textOf(store, 'f/a'), await textsOf('f/a')], ['1', ['3', '2', '1']]);
  });
});
