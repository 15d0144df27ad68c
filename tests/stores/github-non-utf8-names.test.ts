import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ROOT } from '../../src/model/path.ts';
import type { Content, TestRepository } from '../../testing/servers/github.ts';
import { file, folder, ofKind, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** Returns a path that is not UTF-8. */
const raw = (text: string) => Buffer.from(text, 'latin1');

/** Returns the sorted paths on the branch, quoted by git: bytes that are not ASCII are octal numbers. */
async function quotedPaths({ git, branch }: TestRepository): Promise<string[]> {
  const listed = await git('-c', 'core.quotePath=true', 'ls-tree', '-r', '--name-only', branch);
  return listed.split('\n').toSorted();
}

const RAW = String.raw`"\377.t"`;

describe('A name that is not UTF-8, and the name that the host returns in its place', () => {
  const files = new Map<string | Buffer, Content>([
    ['a', 'a'],
    [raw('\xff.t'), 'same'],
  ]);

  it('reject a write to the returned name, because it is unknown which of them exists', async (t) => {
    const { store, repository } = await openRepository(t, {
      files: new Map<string | Buffer, Content>([...files, [raw('\xff/below'), 'below']]),
    });
    const before = await quotedPaths(repository);
    for (const condition of [undefined, 'absent'] as const) {
      for (const path of ['\ufffd.t', '\ufffd', '\ufffd/below', '\ufffd/new']) {
        await assert.rejects(store.write(file(path), upload('new'), { condition }), ofKind('wrong-kind'), path);
      }
    }
    await assert.rejects(
      requireMember(store, 'move')(file('a'), file('\ufffd.t'), { replace: true }),
      ofKind('wrong-kind'),
    );
    await assert.rejects(store.remove(file('\ufffd.t')), ofKind('not-found'));
    assert.deepEqual(await quotedPaths(repository), before);
    await store.write(file('b'), upload('b'));
    await store.write(file('f/\ufffd.t'), upload('no conflict'));
    assert.equal(await repository.git('show', 'main:f/\ufffd.t'), 'no conflict');
    await store.remove(file('a'));
    assert.ok((await quotedPaths(repository)).includes(RAW));
  });

  it('are omitted from listings, which name them', async (t) => {
    const { store } = await openRepository(t, {
      files: new Map<string | Buffer, Content>([...files, ['line\nfeed/b', 'b']]),
    });
    const { entries, omitted } = await store.list(ROOT);
    assert.deepEqual([entries.map(({ path }) => path), omitted], [['a'], ['line\nfeed', '\ufffd.t']]);
  });

  it('keep their folder from being deleted as empty', async (t) => {
    const { store, repository } = await openRepository(t, {
      files: new Map<string | Buffer, Content>([...files, [raw('f/\xff.t'), 'below']]),
    });
    await assert.rejects(store.removeFolder(folder('f')), ofKind('already-exists'));
    await store.write(file('f/b'), upload('b'));
    await store.remove(file('f/b'));
    await assert.rejects(store.removeFolder(folder('f')), ofKind('already-exists'));
    const below = String.raw`"f/\377.t"`;
    assert.deepEqual(await quotedPaths(repository), [RAW, 'a', below].toSorted());
    await requireMember(store, 'moveFolder')(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await quotedPaths(repository), [RAW, 'a', below.replace('f', 'g')].toSorted());
  });
});
