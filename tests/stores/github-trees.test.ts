import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import type { Store } from '../../src/model/store.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { buildArchive } from '../../src/zip/walk.ts';
import type { Content } from '../../testing/servers/github.ts';
import { file, folder, ofKind, pathsIn, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { BRANCH, makeTree, requestsDuring, requestsOf, TREE, TREES, UNCHANGED } from './github-reading.ts';
import { filesIn, type Opened, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** Eight folders of eight files, two of which have a folder each: no folder has more than nine entries. */
const FILES: Readonly<Record<string, Content>> = Object.fromEntries([
  ...Array.from({ length: 64 }, (_, index) => [`f${index >>> 3}/${index & 7}.txt`, `text ${index}`]),
  ['f3/deep/er/file.txt', 'deep'],
  ['f4/deep/er/file.txt', 'deep'],
]);
const FOLDERS = Array.from({ length: 8 }, (_, index) => `f${index}/`);

/** A folder of folders of which one exceeds the response. */
const LARGE: Readonly<Record<string, Content>> = {
  ...Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`top/large/${index}`, `text ${index}`])),
  'top/small/file': 'text',
};

/** Opens a repository whose host returns at most one folder per response. */
async function openTruncated(...[t, files = FILES]: [...Parameters<typeof open>]): Promise<Opened> {
  const opened = await open(t, files);
  opened.host.limits.treeEntries = 10;
  return opened;
}

/** Returns the files of the branch below a folder, with their paths from there. */
async function filesBelow({ repository }: Opened, path: string): Promise<Record<string, string>> {
  const files = Object.entries(await filesIn(repository)).filter(([each]) => each.startsWith(path));
  return Object.fromEntries(files.map(([each, content]) => [each.slice(path.length), content]));
}

function open(t: Parameters<typeof openRepository>[0], files: Readonly<Record<string, Content>> = FILES) {
  return openRepository(t, { files }, { trust: 0 });
}

/** Returns every path below a folder, from a listing of each folder. */
async function pathsBelow(store: Store, path = ''): Promise<string[]> {
  const paths: string[] = [];
  for (const child of await pathsIn(store, path)) {
    paths.push(child);
    if (child.endsWith('/')) paths.push(...(await pathsBelow(store, child)));
  }
  return paths;
}

describe('A branch with more files than the host returns in one response', () => {
  it('is listed folder by folder, with the same result as a small branch', async (t) => {
    const { store } = await openTruncated(t);
    const whole = await open(t);
    const listed = await pathsBelow(store);
    assert.equal(listed.length, Object.keys(FILES).length + FOLDERS.length + 4);
    assert.deepEqual(listed, await pathsBelow(whole.store));
    assert.equal(await textOf(store, 'f3/deep/er/file.txt'), 'deep');
  });

  it('reads each tree on the path to a folder once', async (t) => {
    const opened = await openTruncated(t);
    const { store, host } = opened;
    const list = (path: string) => requestsDuring(opened, () => store.list(folder(path)));
    assert.deepEqual(await list(''), [BRANCH, TREES, TREE]);
    assert.deepEqual(await list('f3/deep/er'), [UNCHANGED, TREE, TREE, TREE]);
    assert.deepEqual(await list('f3/deep'), [UNCHANGED]);
    // Another folder, with a subfolder whose tree is already cached.
    assert.deepEqual(await list('f4/deep/er'), [UNCHANGED, TREE]);
    host.forget();
    await Promise.all(Array.from({ length: 20 }, () => store.list(folder('f5'))));
    assert.deepEqual(requestsOf(opened), [UNCHANGED, TREE]);
  });

  it('is not read recursively again after a commit of another client', async (t) => {
    const opened = await openTruncated(t);
    const { store, repository } = opened;
    await store.list(folder('f1'));
    await store.list(folder('f3/deep/er'));
    await repository.commit({ 'f1/new.txt': 'new' });
    const look = async () => assert.equal((await pathsIn(store, 'f1')).length, 9);
    assert.deepEqual(await requestsDuring(opened, look), [BRANCH, TREE, TREE]);
    // The other folders are unchanged and cached.
    assert.deepEqual(await requestsDuring(opened, () => store.list(folder('f3/deep/er'))), [UNCHANGED]);
  });

  it('does not read a renamed folder again', async (t) => {
    const opened = await openTruncated(t);
    const { store, repository } = opened;
    await store.list(folder('f3/deep/er'));
    const moved = Object.entries(FILES).filter(([path]) => path.startsWith('f3/'));
    await repository.commit({
      f3: null,
      ...Object.fromEntries(moved.map(([path, text]) => [`z${path.slice(2)}`, text])),
    });
    const look = async () => assert.deepEqual(await pathsIn(store, 'z/deep/er'), ['z/deep/er/file.txt']);
    assert.deepEqual(await requestsDuring(opened, look), [BRANCH, TREE]);
    await assert.rejects(store.list(folder('f3')), ofKind('not-found'));
  });

  it('can be written to', async (t) => {
    const { store } = await openTruncated(t);
    await store.write(file('f3/deep/er/new.txt'), upload('new'));
    await requireMember(store, 'moveFolder')(folder('f3/deep'), folder('moved/below'), { replace: false });
    assert.deepEqual(await pathsIn(store, 'moved/below/er'), ['moved/below/er/file.txt', 'moved/below/er/new.txt']);
    assert.equal((await pathsIn(store, 'f3')).length, 8);
  });

  for (const [to, length] of [
    ['c', 'shorter'],
    ['a longer name', 'longer'],
  ] as const) {
    it(`is copied, moved, deleted and restored completely at a ${length} path`, async (t) => {
      const files = Object.fromEntries(Object.entries(FILES).map(([path, text]) => [`all/${path}`, text]));
      const opened = await openTruncated(t, files);
      const { store } = opened;
      const all = await filesBelow(opened, 'all/');
      assert.equal(Object.keys(all).length, Object.keys(FILES).length);
      const options = { replace: false, onProgress() {} };
      await requireMember(store, 'copyFolder')(folder('all'), folder(to), options);
      await requireMember(store, 'moveFolder')(folder(to), folder(`${to}m`), options);
      const id = newKeptId();
      await requireMember(store, 'moveToTrash')(folder(`${to}m`), { id, onProgress() {} });
      assert.deepEqual(await filesBelow(opened, to), {});
      await requireMember(store, 'restoreTrashed')(id, folder(`${to}r`));
      assert.deepEqual([await filesBelow(opened, `${to}r/`), await filesBelow(opened, 'all/')], [all, all]);
    });
  }

  it('changes nothing if a folder that exceeds the response can not be transferred completely', async (t) => {
    const opened = await openTruncated(t, LARGE);
    const { store } = opened;
    const before = await filesIn(opened.repository);
    const keep = { replace: false };
    for (const attempt of [
      () => requireMember(store, 'copyFolder')(folder('top/large'), folder('copy'), keep),
      () => requireMember(store, 'moveFolder')(folder('top/large'), folder('moved'), keep),
      () => requireMember(store, 'copyFolder')(folder('top'), folder('longer'), keep),
      () => requireMember(store, 'moveToTrash')(folder('top/large'), { id: newKeptId() }),
      () => requireMember(store, 'removeTree')(folder('top/large')),
    ]) {
      await assert.rejects(attempt(), ofKind('unsupported'));
      assert.deepEqual(await filesIn(opened.repository), before);
    }
    const top = await filesBelow(opened, 'top/');
    await requireMember(store, 'copyFolder')(folder('top'), folder('c'), keep);
    assert.deepEqual(await filesBelow(opened, 'c/'), top);
  });

  it('names in a ZIP archive the folder that exceeds the response', async (t) => {
    const { store } = await openTruncated(t, LARGE);
    const files = createFiles(store, { presignExpires: 60 });
    const archive = await buildArchive(files, [folder('top')]);
    const options = { files, checksums: new Checksums(), signal: AbortSignal.timeout(60_000) };
    const entries = parseArchive(await buffer(archiveStream(archive, options)));
    assert.deepEqual(Object.fromEntries(entries.map(({ name, content }) => [name, content.toString()])), {
      'top/small/file': 'text',
      'Missing files.txt':
        'This archive is incomplete. Holdall could not read:\n\n"top/large/": the folder has more entries than the store can list\n',
    });
  });

  it('fails when a single folder exceeds the response, instead of a partial listing', async (t) => {
    const files = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`large/${index}`, 'text']));
    const { store } = await openTruncated(t, { ...files, 'small/file': 'text' });
    await assert.rejects(store.list(folder('large')), { name: 'StoreError', kind: 'unsupported', message: /10\b/ });
    await assert.rejects(store.stat(file('large/0')), ofKind('unsupported'));
    assert.deepEqual(await pathsIn(store, ''), ['large/', 'small/']);
    assert.deepEqual(await pathsIn(store, 'small'), ['small/file']);
  });

  it('is measured fast when its folders contain each other many times', {
    timeout: 20_000,
  }, async (t) => {
    const opened = await open(t, { 'file.txt': 'text' });
    const { store, repository, host } = opened;
    let tree = await repository.git('rev-parse', 'main^{tree}');
    for (let depth = 0; depth < 12; depth++) {
      const lines = Array.from({ length: 9 }, (_, index) => `040000 tree ${tree}\t${index}`);
      tree = makeTree(opened, lines);
    }
    await repository.git('update-ref', 'refs/heads/main', await repository.git('commit-tree', '-m', 'Many', tree));
    host.limits.treeEntries = 10;
    assert.equal((await pathsIn(store, '0/1/2/3/4/5/6/7/8/0/1/2'))[0], '0/1/2/3/4/5/6/7/8/0/1/2/file.txt');
    // The paths become longer, so their lengths must be known.
    await requireMember(store, 'copyFolder')(folder('0/1'), folder('a longer name'), { replace: false });
    assert.equal((await pathsIn(store, 'a longer name/2/3/4/5/6/7/8/0/1/2'))[0]?.endsWith('/file.txt'), true);
  });
});

describe('A paged listing', () => {
  it('sends no request for later pages while the cached branch is trusted', async (t) => {
    const opened = await openRepository(t, { files: FILES }, { trust: 600 });
    const paths = async () => assert.deepEqual(await pathsIn(opened.store, '', 3), FOLDERS);
    assert.deepEqual(await requestsDuring(opened, paths), [BRANCH, TREES]);
  });
});
