import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import { parseFolder } from '../../src/model/path.ts';
import type { Store, TrashStore } from '../../src/model/store.ts';
import { formatId, formatTrashed } from '../../src/stores/github/commits/trailers.ts';
import { file, folder, ofKind, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { requestsDuring } from './github-reading.ts';
import { messagesIn, openRepository } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

type TrashingStore = Store & TrashStore;

async function open(
  t: TestContext,
  ...given: Parameters<typeof openRepository> extends [unknown, ...infer Rest] ? Rest : []
) {
  const opened = await openRepository(t, ...given);
  return { ...opened, store: opened.store as TrashingStore, other: () => opened.another() as TrashingStore };
}

const trashed = (store: TrashingStore, path: string, user?: string) =>
  store.moveToTrash(path.endsWith('/') ? folder(path) : file(path), { id: newKeptId(), user });

const pathsInTrash = async (store: TrashingStore) => (await store.listTrash()).items.map(({ path }) => path);

const COMMIT = ['201 POST /git/trees', '201 POST /git/commits', '200 PATCH /git/refs/{ref}'];
const LOG = '200 GET /commits';

describe('The trash of a branch', () => {
  it('costs a delete no more requests, and sends no content again to restore', async (t) => {
    const opened = await open(t, { files: { a: 'a', 'f/b': 'b', 'f/c': 'c' } });
    const { store } = opened;
    await store.list(folder('f'));
    let id: KeptId | undefined;
    const ofDelete = await requestsDuring(opened, async () => {
      ({ id } = await trashed(store, 'f/'));
    });
    assert.deepEqual(ofDelete, ['304 GET /branches/{branch}', ...COMMIT]);
    assert.deepEqual(await requestsDuring(opened, () => store.listTrash()), [LOG]);
    assert.deepEqual(await requestsDuring(opened, () => store.listTrash()), []);
    const ofRestore = await requestsDuring(opened, async () => id && store.restoreTrashed(id, folder('f')));
    const commit = '200 GET /git/commits/{commit_sha}';
    assert.deepEqual(ofRestore, ['200 GET /branches/{branch}', commit, '304 GET /branches/{branch}', ...COMMIT]);
  });

  it('is the same for other processes, and after a restart', async (t) => {
    const { store, other } = await open(t, { files: { a: 'a', 'f/b': 'b' } }, { trust: 0 });
    const items = [await trashed(store, 'a', 'ann'), await trashed(store, 'f/')];
    const { items: listed } = await other().listTrash();
    assert.deepEqual(listed, items.toReversed());
    await other().restoreTrashed(items[0]?.id ?? newKeptId(), file('a'));
    assert.deepEqual(await treeOf(other()), { a: 'a' });
    assert.deepEqual(await pathsInTrash(other()), ['f/']);
    assert.deepEqual(await pathsInTrash(store), ['f/']);
  });

  it('contains only what Holdall deleted, in its own folder', async (t) => {
    const { store, repository, another } = await open(
      t,
      { files: { a: 'a', 'f/b': 'b', 'f/c': 'c', 'f/d': 'd' } },
      { trust: 0 },
    );
    await repository.commit({ 'f/b': null });
    await trashed(store, 'f/c');
    await trashed(store, 'a');
    const part = another({ path: parseFolder('f') }) as TrashingStore;
    assert.deepEqual(await pathsInTrash(part), ['c']);
    const [item] = (await part.listTrash()).items;
    assert.ok(item);
    await part.restoreTrashed(item.id, file('e/c'));
    assert.deepEqual(await treeOf(part), { d: 'd', 'e/': null, 'e/c': 'c' });
    assert.deepEqual(await pathsInTrash(store), ['a']);
  });

  it('can restore what was uploaded or copied in the moment before its delete', async (t) => {
    const { store } = await open(t, { files: { a: 'a', 'f/b': 'b' } }, { gatherFor: 50 });
    const staged = await Promise.all(['new', 'a'].map(async (text) => store.stage?.(upload(text))));
    await Promise.all([
      staged[0]?.commit(file('new'), { type: 'text/plain' }),
      trashed(store, 'new'),
      store.copyFolder?.(folder('f'), folder('g'), { replace: false }),
      trashed(store, 'g/b'),
      trashed(store, 'a'),
      staged[1]?.commit(file('a'), { type: 'text/plain' }),
    ]);
    const { items } = await store.listTrash();
    assert.deepEqual(items.map(({ path }) => path).toSorted(), ['a', 'g/b', 'new']);
    for (const { id, path } of items) await store.restoreTrashed(id, file(`restored/${path}`));
    const expected = {
      'restored/': null,
      'restored/a': 'a',
      'restored/g/': null,
      'restored/g/b': 'b',
      'restored/new': 'new',
    };
    assert.deepEqual(await treeOf(store), { a: 'a', 'f/': null, 'f/b': 'b', ...expected });
  });

  it('is found in a history of several pages, and on a branch that was force-pushed', async (t) => {
    const files = { a: 'a', b: 'b', c: 'c' };
    const { store: deleting, other, repository, host } = await open(t, { files }, { trust: 0 });
    const store = other();
    const { id } = await trashed(deleting, 'a');
    const head = await repository.git('rev-parse', 'main');
    for (let number = 0; number < 120; number++) await repository.commit({ c: `text ${number}` });
    await trashed(deleting, 'b');
    assert.deepEqual(await pathsInTrash(store), ['b', 'a']);
    await repository.commit({ d: 'd' });
    host.forget();
    assert.deepEqual(await pathsInTrash(store), ['b', 'a']);
    assert.equal(host.requests.filter(({ route }) => route.endsWith('/commits')).length, 1);
    await repository.git('update-ref', 'refs/heads/main', head);
    assert.deepEqual(await pathsInTrash(store), ['a']);
    await store.restoreTrashed(id, file('a'));
    assert.equal(await textOf(store, 'a'), 'a');
  });

  it('gives no access to objects that the path never contained', async (t) => {
    const { store, repository } = await open(t, { files: { secret: 'secret', 'f/a': 'a' } });
    const sha = await repository.git('rev-parse', 'main:secret');
    const ids = [newKeptId(), newKeptId(), newKeptId()] as const;
    const entry = { mode: '100644', sha, size: 6 };
    const lines = [
      formatTrashed({ id: ids[0], path: 'f/stolen', entry }),
      formatTrashed({ id: ids[1], path: 'f/a', entry }),
      formatTrashed({ id: ids[2], path: '../a', entry }),
      'Holdall-Trashed: x 100644 y 6 f/b',
      formatId('0123456789abcdef'),
    ];
    await repository.commit({ 'f/b': 'b' }, `Forged\n\n${lines.join('\n')}`);
    assert.deepEqual((await pathsInTrash(store)).toSorted(), ['f/a', 'f/stolen']);
    for (const id of ids) await assert.rejects(store.restoreTrashed(id, file('f/x')), ofKind('not-found'));
    assert.deepEqual(Object.keys(await treeOf(store)), ['f/', 'f/a', 'f/b', 'secret']);
  });

  it('is recorded in trailers that trigger no action of GitHub', async (t) => {
    const name = 'closes #1 @team [skip ci] GH-1 ü.txt';
    const { store, repository } = await open(t, { files: { [`f/${name}`]: 'x', 'f/b': 'y' } });
    await trashed(store, `f/${name}`, '@änn GH-2/#3');
    await trashed(store, 'f/');
    const messages = (await messagesIn(repository)).slice(0, 2).join('\n');
    assert.match(messages, /^Holdall-Trashed: /m);
    assert.doesNotMatch(messages, /[#@[](?!\u200b)|\bGH-\d/);
    const [, item] = (await store.listTrash()).items;
    assert.deepEqual([item?.path, item?.user], [`f/${name}`, '@änn GH-2/#3']);
  });

  it('splits long records into several commits', async (t) => {
    const names = Array.from({ length: 60 }, (_, number) => `${'x'.repeat(900)} ${number}`);
    const files = Object.fromEntries([...names, 'last'].map((name) => [name, name]));
    const { store, repository } = await open(t, { files }, { gatherFor: 300 });
    await Promise.all(names.map((name) => trashed(store, name)));
    const messages = await messagesIn(repository);
    assert.ok(messages.length > 2 && messages.length < 10, `${messages.length} commits`);
    for (const message of messages) assert.ok(message.length < 150_000);
    assert.equal((await store.listTrash()).items.length, names.length);
  });

  it('keeps a replaced folder, also if a move leaves the same content, but not if a copy changes nothing', async (t) => {
    const { store } = await open(t, { files: { 'f/a': 'new', 'g/a': 'old', 'h/a': 'new' } });
    const kept: string[] = [];
    const onKept = (id: KeptId) => void kept.push(id);
    const options = { replace: true, keep: { user: 'ann', onKept, onUnchanged: () => void kept.push('unchanged') } };
    await store.copyFolder?.(folder('f'), folder('h'), options);
    assert.deepEqual([kept.splice(0), await pathsInTrash(store)], [['unchanged'], []]);
    await store.copyFolder?.(folder('f'), folder('g'), options);
    assert.deepEqual([kept.length, await pathsInTrash(store)], [1, ['g/']]);
    await store.moveFolder?.(folder('f'), folder('h'), options);
    assert.deepEqual([kept.length, await pathsInTrash(store)], [2, ['h/', 'g/']]);
  });
});
