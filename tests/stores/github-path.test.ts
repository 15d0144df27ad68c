import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { createFiles } from '../../src/files/files.ts';
import { encodeCursor } from '../../src/model/page.ts';
import { ROOT } from '../../src/model/path.ts';
import { GITHUB } from '../../src/stores/github/backend.ts';
import { atEnd } from '../../testing/holdall.ts';
import type { Content } from '../../testing/servers/github.ts';
import { file, folder, ofKind, pathsIn, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { GET_TREE, warnings } from './github-reading.ts';
import {
  fileOf,
  filesIn,
  messagesIn,
  type Opened,
  openEmptyRepository,
  openRepository,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const PATH = folder('team/files');
const link = (content: string) => ({ mode: '120000', content }) as const;
const SUBMODULE = { mode: '160000', sha: '1234567890123456789012345678901234567890' } as const;

/** Files outside the served folder, in each place that a confused path could reach. */
const OUTSIDE = {
  'a.txt': 'outside',
  'b/c.txt': 'outside',
  'team/a.txt': 'outside',
  'team/files.txt': 'outside',
  'team/files-2/a.txt': 'outside',
  'team/Files/a.txt': 'outside',
  'zz.txt': 'outside',
};

const openPart = (
  t: TestContext,
  files: Readonly<Record<string, Content>> = {},
  options: object = {},
): Promise<Opened> => openRepository(t, { files: { ...OUTSIDE, ...files } }, { path: PATH, ...options });

/** Returns the paths of the files on the branch, in or outside the served folder. */
async function pathsOf({ repository }: Pick<Opened, 'repository'>, where: 'inside' | 'outside'): Promise<string[]> {
  const paths = Object.keys(await filesIn(repository));
  return paths.filter((path) => path.startsWith(PATH) === (where === 'inside'));
}

async function assertUntouched(opened: Opened): Promise<void> {
  const files = await filesIn(opened.repository);
  for (const path of Object.keys(OUTSIDE)) assert.equal(files[path], fileOf('outside'), path);
  assert.deepEqual(await pathsOf(opened, 'outside'), Object.keys(OUTSIDE).toSorted());
}

describe('A branch with GITHUB_PATH', () => {
  it('contains only the files of the folder', async (t) => {
    const opened = await openPart(t, {}, { trust: 0 });
    const { store, repository } = opened;
    assert.deepEqual(await store.list(ROOT), { entries: [], cursor: undefined });
    await assert.rejects(store.list(folder('team')), { code: 'not-found' });
    await repository.commit({ 'team/files/a.txt': 'inside', 'team/files/b/c.txt': 'inside' });
    assert.deepEqual(await treeOf(store), { 'a.txt': 'inside', 'b/': null, 'b/c.txt': 'inside' });
    for (const path of ['team/a.txt', 'zz.txt', 'files', 'team/files/a.txt', 'files.txt']) {
      await assert.rejects(store.stat(file(path)), { code: 'not-found' });
      await assert.rejects(store.read(file(path)), { code: 'not-found' });
      await assert.rejects(store.remove(file(path)), { code: 'not-found' });
    }
    for (const path of ['team/', 'team/files/', 'files-2/', 'Files/']) {
      await assert.rejects(store.list(folder(path)), { code: 'not-found' });
      await assert.rejects(requireMember(store, 'removeTree')(folder(path)), { code: 'not-found' });
    }
    await assertUntouchedExcept(opened, ['team/files/a.txt', 'team/files/b/c.txt']);
    await repository.commit({ 'team/files': null });
    assert.deepEqual(await pathsIn(store, ''), []);
  });

  it('changes nothing outside the folder', async (t) => {
    const opened = await openPart(t);
    const { store } = opened;
    const files = createFiles(store, { presignExpires: 60 });
    const keep = { replace: false };
    for (const path of ['a.txt', 'b/c.txt', 'b/d/e.txt', 'files', 'zz.txt'])
      await store.write(file(path), upload(path));
    await store.createFolder(folder('empty/deep'));
    await files.copyFolder(folder('b'), folder('team'), keep);
    await files.moveFolder(folder('team'), folder('moved'), keep);
    await files.copyFile(file('a.txt'), file('copy.txt'), keep);
    await files.moveFile(file('copy.txt'), file('copy 2.txt'), keep);
    assert.deepEqual(
      (await pathsOf(opened, 'inside')).map((path) => path.slice(PATH.length)),
      [
        'a.txt',
        'b/c.txt',
        'b/d/e.txt',
        'copy 2.txt',
        'empty/.gitkeep',
        'empty/deep/.gitkeep',
        'files',
        'moved/c.txt',
        'moved/d/e.txt',
        'zz.txt',
      ],
    );
    await assertUntouched(opened);
    for (const path of ['b', 'moved', 'empty']) await files.deleteFolder(folder(path));
    for (const path of ['a.txt', 'copy 2.txt', 'files', 'zz.txt']) await store.remove(file(path));
    assert.deepEqual(await pathsIn(store, ''), []);
    // The folder continues to exist.
    assert.deepEqual(await pathsOf(opened, 'inside'), ['team/files/.gitkeep']);
    await assertUntouched(opened);
  });

  it('empties and fills the folder in one commit', async (t) => {
    const opened = await openPart(t, { 'team/files/a.txt': 'inside' }, { gatherFor: 50 });
    const { store } = opened;
    await Promise.all([store.remove(file('a.txt')), store.write(file('b/c.txt'), upload('new'))]);
    assert.deepEqual(await treeOf(store), { 'b/': null, 'b/c.txt': 'new' });
    await Promise.all([requireMember(store, 'removeTree')(folder('b')), store.write(file('d.txt'), upload('new'))]);
    assert.deepEqual(await pathsOf(opened, 'inside'), ['team/files/d.txt']);
    await assertUntouched(opened);
  });

  it('keeps what others push meanwhile, inside and outside the folder', async (t) => {
    const opened = await openPart(t, { 'team/files/a.txt': 'inside' });
    const { store, repository } = opened;
    await store.list(ROOT);
    await repository.commit({ 'new.txt': 'pushed', 'team/files/b.txt': 'pushed' });
    await store.write(file('c.txt'), upload('c'));
    assert.deepEqual(await treeOf(store), { 'a.txt': 'inside', 'b.txt': 'pushed', 'c.txt': 'c' });
    assert.equal(await repository.git('show', 'main:new.txt'), 'pushed');
  });

  it('checks conditions against the files of the folder', async (t) => {
    const { store } = await openPart(t, { 'team/files/b.txt': 'inside' });
    const outside = fileOf('outside').split(' ')[1] ?? '';
    await assert.rejects(
      store.write(file('b.txt'), upload('x'), { condition: { etag: outside } }),
      ofKind('condition-failed'),
    );
    await assert.rejects(store.write(file('b.txt'), upload('x'), { condition: 'absent' }), ofKind('condition-failed'));
    // A file of this name exists outside.
    await store.write(file('a.txt'), upload('x'), { condition: 'absent' });
    assert.equal(await textOf(store, 'a.txt'), 'x');
  });

  it('does not leave the folder through a forged cursor', async (t) => {
    const opened = await openPart(t, { 'team/files/m.txt': 'm', 'team/files/n.txt': 'n' });
    const foreign = (await opened.another({ path: ROOT }).list(ROOT, { limit: 1 })).cursor;
    for (const cursor of [foreign ?? '', ...['', '../', 'a.txt', 'team/'].map((last) => encodeCursor({ last }))]) {
      const listed = await opened.store.list(ROOT, { cursor }).catch((error: { code?: string }) => error);
      if ('entries' in listed) for (const { path } of listed.entries) assert.match(path, /^[mn]\.txt$/);
      else assert.equal(listed.code, 'invalid-cursor');
    }
  });

  it('does not follow symbolic links that lead out of the folder', async (t) => {
    const opened = await openPart(t, {
      'team/files/a.txt': 'inside',
      'team/files/link': link('../../a.txt'),
      'team/files/up': link('..'),
      'team/files/module': SUBMODULE,
    });
    const { store } = opened;
    assert.deepEqual(await pathsIn(store, ''), ['a.txt']);
    for (const path of ['link', 'up', 'up/a.txt', 'up/files/a.txt', 'module/a.txt']) {
      await assert.rejects(store.stat(file(path)), { code: 'not-found' });
      await assert.rejects(store.read(file(path)), { code: 'not-found' });
      await assert.rejects(requireMember(store, 'copy')(file(path), file('copy'), { replace: false }), {
        code: 'not-found',
      });
    }
    await assert.rejects(store.list(folder('up')), { code: 'not-found' });
    for (const path of ['link', 'up/new.txt', 'module/new.txt']) {
      await assert.rejects(store.write(file(path), upload('x')), ofKind('wrong-kind'));
    }
    await assert.rejects(
      requireMember(store, 'move')(file('a.txt'), file('up/b.txt'), { replace: true }),
      ofKind('wrong-kind'),
    );
    await assertUntouchedExcept(opened, ['team/files/a.txt', 'team/files/link', 'team/files/module', 'team/files/up']);
  });

  it('serves Git LFS objects by the rules in and above the folder, and not by those beside it', async (t) => {
    const object = randomBytes(1000);
    const rules = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
    for (const [place, isServed] of [
      ['.gitattributes', true],
      ['team/.gitattributes', true],
      ['team/files/.gitattributes', true],
      ['b/.gitattributes', false],
      ['team/files-2/.gitattributes', false],
    ] as const) {
      const { store, repository } = await openPart(t);
      const { pointer } = repository.addLfsObject(object);
      await repository.commit({ [place]: rules, 'team/files/a.bin': pointer });
      assert.equal((await store.stat(file('a.bin'))).size, isServed ? object.length : pointer.length, place);
      if (isServed) assert.ok((await readAll(store, 'a.bin')).equals(object));
    }
  });

  it('redirects to URLs of files in the folder', async (t) => {
    const { store, host } = await openPart(t);
    await store.write(file('é #1.bin'), upload('content'));
    const found = await store.stat(file('é #1.bin'));
    const url = await requireMember(store, 'presign')(found, { expires: 60, download: false, purpose: 'read' });
    assert.equal(await (await fetch(url)).text(), 'content');
    const [{ path } = { path: '' }] = sent(host, 'GET /repos/{owner}/{repo}/contents/{path}');
    assert.ok(decodeURIComponent(path).includes('/contents/team/files/é #1.bin'), path);
  });

  it('names paths from the root of the branch in commits, and no such path in errors', async (t) => {
    const { store, repository } = await openPart(t, { 'team/files/a.txt': 'a', 'team/files/f/b.txt': 'b' });
    await requireMember(store, 'move')(file('a.txt'), file('c/d.txt'), { replace: false });
    assert.equal((await messagesIn(repository))[0], 'Move team/files/a.txt to team/files/c/d.txt');
    await repository.commit(new Map([[Buffer.from('team/files/n\xff/x', 'latin1'), 'a name that is not UTF-8']]));
    await store.createFolder(folder('new'));
    assert.equal((await messagesIn(repository))[0], 'Create team/files/new/');
    const failures = [
      () => store.stat(file('missing.txt')),
      () => store.list(folder('missing')),
      () => store.remove(file('missing.txt')),
      () => store.write(file('f'), upload('x')),
      () => store.write(file('f/b.txt/c'), upload('x')),
      () => store.createFolder(folder('f/b.txt')),
      () => store.write(file('.git/config'), upload('x')),
      () => store.write(file('n\ufffd/x'), upload('x')),
      () => requireMember(store, 'copy')(file('f/b.txt'), file('c/d.txt'), { replace: false }),
      () => requireMember(store, 'moveFolder')(folder('f'), folder('new'), { replace: false }),
    ];
    for (const fail of failures) {
      await assert.rejects(fail, (error: Error) => error.name === 'StoreError' && !error.message.includes('team'));
    }
  });

  it('requests no folder outside except those above it, and counts only omitted entries inside', async (t) => {
    const opened = await openPart(t, {
      'team/files/a/b/c.txt': 'inside',
      'team/files/link': link('a'),
      'link 1': link('a.txt'),
      'team/link 2': link('a.txt'),
      'b/link 3': link('c.txt'),
    });
    const { store, host, repository } = opened;
    assert.deepEqual(await pathsIn(store, 'a/b'), ['a/b/c.txt']);
    const shas = await Promise.all(
      ['main^{tree}', 'main:team', 'main:team/files'].map((name) => repository.git('rev-parse', name)),
    );
    assert.deepEqual(
      sent(host, GET_TREE).map(({ path, query }) => `${path.split('/').at(-1)} ${query.has('recursive')}`),
      [`${shas[0]} false`, `${shas[1]} false`, `${shas[2]} true`],
    );
    assert.deepEqual(
      warnings(opened).map(({ details }) => details),
      [{ submodules: 0, links: 1, nonUtf8Names: 0, invalidNames: 0 }],
    );
  });

  it('protects .gitattributes, and the settings of git only in the root of the branch', async (t) => {
    const { store } = await openPart(t);
    const isPrivileged = requireMember(store, 'isPrivileged');
    assert.deepEqual(
      ['.gitattributes', 'f/.GITATTRIBUTES', '.gitmodules', '.lfsconfig'].map((path) => isPrivileged(file(path))),
      [true, true, false, false],
    );
  });

  it('begins an empty repository with the folder', async (t) => {
    const opened = await openEmptyRepository(t, {}, { path: PATH });
    assert.deepEqual(await pathsIn(opened.store, ''), []);
    await opened.store.write(file('a.bin'), upload('\0'));
    assert.deepEqual(Object.keys(await filesIn(opened.repository)), ['team/files/.gitkeep', 'team/files/a.bin']);
  });

  it('is rejected if the path is not a folder, or leads through something else', async (t) => {
    const cases: readonly Record<string, Content>[] = [
      { team: 'a file' },
      { 'team/files': 'a file' },
      { team: link('b'), 'b/files/a.txt': 'b' },
      { 'team/files': link('../b') },
      { 'team/files': SUBMODULE },
    ];
    for (const files of cases) {
      const { store, repository } = await openRepository(t, { files: { 'b/c.txt': 'c', ...files } }, { path: PATH });
      const before = await filesIn(repository);
      const misconfigured = {
        code: 'store-misconfigured',
        message:
          'GITHUB_PATH "team/files" is not a folder on the branch main. Set it to a folder; symbolic links and submodules are not followed.',
      };
      await assert.rejects(requireMember(store, 'check')(), misconfigured);
      await assert.rejects(store.list(ROOT), misconfigured);
      await assert.rejects(store.stat(file('a.txt')), misconfigured);
      await assert.rejects(store.write(file('a.txt'), upload('x')), misconfigured);
      assert.deepEqual(await filesIn(repository), before);
    }
  });

  it('shares a branch with services of other folders', async (t) => {
    const opened = await openPart(t);
    const other = opened.another({ path: folder('team/files-2') });
    await Promise.all([
      ...[1, 2, 3].map((number) => opened.store.write(file(`${number}.txt`), upload('first'))),
      ...[1, 2, 3].map((number) => other.write(file(`${number}.txt`), upload('second'))),
    ]);
    assert.deepEqual(await treeOf(opened.store), { '1.txt': 'first', '2.txt': 'first', '3.txt': 'first' });
    assert.deepEqual(await treeOf(other), {
      '1.txt': 'second',
      '2.txt': 'second',
      '3.txt': 'second',
      'a.txt': 'outside',
    });
  });
});

async function assertUntouchedExcept({ repository }: Opened, inside: readonly string[]): Promise<void> {
  assert.deepEqual(Object.keys(await filesIn(repository)), [...Object.keys(OUTSIDE), ...inside].toSorted());
}

async function readAll(store: Opened['store'], path: string): Promise<Buffer> {
  const { body } = await store.read(file(path));
  return Buffer.concat(await body.toArray());
}

describe('The setting GITHUB_PATH', () => {
  const BRANCH = {
    STORAGE_TYPE: 'github',
    GITHUB_OWNER: 'o',
    GITHUB_REPO: 'r',
    GITHUB_TOKEN: 't',
    SIGNING_KEY: 'k'.repeat(32),
  };

  it('accepts the path of a folder, with or without slashes around it', () => {
    for (const GITHUB_PATH of ['team/files', '/team/files', 'team/files/', '/team/files/']) {
      assert.equal(readConfig({ ...BRANCH, GITHUB_PATH }).GITHUB_PATH, PATH);
    }
    assert.equal(readConfig({ ...BRANCH, GITHUB_PATH: 'é & co/.github' }).GITHUB_PATH, 'é & co/.github/');
    assert.equal(readConfig(BRANCH).GITHUB_PATH, undefined);
  });

  it('rejects paths that are not folders, and names that git reserves', () => {
    for (const GITHUB_PATH of ['/', '//', 'a//b', '.', 'a/../b', '..', 'a\nb', 'x'.repeat(512)]) {
      assert.throws(
        () => readConfig({ ...BRANCH, GITHUB_PATH }),
        /GITHUB_PATH must be the path of a folder of at most 512 bytes/,
      );
    }
    for (const GITHUB_PATH of ['.git', 'a/.GIT/b', 'git~1', 'a/.gitkeep']) {
      assert.throws(
        () => readConfig({ ...BRANCH, GITHUB_PATH }),
        /GITHUB_PATH must not contain "\.gitkeep" or a name that git reserves/,
      );
    }
  });

  it('separates the local folders and the name of the store', async (t) => {
    const log = { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} };
    const CACHE_DIR = undefined;
    const opened = await Promise.all(
      [{}, { GITHUB_PATH: 'a' }, { GITHUB_PATH: 'b' }].map((more) =>
        GITHUB.open({ ...readConfig({ ...BRANCH, ...more }), CACHE_DIR }, log),
      ),
    );
    atEnd(t, async () => void (await Promise.all(opened.map(async ({ store }) => store.close?.()))));
    assert.deepEqual(
      opened.map(({ name }) => name),
      ['', ', folder a/', ', folder b/'].map((path) => `https://api.github.com/repos/o/r, branch main${path}`),
    );
    assert.equal(new Set(opened.map(({ cacheFolder }) => cacheFolder)).size, 3);
  });
});
