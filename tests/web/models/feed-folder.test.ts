import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effectOf } from '../../../web/src/model/feed/effect-of.ts';
import type { FeedChange } from '../../../web/src/platform/service/changes.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { createFeedScene, type FeedScene } from './feed-scene.ts';
import { when } from './folder-scene.ts';

const shows = ({ shown }: FeedScene, names: readonly string[]) => when(() => shown().join() === names.join());

describe('A change by another client', () => {
  it('appears in the shown folder, in its order: files and folders, new, replaced, renamed and deleted', async () => {
    const files = { 'a.txt': 'a', 'b.txt': 'bb', 'old/x.txt': 'x', 'z.txt': 'zzz' };
    const scene = await createFeedScene({ files, order: { by: 'size', descending: true } });
    assert.deepEqual(scene.shown(), ['old', 'z.txt', 'b.txt', 'a.txt']);
    scene.write('new.txt', 'new');
    scene.write('sub/deep/x.txt', 'x');
    scene.write('a.txt', 'aaaaa');
    scene.move('z.txt', 'sub/z.txt');
    scene.move('old/', 'renamed/');
    scene.remove('b.txt');
    await shows(scene, ['renamed', 'sub', 'a.txt', 'new.txt']);
    assert.deepEqual(scene.requests, { named: 1, listings: 0 });
    scene.remove('renamed/');
    scene.move('sub/z.txt', 'z.txt');
    await shows(scene, ['sub', 'a.txt', 'new.txt', 'z.txt']);
  });

  it('is not read if the folder shows its result already, such as a change of the user', async () => {
    const scene = await createFeedScene({ files: { 'a.txt': 'a', 'sub/x.txt': 'x', 'last.txt': 'l' } });
    scene.receive({ type: 'file.created', path: 'a.txt', etag: '"a"' });
    scene.receive({ type: 'folder.created', path: 'sub/' });
    scene.receive({ type: 'file.replaced', path: 'sub/x.txt', etag: '"y"' });
    scene.receive({ type: 'file.deleted', path: 'missing.txt' });
    scene.write('new.txt', 'new');
    await shows(scene, ['sub', 'a.txt', 'last.txt', 'new.txt']);
    assert.equal(scene.requests.named, 1);
  });

  it('does not undo a change of the user that is in progress, and is shown when that has ended', async () => {
    const scene = await createFeedScene({ files: { 'a.txt': 'a', 'b.txt': 'b' } });
    const deleting = scene.folder.begin({ removed: ['a.txt'] });
    scene.write('a.txt', 'other');
    scene.write('c.txt', 'c');
    await shows(scene, ['b.txt', 'c.txt']);
    deleting.rollback();
    await when(() => scene.folder.entryOf('a.txt')?.type === 'file' && scene.folder.count.value === 3);
    await when(() => {
      const entry = scene.folder.entryOf('a.txt');
      return entry?.type === 'file' && entry.etag === '"other"';
    });
  });

  it('does not bring an entry back that the user deletes while the entry is read', async () => {
    const held = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const onRead = async (entries: readonly Entry[]) => {
      started.resolve();
      await held.promise;
      return entries;
    };
    const scene = await createFeedScene({ files: { 'a.txt': 'a', 'b.txt': 'b' }, onRead });
    scene.write('a.txt', 'other');
    await started.promise;
    scene.stored.delete('a.txt');
    scene.folder.begin({ removed: ['a.txt'] }).commit();
    held.resolve();
    scene.receive({ type: 'file.deleted', path: 'a.txt' });
    scene.write('c.txt', 'c');
    await shows(scene, ['b.txt', 'c.txt']);
  });

  it('is read again while another replica returns what it has cached', async () => {
    let reads = 0;
    const onRead = async (entries: readonly Entry[]) =>
      ++reads === 1 ? entries.map((entry) => ({ ...entry, etag: '"a"', size: 1 })) : entries;
    const scene = await createFeedScene({ files: { 'a.txt': 'a' }, onRead });
    scene.write('a.txt', 'other');
    await when(() => {
      const entry = scene.folder.entryOf('a.txt');
      return entry?.type === 'file' && entry.etag === '"other"';
    });
    assert.equal(reads, 2);
  });

  it('keeps the focus, the selection, the name field and the preview on an entry that is renamed', async () => {
    const scene = await createFeedScene({ files: { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' } });
    const { folder, selection, renaming, route, clipboard } = scene;
    selection.set(['a.txt', 'b.txt']);
    folder.focused.value = 'a.txt';
    renaming.value = 'a.txt';
    clipboard.put({ kind: 'move', paths: ['a.txt'] });
    route.value = { folder: '', preview: 'a.txt' };
    scene.move('a.txt', 'between.txt');
    scene.move('between.txt', 'd.txt');
    await shows(scene, ['b.txt', 'c.txt', 'd.txt']);
    assert.deepEqual([...selection.paths.value].toSorted(), ['b.txt', 'd.txt']);
    assert.deepEqual([folder.focused.value, renaming.value, route.value.preview], ['d.txt', 'd.txt', 'd.txt']);
    assert.deepEqual(clipboard.clip.value?.paths, ['d.txt']);
  });

  it('costs few requests when there are thousands', async () => {
    const scene = await createFeedScene({ files: { 'a.txt': 'a' } });
    for (let index = 0; index < 5_000; index++) scene.write(`${index}.txt`, String(index));
    await when(() => scene.folder.count.value === 5_001);
    assert.deepEqual(scene.requests, { named: 0, listings: 1 });

    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`${index}.txt`, 'x']));
    const large = await createFeedScene({ files: many });
    for (let index = 0; index < 250; index++) large.write(`new-${index}.txt`, 'y');
    await when(() => large.folder.count.value === 5_250);
    assert.deepEqual(large.requests, { named: 3, listings: 0 });
  });
});

describe('A change of the shown folder', () => {
  const files = { 'top/in/a.txt': 'a', 'top/in/b.txt': 'b', 'top/in/sub/x.txt': 'x' };

  it('leads to its new path when it or a parent folder is renamed, with everything that the user sees', async () => {
    const scene = await createFeedScene({ files, shown: 'top/in/' });
    const { folder, selection, route, renaming } = scene;
    selection.only('top/in/b.txt');
    folder.focused.value = 'top/in/b.txt';
    renaming.value = 'top/in/b.txt';
    folder.filter.value = 'b.';
    route.value = { folder: 'top/in/', preview: 'top/in/b.txt' };
    scene.move('top/', 'moved/to/');
    assert.deepEqual(route.value, { folder: 'moved/to/in/', preview: 'moved/to/in/b.txt' });
    assert.equal(folder.path.value, 'moved/to/in/');
    assert.deepEqual(scene.shown(), ['b.txt']);
    assert.deepEqual([...selection.paths.value], ['moved/to/in/b.txt']);
    assert.deepEqual([folder.focused.value, renaming.value], ['moved/to/in/b.txt', 'moved/to/in/b.txt']);
    scene.write('moved/to/in/bb.txt', 'bb');
    await shows(scene, ['b.txt', 'bb.txt']);
  });

  it('shows that it is gone, and shows it when it exists again', async () => {
    const scene = await createFeedScene({ files, shown: 'top/in/' });
    scene.remove('top/');
    await when(() => scene.folder.problem.value?.isNotFound === true);
    scene.stored.set('top/in/', '');
    scene.receive({ type: 'folder.created', path: 'top/in/' });
    await when(() => scene.folder.problem.value === null && scene.folder.count.value === 0);
  });

  it('reads the folder again when its permissions changed, or changes are missing', async () => {
    const scene = await createFeedScene({ files, shown: 'top/in/' });
    for (const change of ['folder.changed', 'resync'] as const) {
      scene.stored.set(`top/in/${change}`, change);
      scene.receive({ type: change, path: '' });
      await when(() => scene.folder.entryOf(`top/in/${change}`) !== undefined);
    }
    assert.deepEqual(scene.requests, { named: 0, listings: 2 });
  });
});

describe('The effect of a change', () => {
  const effect = (type: FeedChange['type'], path: string, from?: string) =>
    effectOf({ id: '1', time: '', type, path, ...(from !== undefined && { from }) }, 'in/');
  const none = { kind: 'none' };
  const hints = (...of: readonly (readonly [string, boolean | undefined])[]) => ({
    kind: 'entries',
    hints: of.map(([path, exists]) => ({ path, exists, ...(exists !== false && { etag: undefined }) })),
    moved: undefined,
  });

  it('is none outside of the folder', () => {
    assert.deepEqual(effect('file.created', 'other/a.txt'), none);
    assert.deepEqual(effect('folder.moved', 'other/b/', 'other/a/'), none);
    assert.deepEqual(effect('file.deleted', 'in/sub/a.txt'), none);
    assert.deepEqual(effect('file.created', 'in'), none);
  });

  it('concerns both sides of a move, but only the destination of a copy', () => {
    assert.deepEqual(effect('file.moved', 'other/a', 'in/a'), hints(['in/a', false]));
    assert.deepEqual(effect('file.copied', 'in/b', 'in/a'), hints(['in/b', true]));
    const renamed = effect('file.moved', 'in/b', 'in/a');
    assert.deepEqual(renamed.kind === 'entries' && renamed.moved, { from: 'in/a', to: 'in/b' });
  });

  it('is uncertain for a folder whose operation failed halfway', () => {
    assert.deepEqual(effect('folder.changed', 'in/sub/'), hints(['in/sub/', undefined]));
  });

  it('is the whole folder when something replaces it', () => {
    for (const type of ['folder.moved', 'folder.copied'] as const) {
      assert.deepEqual(effect(type, 'in/', 'other/'), { kind: 'outdated' });
    }
  });
});
