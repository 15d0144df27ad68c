import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  bytesUpload,
  countCommits,
  GET_BRANCH,
  openRepository,
  POST_BLOB,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

describe('A closed store', () => {
  const writes: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
    'a text': (store) => store.write(file('new'), upload('new')),
    bytes: (store) => store.write(file('new'), upload('\0')),
    'a large file': (store) => store.write(file('new'), bytesUpload(randomBytes(100_000))),
    'a removal': (store) => store.remove(file('a')),
    'a folder': (store) => store.createFolder(folder('new')),
    'a copy': (store) => requireMember(store, 'copy')(file('a'), file('b'), { replace: true }),
    'a move of a folder': (store) => requireMember(store, 'moveFolder')(folder('f'), folder('g'), { replace: true }),
  };
  for (const [name, write] of Object.entries(writes)) {
    it(`rejects changes and sends none to the host: ${name}`, async (t) => {
      const { store, host, repository } = await openRepository(t, { files: { a: 'a', 'f/b': 'b' } });
      await store.list(folder(''));
      await requireMember(store, 'close')();
      host.forget();
      await assert.rejects(write(store), ofKind('unavailable'));
      assert.deepEqual(
        sent(host).map(({ route }) => route),
        [],
      );
      assert.equal(await countCommits(repository), 1);
    });
  }

  it('lists cached folders or rejects, and rejects reads', async (t) => {
    const { store } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    await store.list(folder(''));
    await requireMember(store, 'close')();
    const listed = await store.list(folder('')).catch((error: unknown) => error);
    if (listed instanceof Error) assert.equal('kind' in listed && listed.kind, 'unavailable');
    else assert.ok(listed);
    await assert.rejects(store.read(file('a')), ofKind('unavailable'));
  });
});

describe('An upload that waits for the write limit', () => {
  it('fails as soon as its body does, before the uploads that wait before it', async (t) => {
    // Three at once, then one every seven seconds.
    const { store, host } = await openRepository(t, {}, { writesPerMinute: 12 });
    for (const byte of [0, 1, 2]) await requireMember(store, 'stage')(bytesUpload(Buffer.from([0, byte])));
    const left = new AbortController();
    const others = [3, 4].map((byte) =>
      requireMember(store, 'stage')(bytesUpload(Buffer.from([0, byte])), { signal: left.signal }),
    );
    const branchReads = sent(host, GET_BRANCH).length;
    await until('the earlier uploads have read the branch', () => sent(host, GET_BRANCH).length > branchReads);
    const body = new Readable({ read() {} });
    body.push(randomBytes(100_000));
    const branchReadsBefore = sent(host, GET_BRANCH).length;
    const writing = store.write(file('a'), { body, type: 'x/y' });
    await until('the upload has read the branch', () => sent(host, GET_BRANCH).length > branchReadsBefore);
    body.destroy(new Error('The sender left.'));
    await assert.rejects(writing, { message: 'The sender left.' });
    // The uploads before it still wait.
    assert.equal(sent(host, POST_BLOB).length, 3);
    left.abort(new Error('left'));
    for (const other of others) await assert.rejects(other, /left/);
  });
});
