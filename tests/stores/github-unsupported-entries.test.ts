import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Content } from '../../testing/servers/github.ts';
import { file, folder, ofKind, pathsIn, textOf, treeOf } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { GET_TREE, requestsDuring, requestsOf, UNCHANGED, warnings } from './github-reading.ts';
import { openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const COMMIT = '1234567890123456789012345678901234567890';
const link = (content: string) => ({ mode: '120000', content }) as const;
const SUBMODULE = { mode: '160000', sha: COMMIT } as const;

/** A path that is not UTF-8. */
const raw = (text: string) => Buffer.from(text, 'latin1');

const SUPPORTED = { 'a.txt': 'a', 'f/b.txt': 'b' };

describe('Symbolic links and submodules', () => {
  it('are not listed, and one log line counts them', async (t) => {
    const opened = await openRepository(t, {
      files: {
        ...SUPPORTED,
        link: link('a.txt'),
        'f/link': link('b.txt'),
        'link to folder': link('f'),
        dangling: link('../../etc/passwd'),
        module: SUBMODULE,
        'f/module': SUBMODULE,
        'only/module': SUBMODULE,
      },
    });
    const { store, repository } = opened;
    assert.deepEqual(await treeOf(store), { 'a.txt': 'a', 'f/': null, 'f/b.txt': 'b', 'only/': null });
    const omitted = { submodules: 3, links: 4, nonUtf8Names: 0, invalidNames: 0 };
    assert.deepEqual(
      warnings(opened).map(({ details }) => details),
      [omitted],
    );
    await repository.commit({ 'new.txt': 'new' });
    await requireMember(store, 'check')();
    assert.equal(warnings(opened).length, 1);
    await repository.commit({ another: link('a.txt') });
    await requireMember(store, 'check')();
    assert.deepEqual(warnings(opened)[1]?.details, { ...omitted, links: 5 });
  });

  it('are not found, and neither are paths through them', async (t) => {
    const { store, host } = await openRepository(t, {
      files: { ...SUPPORTED, link: link('a.txt'), folder: link('f'), module: SUBMODULE, loop: link('loop') },
    });
    await store.list(folder(''));
    host.forget();
    for (const path of [
      'link',
      'folder',
      'module',
      'loop',
      'folder/b.txt',
      'module/file',
      'link/below',
      'a.txt/below',
    ]) {
      await assert.rejects(store.stat(file(path)), ofKind('not-found'), path);
      await assert.rejects(store.read(file(path)), ofKind('not-found'), path);
      await assert.rejects(store.list(folder(path)), ofKind('not-found'), path);
    }
    assert.deepEqual(host.requests, []);
  });

  it('are logged once when folders are read one by one', async (t) => {
    const names = ['f0', 'f1', 'f2', 'f3', 'f4', 'f5', 'f6', 'f7', 'f8', 'f9'];
    const links = names.flatMap((name, index) => names.slice(0, index).map((other) => `${name}/to ${other}`));
    const files: Record<string, Content> = Object.fromEntries(links.map((path) => [path, link('file')]));
    for (const name of names) files[`${name}/file`] = 'text';
    const opened = await openRepository(t, { files });
    opened.host.limits.treeEntries = 12;
    assert.equal(Object.keys(await treeOf(opened.store)).length, 20);
    assert.equal(warnings(opened).length, 1);
  });
});

describe('A name that is not UTF-8', () => {
  it('is not listed, with all entries below it, and is counted in the log', async (t) => {
    const opened = await openRepository(t, {
      files: new Map([
        [raw('a.txt'), 'a'],
        [raw('f/b.txt'), 'b'],
        [raw('f/caf\xe9.txt'), 'latin 1'],
        [raw('\xff/file'), 'below'],
        [raw('\xff/folder/file'), 'below'],
      ]),
    });
    const { store } = opened;
    assert.deepEqual(await treeOf(store), { 'a.txt': 'a', 'f/': null, 'f/b.txt': 'b' });
    assert.deepEqual(warnings(opened)[0]?.details, {
      submodules: 0,
      links: 0,
      nonUtf8Names: 2,
      invalidNames: 0,
    });
    assert.equal(warnings(opened).length, 1);
  });

  it('is not found by the name with replacement characters that the host returns', async (t) => {
    const { store } = await openRepository(t, {
      files: new Map([
        [raw('a.txt'), 'a'],
        [raw('caf\xe9.txt'), 'latin 1'],
        [raw('\xff/file'), 'below'],
        [raw('\xfe/file'), 'another one, for which the host returns the same name'],
      ]),
    });
    await assert.rejects(store.stat(file('caf\ufffd.txt')), ofKind('not-found'));
    await assert.rejects(store.read(file('caf\ufffd.txt')), ofKind('not-found'));
    await assert.rejects(store.read(file('\ufffd/file')), ofKind('not-found'));
    await assert.rejects(store.list(folder('\ufffd')), ofKind('not-found'));
  });

  it('is not confused with an entry of the same content and a UTF-8 name', async (t) => {
    const { store } = await openRepository(t, {
      files: new Map<string | Buffer, Content>([
        // The host returns the same name for both.
        [raw('\xc2(/one'), 'one'],
        [raw('\xc3(/two'), 'two'],
        ['ó/two', 'two'],
      ]),
    });
    assert.deepEqual(await treeOf(store), { 'ó/': null, 'ó/two': 'two' });
  });

  it('is distinguished from a name with a real replacement character, at any depth', async (t) => {
    const files = { 'a\ufffd.txt': 'true', 'f\ufffd/b\ufffd.txt': 'below', 'f\ufffd/g/c.txt': 'deep' };
    for (const treeEntries of [100, 3]) {
      const opened = await openRepository(t, { files });
      opened.host.limits.treeEntries = treeEntries;
      assert.deepEqual(await treeOf(opened.store), {
        'a\ufffd.txt': 'true',
        'f\ufffd/': null,
        'f\ufffd/b\ufffd.txt': 'below',
        'f\ufffd/g/': null,
        'f\ufffd/g/c.txt': 'deep',
      });
      assert.deepEqual(warnings(opened), []);
    }
  });
});

describe('A name that is no valid path segment', () => {
  it('is not listed, and is counted in the log', async (t) => {
    const opened = await openRepository(t, {
      files: { ...SUPPORTED, 'line\nbreak': 'x', 'f/tab\t': 'x', 'bell\u0007/file': 'x', 'del\u007f': 'x' },
    });
    assert.deepEqual(await treeOf(opened.store), { 'a.txt': 'a', 'f/': null, 'f/b.txt': 'b' });
    assert.deepEqual(
      warnings(opened).map(({ details }) => details),
      [{ submodules: 0, links: 0, nonUtf8Names: 0, invalidNames: 4 }],
    );
  });

  it('is not found, whatever the host returns', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: SUPPORTED });
    const [sha, blob] = await Promise.all(
      ['main^{tree}', 'main:a.txt'].map((name) => repository.git('rev-parse', name)),
    );
    const names = ['.', '..', '', '../up', 'a/b', '\0', 'fine.txt'];
    const tree = names.map((path) => ({ path, mode: '100644', type: 'blob', sha: blob, size: 1, url: '' }));
    host.intercept(({ route }) =>
      route === GET_TREE ? { status: 200, body: { sha, url: '', tree, truncated: false } } : undefined,
    );
    assert.deepEqual(await pathsIn(store, ''), ['fine.txt']);
  });
});

describe('A folder marker', () => {
  it('is never listed, found or requested', async (t) => {
    const opened = await openRepository(
      t,
      {
        files: {
          ...SUPPORTED,
          '.gitkeep': '',
          'f/.gitkeep': 'with a text',
          'empty/.gitkeep': '',
          'odd/.gitkeep/file': 'x',
        },
      },
      { trust: 0 },
    );
    const { store } = opened;
    assert.deepEqual(await treeOf(store), { 'a.txt': 'a', 'empty/': null, 'f/': null, 'f/b.txt': 'b', 'odd/': null });
    for (const path of ['.gitkeep', 'f/.gitkeep', 'empty/.gitkeep', 'odd/.gitkeep/file']) {
      const look = async () => {
        await assert.rejects(store.stat(file(path)), ofKind('not-found'));
        await assert.rejects(store.read(file(path)), ofKind('not-found'));
      };
      assert.deepEqual(await requestsDuring(opened, look), [UNCHANGED, UNCHANGED]);
    }
    await assert.rejects(store.list(folder('odd/.gitkeep')), ofKind('not-found'));
    assert.deepEqual(warnings(opened), []);
    assert.ok(requestsOf(opened).length > 0);
  });
});

describe('A file', () => {
  it('is listed whichever file mode it has', async (t) => {
    const files = { 'run.sh': { mode: '100755', content: '#!/bin/sh' } as const };
    const { store } = await openRepository(t, { files });
    assert.deepEqual(await pathsIn(store, ''), ['run.sh']);
    assert.equal(await textOf(store, 'run.sh'), '#!/bin/sh');
  });
});
