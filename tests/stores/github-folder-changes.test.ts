import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { file, folder, ofKind, pathsIn, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { countCommits, fileOf, filesIn, openEmptyRepository, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const keep = { replace: false };
const FILES = 500;

describe('A folder of many files', () => {
  const many = Object.fromEntries(
    Array.from({ length: FILES }, (_, number) => [`big/${number % 50}/${number}`, `${number % 7}`]),
  );
  const operations: Readonly<Record<string, (store: Store) => Promise<void>>> = {
    copied: (store) => requireMember(store, 'copyFolder')(folder('big'), folder('x/copy'), keep),
    moved: (store) => requireMember(store, 'moveFolder')(folder('big'), folder('x/moved'), keep),
    renamed: (store) => requireMember(store, 'moveFolder')(folder('big'), folder('a longer name'), keep),
    removed: (store) => requireMember(store, 'removeTree')(folder('big')),
  };
  for (const [name, operate] of Object.entries(operations)) {
    it(`is ${name} in one commit with at most six requests and no blob`, async (t) => {
      const { store, host, repository } = await openRepository(t, { files: { ...many, 'README.md': 'text' } });
      await operate(store);
      const requested = host.requests.map(({ route }) => route);
      assert.ok(requested.length <= 6, requested.join('\n'));
      assert.ok(!requested.some((route) => route.includes('blobs')), requested.join('\n'));
      assert.equal(await countCommits(repository), 2);
      const count = Object.keys(await filesIn(repository)).length;
      assert.equal(count, name === 'removed' ? 1 : name === 'copied' ? 2 * FILES + 1 : FILES + 1);
    });
  }
});

describe('A folder with symbolic links or submodules', () => {
  const commit = '1234567890123456789012345678901234567890';
  const files = {
    'f/link': { mode: '120000', content: 'target' },
    'f/module': { mode: '160000', sha: commit },
    'f/run': { mode: '100755', content: 'run' },
    'f/text': 'text',
    'other/x': 'x',
  } as const;
  const held = async (repository: Parameters<typeof filesIn>[0], at: string) =>
    Object.entries(await filesIn(repository)).flatMap(([path, entry]) =>
      path.startsWith(at) ? [`${entry.slice(0, 6)} ${path.slice(at.length)}`] : [],
    );
  const expected = ['120000 link', '160000 module', '100755 run', '100644 text'];

  it('includes them when it is copied, moved or removed', async (t) => {
    const { store, repository } = await openRepository(t, { files });
    await requireMember(store, 'copyFolder')(folder('f'), folder('copy'), keep);
    await requireMember(store, 'moveFolder')(folder('f'), folder('deep/moved'), keep);
    assert.deepEqual(await held(repository, 'copy/'), expected);
    assert.deepEqual(await held(repository, 'deep/moved/'), expected);
    assert.deepEqual(await held(repository, 'f/'), []);
    await requireMember(store, 'removeTree')(folder('deep'));
    await requireMember(store, 'removeTree')(folder('copy'));
    assert.deepEqual(Object.keys(await filesIn(repository)), ['other/x']);
  });

  it('keeps them when a sibling changes, and is not empty when it contains only them', async (t) => {
    const { store, repository } = await openRepository(t, { files });
    await store.remove(file('f/text'));
    await store.remove(file('f/run'));
    assert.deepEqual(await pathsIn(store, 'f'), []);
    await assert.rejects(store.removeFolder(folder('f')), ofKind('already-exists'));
    assert.deepEqual(await held(repository, 'f/'), ['120000 link', '160000 module']);
  });

  it('never replaces them with a file or folder', async (t) => {
    const { store, repository } = await openRepository(t, { files });
    for (const name of ['link', 'module']) {
      await assert.rejects(store.write(file(`f/${name}`), upload('x')), ofKind('wrong-kind'));
      await assert.rejects(store.write(file(`f/${name}/below`), upload('x')), ofKind('wrong-kind'));
      await assert.rejects(store.createFolder(folder(`f/${name}`)), ofKind('wrong-kind'));
      await assert.rejects(store.remove(file(`f/${name}`)), ofKind('not-found'));
      const replace = { replace: true };
      await assert.rejects(
        requireMember(store, 'copy')(file('f/text'), file(`f/${name}`), replace),
        ofKind('wrong-kind'),
      );
      await assert.rejects(
        requireMember(store, 'moveFolder')(folder('other'), folder(`f/${name}`), replace),
        ofKind('wrong-kind'),
      );
    }
    assert.equal(await countCommits(repository), 1);
  });
});

describe('A folder that becomes empty', () => {
  it('disappears with its last file, as do its empty parents, unless it has a marker', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'a/b/c/d': 'd', z: 'z' } });
    await store.createFolder(folder('m/n'));
    await store.write(file('m/n/x'), upload('x'));
    await store.remove(file('m/n/x'));
    await store.remove(file('a/b/c/d'));
    assert.deepEqual(await treeOf(store), { 'm/': null, 'm/n/': null, z: 'z' });
    assert.deepEqual(Object.keys(await filesIn(repository)), ['m/.gitkeep', 'm/n/.gitkeep', 'z']);
    await store.removeFolder(folder('m/n'));
    assert.deepEqual(await treeOf(store), { 'm/': null, z: 'z' });
  });

  it('disappears when its last file is moved elsewhere', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'a/b/c': 'c' } });
    await requireMember(store, 'move')(file('a/b/c'), file('c'), keep);
    assert.deepEqual(await filesIn(repository), { c: fileOf('c') });
  });

  it('remains when its only subfolder is renamed inside it', async (t) => {
    const { store } = await openRepository(t, { files: { 'a/b/c': 'c' } });
    await requireMember(store, 'moveFolder')(folder('a/b'), folder('a/d'), keep);
    assert.deepEqual(await treeOf(store), { 'a/': null, 'a/d/': null, 'a/d/c': 'c' });
  });

  it('keeps a marker when it is the root', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'a/b': 'b' } });
    await requireMember(store, 'removeTree')(folder('a'));
    assert.deepEqual(await filesIn(repository), { '.gitkeep': fileOf('') });
    assert.deepEqual(await treeOf(store), {});
    await store.write(file('new'), upload('x'));
    await store.remove(file('new'));
    assert.deepEqual(await filesIn(repository), { '.gitkeep': fileOf('') });
  });

  it('exists while a marker of another client is in it, which stays hidden', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'a/.gitkeep': 'a marker with a text\n' } });
    assert.deepEqual(await treeOf(store), { 'a/': null });
    await requireMember(store, 'copyFolder')(folder('a'), folder('b'), keep);
    await store.removeFolder(folder('a'));
    assert.deepEqual(await filesIn(repository), { 'b/.gitkeep': fileOf('a marker with a text\n') });
  });
});

describe('A folder that is changed and moved concurrently', () => {
  it('has every change at its new path, in any order of the changes', async (t) => {
    const { store } = await openRepository(t, { files: { 'f/a': 'a', 'f/g/b': 'b' } }, { gatherFor: 1 });
    await Promise.all([
      store.remove(file('f/a')),
      requireMember(store, 'move')(file('f/g/b'), file('f/c'), keep),
      store.createFolder(folder('f/new')),
      requireMember(store, 'moveFolder')(folder('f'), folder('h'), keep),
      requireMember(store, 'copyFolder')(folder('h'), folder('copies/h'), keep),
      store.remove(file('h/c')),
    ]);
    assert.deepEqual(await treeOf(store), {
      'copies/': null,
      'copies/h/': null,
      'copies/h/c': 'b',
      'copies/h/new/': null,
      'h/': null,
      'h/new/': null,
    });
  });
});

describe('The first commit', () => {
  it('is made by the first write of any kind', async (t) => {
    const writes: readonly ((store: Store) => Promise<unknown>)[] = [
      (store) => store.write(file('a/b'), upload('text')),
      (store) => store.write(file('a/b'), upload('\0'.repeat(100))),
      (store) => store.write(file('a/b'), upload('x'.repeat(100_000)), { condition: 'absent' }),
      (store) => store.createFolder(folder('a/b')),
    ];
    for (const write of writes) {
      const { store, repository } = await openEmptyRepository(t);
      await write(store);
      assert.deepEqual(
        Object.keys(await treeOf(store))
          .slice(0, 2)
          .map((path) => path.replace(/\/$/, '')),
        ['a', 'a/b'],
      );
      assert.equal(await countCommits(repository), 2);
    }
  });

  it('is made once when two services write concurrently', async (t) => {
    const { store, another, repository } = await openEmptyRepository(t);
    const services = [store, another()];
    const write = (service: Store, which: number) =>
      Promise.all([
        service.write(file(`${which}/text`), upload('text')),
        service.write(file(`${which}/bytes`), upload('\0')),
        service.write(file(`${which}/large`), upload('x'.repeat(100_000))),
      ]);
    await Promise.all(services.map(write));
    assert.equal(Object.keys(await filesIn(repository)).length, 7);
    assert.equal(await repository.git('rev-list', '--max-parents=0', '--count', 'main'), '1');
  });

  it('creates the configured branch when it is not the default branch', async (t) => {
    const { store, another, repository } = await openEmptyRepository(
      t,
      { branch: 'files', defaultBranch: 'main' },
      { createBranch: true },
    );
    await Promise.all([store.write(file('a'), upload('a')), another().write(file('b'), upload('b'))]);
    assert.deepEqual(Object.keys(await filesIn(repository, 'files')), ['.gitkeep', 'a', 'b']);
    assert.deepEqual(Object.keys(await filesIn(repository, 'main')), ['.gitkeep']);
  });

  it('has the configured author', async (t) => {
    const author = { name: 'Ada Example', email: 'ada@example.org' };
    const { store, repository } = await openEmptyRepository(t, {}, { author });
    await store.write(file('a'), upload('a'));
    const authors = await repository.git('log', '--format=%an <%ae>, %cn <%ce>', 'main');
    const expected = 'Ada Example <ada@example.org>, Ada Example <ada@example.org>';
    assert.deepEqual(authors.split('\n'), [expected, expected]);
  });
});
