import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { expireKept } from '../../src/files/expiry.ts';
import { createFolderOperations } from '../../src/files/folder-operations.ts';
import { createTrashOperations } from '../../src/files/trash.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { folder, plant, treeOf } from '../contract/bytes.ts';
import { asOther, giveToOther, reopenFolders } from './other-user.ts';

/** Opens a disk of another user, because root can delete everything. */
async function open(t: TestContext) {
  const root = await temporaryFolder(t);
  atEnd(t, () => reopenFolders(root));
  await giveToOther(root);
  const events: string[] = [];
  const record = (message: string) => void events.push(message);
  const { store, ownFolder } = await asOther(() => openDisk({ root, log: { warn: record, error: record } }));
  atEnd(t, async () => store.close?.());
  const temporaryFiles = async () =>
    (await readdir(join(ownFolder, 'temporary'), { recursive: true })).filter((name) => name.includes('/'));
  return {
    store,
    root,
    ownFolder,
    events,
    temporaryFiles,
    close: (path: string) => chmod(join(root, path), 0o555),
    reopen: (path: string) => chmod(join(root, path), 0o755),
  };
}

const TREE = { 'f/1': '1', 'f/closed/2': '2', 'f/closed/3': '3', 'f/z/4': '4' };
const REMAINS = { 'f/closed/': null, 'f/closed/2': '2', 'f/closed/3': '3' };

const denied = {
  code: 'denied',
  message: /^The operating system denied access to "f\/closed\/[23]"\. .* The rest of "f\/" was deleted\.$/,
};

describe('A permanent delete of a folder that can not be removed completely', () => {
  it('fails, names the first path, and leaves only what can not be removed', async (t) => {
    const { store, close, reopen, temporaryFiles } = await open(t);
    await asOther(() => plant(store, TREE));
    await close('f/closed');
    const remove = () => asOther(async () => store.removeTree?.(folder('f')));
    await assert.rejects(remove, denied);
    assert.deepEqual(await treeOf(store), { 'f/': null, ...REMAINS });
    await assert.rejects(remove, denied);
    assert.deepEqual(await temporaryFiles(), []);
    await reopen('f/closed');
    await remove();
    assert.deepEqual(await treeOf(store), {});
  });

  it('continues after an unreadable folder', async (t) => {
    const { store, root, reopen } = await open(t);
    await asOther(() => plant(store, TREE));
    await chmod(join(root, 'f/closed'), 0);
    const remove = () => asOther(async () => store.removeTree?.(folder('f')));
    await assert.rejects(remove, { code: 'denied', message: /"f\/closed\/".* The rest of "f\/" was deleted\.$/ });
    await reopen('f/closed');
    assert.deepEqual(await treeOf(store), { 'f/': null, ...REMAINS });
  });

  it('leaves a newer folder of the same name as it is, except for what remains', async (t) => {
    const { store, root, close } = await open(t);
    await asOther(() => plant(store, TREE));
    await close('f/closed');
    let created: Promise<unknown> | undefined;
    const createNewer = async () => {
      await mkdir(join(root, 'f/closed'), { recursive: true });
      await writeFile(join(root, 'f/closed/2'), 'newer');
      await writeFile(join(root, 'f/closed/new'), 'new');
    };
    const onProgress = () => void (created ??= createNewer());
    await assert.rejects(
      asOther(async () => {
        const [removal] = await Promise.allSettled([store.removeTree?.(folder('f'), { onProgress })]);
        await created;
        if (removal.status === 'rejected') throw removal.reason;
      }),
      denied,
    );
    const found = await treeOf(store);
    assert.equal(found['f/closed/2'], 'newer');
    assert.equal(found['f/closed/new'], 'new');
  });
});

describe('An item of the trash that can not be removed completely', () => {
  /** Moves three folders to the trash, of which the second contains a folder that can't be changed. */
  const openTrash = async (t: TestContext) => {
    const opened = await open(t);
    const { store, close } = opened;
    const ids = await asOther(async () => {
      await plant(store, { 'older/1': '1', ...TREE, 'newer/1': '1' });
      const items = [];
      for (const path of ['older', 'f', 'newer']) {
        if (path === 'f') await close('f/closed');
        items.push(await store.moveToTrash(folder(path), { id: newKeptId(), user: 'ann' }));
      }
      return items.map(({ id }) => id);
    });
    const [, id = assert.fail()] = ids;
    const itemsInTrash = async () => (await store.listTrash()).items;
    const contents = join(opened.ownFolder, 'trash', id);
    return { ...opened, id, itemsInTrash, contents };
  };

  it('stays in the trash with its record, can be restored, and is removed later', async (t) => {
    const { store, ownFolder, id, itemsInTrash, contents, temporaryFiles } = await openTrash(t);
    const before = await itemsInTrash();
    const purge = () => asOther(async () => store.purgeTrashed(id));
    await asOther(() => store.measureTrashed(id));
    await assert.rejects(purge, denied);
    assert.deepEqual(await itemsInTrash(), before);
    assert.deepEqual(await readdir(contents), ['closed']);
    assert.deepEqual(await temporaryFiles(), []);
    assert.equal(await asOther(() => store.measureTrashed(id)), 2);
    await asOther(() => store.restoreTrashed(id, folder('f')));
    assert.deepEqual(await treeOf(store), { 'f/': null, ...REMAINS });
    const again = await asOther(() => store.moveToTrash(folder('f'), { id: newKeptId() }));
    await assert.rejects(
      asOther(async () => store.purgeTrashed(again.id)),
      denied,
    );
    await chmod(join(ownFolder, 'trash', again.id, 'closed'), 0o755);
    await asOther(async () => store.purgeTrashed(again.id));
    assert.equal((await itemsInTrash()).length, 2);
  });

  it('keeps its record also if a listing removes orphaned records meanwhile', async (t) => {
    const { store, ownFolder, id, itemsInTrash } = await openTrash(t);
    const anHourAndMoreAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    await utimes(join(ownFolder, 'trash', `${id}.json`), anHourAndMoreAgo, anHourAndMoreAgo);
    let listed: Promise<unknown> | undefined;
    await assert.rejects(
      asOther(async () => {
        const onProgress = () => void (listed ??= store.listTrash());
        const [purge] = await Promise.allSettled([store.purgeTrashed(id, { onProgress })]);
        await listed;
        if (purge.status === 'rejected') throw purge.reason;
      }),
      denied,
    );
    assert.ok(listed);
    assert.ok((await itemsInTrash()).some((item) => item.id === id && item.path === 'f/' && item.user === 'ann'));
  });

  it('does not stop the emptying of the trash, which then fails', async (t) => {
    const { store, id, itemsInTrash, events } = await openTrash(t);
    const removed: string[] = [];
    const options = { onRemoved: (item: { path: string }) => void removed.push(item.path) };
    await assert.rejects(
      asOther(() => createTrashOperations(store).emptyTrash(options)),
      denied,
    );
    assert.deepEqual(removed.toSorted(), ['newer/', 'older/']);
    assert.deepEqual(
      (await itemsInTrash()).map((item) => item.id),
      [id],
    );
    assert.deepEqual(events, ['An item remains in the trash because not all of it can be deleted.']);
  });

  for (const maxBytes of [undefined, 0]) {
    it(`does not stop the expiry of others, by ${maxBytes === undefined ? 'age' : 'size'}`, async (t) => {
      const { store, id, itemsInTrash, contents } = await openTrash(t);
      if (maxBytes !== undefined) await chmod(join(contents, 'closed'), 0);
      const later = Date.now() + (maxBytes === undefined ? 7 * 86_400_000 : 0);
      const limits = { trash: { days: 1, maxBytes }, versions: undefined };
      const { trashed } = await asOther(() => expireKept(store, limits, {}, later));
      assert.equal(trashed, 2);
      assert.deepEqual(
        (await itemsInTrash()).map((item) => item.id),
        [id],
      );
    });
  }
});

it('What can not be removed of a replaced folder is in the recovery folder, which the log names', async (t) => {
  const { store, ownFolder, events, close, temporaryFiles } = await open(t);
  await asOther(() => plant(store, { ...TREE, 'g/new': 'new' }));
  await close('f/closed');
  const { moveFolder } = createFolderOperations(store);
  await asOther(() => moveFolder(folder('g'), folder('f'), { replace: true }));
  assert.deepEqual(await treeOf(store), { 'f/': null, 'f/new': 'new' });
  const [recovered = assert.fail()] = await readdir(join(ownFolder, 'recovered'));
  assert.deepEqual((await readdir(join(ownFolder, 'recovered', recovered, 'f/closed'))).toSorted(), ['2', '3']);
  assert.deepEqual(events, ['A replaced folder could not be deleted and is kept in the recovery folder.']);
  assert.deepEqual(await temporaryFiles(), []);
});
