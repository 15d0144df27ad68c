import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import { FolderTree } from '../../../web/src/model/places/folder-tree.ts';
import { recentFilesOf } from '../../../web/src/model/places/recent-files.ts';
import { createStoredPaths } from '../../../web/src/model/places/stored-paths.ts';
import type { FeedChange } from '../../../web/src/platform/service/changes.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createFolderScene, settled, when } from './folder-scene.ts';
import { refusal } from './service-errors.ts';
import { createMemoryService } from './upload-service.ts';

const change = (id: number, fields: Pick<FeedChange, 'type' | 'path'> & Partial<FeedChange>): FeedChange => ({
  id: String(id),
  time: new Date(id * 1000).toISOString(),
  ...fields,
});

class MemoryStorage implements Pick<Storage, 'getItem' | 'setItem'> {
  readonly items = new Map<string, string>();
  getItem(key: string) {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string) {
    this.items.set(key, value);
  }
}

function createPaths(storage: MemoryStorage, user = signal('ann'), limit = 3) {
  const tabs = new EventTarget();
  let time = 0;
  const paths = createStoredPaths({
    storage: storage as unknown as Storage,
    key: () => `paths:${user.value}`,
    limit,
    tabs,
    now: () => ++time,
  });
  return { paths, tabs, shown: () => paths.items.value.map(({ path }) => path) };
}

describe('Stored paths', () => {
  it('keep the newest ones of each user, and survive a reload', () => {
    const storage = new MemoryStorage();
    const user = signal('ann');
    const { paths, shown } = createPaths(storage, user);
    for (const path of ['a/', 'b/', 'c/', 'd/', 'b/']) paths.add(path);
    assert.deepEqual(shown(), ['b/', 'd/', 'c/']);
    user.value = 'ben';
    assert.deepEqual(shown(), []);
    paths.add('own.txt');
    user.value = 'ann';
    assert.deepEqual(createPaths(storage).shown(), ['b/', 'd/', 'c/']);
  });

  it('follow renamed and moved files and folders', () => {
    const { paths, shown } = createPaths(new MemoryStorage());
    for (const path of ['a/x.txt', 'a/', 'z.txt']) paths.add(path);
    paths.remapPaths(new Map([['a/', 'b/']]));
    assert.deepEqual(shown(), ['z.txt', 'b/', 'b/x.txt']);
    paths.remapPaths(new Map([['z.txt', 'b/x.txt']]));
    assert.deepEqual(shown(), ['b/x.txt', 'b/']);
  });

  it('ignore what is no list of paths, and read changes of other tabs', () => {
    for (const text of ['', '{', '{}', '[1]', '[["a"]]', '[["a","b"]]', `[["${'a'.repeat(2000)}",1]]`, '[[null,1]]']) {
      const storage = new MemoryStorage();
      storage.setItem('paths:ann', text);
      assert.deepEqual(createPaths(storage).shown(), [], text);
    }
    const storage = new MemoryStorage();
    const { tabs, shown } = createPaths(storage);
    storage.setItem('paths:ann', '[["a",1],["a",2],["b",3]]');
    tabs.dispatchEvent(Object.assign(new Event('storage'), { key: 'paths:ann' }));
    assert.deepEqual(shown(), ['a', 'b']);
  });
});

describe('The recent files', () => {
  const idsOf = (...given: Parameters<typeof recentFilesOf>) =>
    recentFilesOf(...given).map(({ id, activity }) => `${activity} ${id}`);

  it('are the changed and opened ones, each once, the newest first', () => {
    const changes = [
      change(5, { type: 'file.replaced', path: 'a.txt' }),
      change(4, { type: 'folder.created', path: 'new/' }),
      change(3, { type: 'file.created', path: 'b.txt' }),
      change(2, { type: 'file.created', path: 'a.txt' }),
    ];
    const visited = [
      { path: 'b.txt', time: 9_000 },
      { path: 'folder/', time: 8_000 },
      { path: 'c.txt', time: 4_000 },
    ];
    assert.deepEqual(idsOf(changes, visited), ['opened b.txt', 'changed a.txt', 'opened c.txt']);
  });

  it('have the paths after later moves, and omit deleted files', () => {
    const changes = [
      change(9, { type: 'folder.deleted', path: 'old/' }),
      change(8, { type: 'file.created', path: 'gone.txt' }),
      change(7, { type: 'file.deleted', path: 'gone.txt' }),
      change(6, { type: 'folder.moved', path: 'new/', from: 'a/' }),
      change(5, { type: 'file.created', path: 'old/x.txt' }),
      change(4, { type: 'file.moved', path: 'a/y.txt', from: 'y.txt' }),
      change(3, { type: 'file.created', path: 'gone.txt' }),
    ];
    const visited = [
      { path: 'y.txt', time: 1_000 },
      { path: 'a/z.txt', time: 2_000 },
      { path: 'old/w.txt', time: 2_500 },
      { path: 'old/v.txt', time: 9_500 },
    ];
    assert.deepEqual(idsOf(changes, visited), [
      'opened old/v.txt',
      'changed gone.txt',
      'changed new/y.txt',
      'opened new/z.txt',
    ]);
  });
});

/** The number of entries in a page of the service. */
const PAGE_SIZE = 1_000;

/** A tree over a service with these files. */
async function createTree(files: readonly string[], shownFolder = '') {
  const memory = createMemoryService(Object.fromEntries(files.map((path) => [path, ''])));
  const requests: string[] = [];
  const inBackground: boolean[] = [];
  let problem: ServiceError | undefined;
  const service: Pick<Service, 'list'> = {
    async list(path, options) {
      requests.push(path);
      inBackground.push(options?.isBackground ?? false);
      if (problem) throw problem;
      const { entries, ...page } = await memory.service.list(path);
      const start = Number(options?.cursor ?? 0);
      const end = start + PAGE_SIZE;
      return { ...page, entries: entries.slice(start, end), ...(end < entries.length && { cursor: String(end) }) };
    },
  };
  const { folder } = await createFolderScene({ files: Object.fromEntries(memory.files), shown: shownFolder });
  await settled(folder);
  const tree = new FolderTree({ service, folder, compareNames: { value: (left, right) => (left < right ? -1 : 1) } });
  return {
    tree,
    folder,
    requests,
    /** For each request, whether it asks for no sign-in. */
    inBackground,
    files: memory.files,
    fail(error: ServiceError | undefined) {
      problem = error;
    },
    /** The rows as text: `-` and `+` for folders that can be collapsed and expanded. */
    rows: () =>
      tree.rows.value.map((row) => {
        const indent = '  '.repeat(row.level - 1);
        if (row.kind === 'more') return `${indent}${row.problem ? 'failed' : 'more'}`;
        return `${indent}${row.isExpanded ? '- ' : row.isLeaf ? '' : '+ '}${row.path}`;
      }),
  };
}

const isIdle = ({ tree }: { tree: FolderTree }) =>
  tree.rows.value.every((row) => row.kind === 'more' || !row.isLoading);

describe('The folder tree', () => {
  it('reads the subfolders of a folder when it is expanded, and not those of the shown folder', async () => {
    const scene = await createTree(['a/x.txt', 'b/1/x.txt', 'b/2/', 'z.txt']);
    assert.deepEqual(scene.rows(), ['- ', '  + a/', '  + b/']);
    scene.tree.expand('a/');
    scene.tree.expand('b/');
    await when(() => isIdle(scene));
    assert.deepEqual(scene.rows(), ['- ', '  - a/', '  - b/', '    + b/1/', '    + b/2/']);
    assert.deepEqual(scene.requests, ['a/', 'b/']);
    const [, a, b, one] = scene.tree.rows.value;
    assert.deepEqual(
      [a, b, one].map((row) => row && [row.level, row.position, row.siblings]),
      [
        [2, 1, 2],
        [2, 2, 2],
        [3, 1, 2],
      ],
    );
    assert.ok(a?.kind === 'folder' && a.isLeaf);
    scene.tree.collapse('b/');
    assert.deepEqual(scene.rows(), ['- ', '  - a/', '  + b/']);
  });

  it('reveals the shown folder, also while those before it are not read', async () => {
    const scene = await createTree(['a/', 'b/2/deep/', 'c/'], 'b/2/');
    scene.tree.reveal('b/2/');
    assert.deepEqual(scene.rows(), ['- ', '  - b/', '    + b/2/']);
    await when(() => isIdle(scene));
    assert.deepEqual(scene.rows(), ['- ', '  + a/', '  - b/', '    + b/2/', '  + c/']);
    assert.deepEqual(scene.requests, ['', 'b/']);
    scene.tree.expand('c/');
    assert.deepEqual(scene.inBackground, [true, true, false], 'only the user is asked to sign in');
  });

  it('follows the changes of the feed', async () => {
    const scene = await createTree(['a/', 'b/1/', 'b/2/', 'c/x/'], 'a/');
    for (const folder of ['', 'b/', 'b/1/']) scene.tree.expand(folder);
    await when(() => isIdle(scene));
    const before = scene.requests.length;
    scene.tree.receive(change(1, { type: 'folder.created', path: 'b/3/' }));
    scene.tree.receive(change(2, { type: 'file.created', path: 'b/4/new/file.txt' }));
    scene.tree.receive(change(3, { type: 'folder.deleted', path: 'b/2/' }));
    scene.tree.receive(change(4, { type: 'file.created', path: 'b/file.txt' }));
    scene.tree.receive(change(5, { type: 'folder.moved', path: 'd/', from: 'b/' }));
    assert.deepEqual(scene.rows(), ['- ', '  a/', '  + c/', '  - d/', '    - d/1/', '    + d/3/', '    + d/4/']);
    assert.equal(scene.requests.length, before);
    scene.files.set('e/', '');
    scene.tree.receive(undefined);
    await when(() => isIdle(scene) && scene.rows().includes('  + e/'));
  });

  it('shows a failure below the folder, and reads it again', async () => {
    const scene = await createTree(['a/1/', 'b/']);
    scene.fail(refusal('store-busy', 'Busy.'));
    scene.tree.expand('a/');
    await when(() => isIdle(scene));
    assert.deepEqual(scene.rows(), ['- ', '  - a/', '    failed', '  + b/']);
    scene.fail(undefined);
    scene.tree.readMore('a/');
    await when(() => isIdle(scene));
    assert.deepEqual(scene.rows(), ['- ', '  - a/', '    + a/1/', '  + b/']);
  });

  it('reads a part of a huge folder, and more on demand', async () => {
    const files = Array.from({ length: 7_000 }, (_, index) => `a/${String(index).padStart(4, '0')}/`);
    const scene = await createTree([...files, 'b/']);
    scene.tree.expand('a/');
    await when(() => isIdle(scene));
    const { length } = scene.rows();
    assert.ok(length < 7_000, String(length));
    assert.ok(scene.rows().includes('    more'));
    scene.tree.readMore('a/');
    await when(() => isIdle(scene) && !scene.rows().includes('    more'));
    assert.equal(scene.rows().length, 7_000 + 3);
  });
});
