import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import type { Capability, FileVersion, Store, VersionStore } from '../../src/model/store.ts';
import { type Backend, emptied, type Trait, testsOf } from './backend.ts';
import { file, folder, ofKind, textOf, treeOf, upload } from './bytes.ts';

/** Ids that no store has issued for a version of the file. */
const FOREIGN_IDS = [newKeptId(), 'a', '_', '~', `${newKeptId()}~x`, 'x'.repeat(300)] as KeptId[];

/** Tests the members of `VersionStore`. */
export function versionsContract(backend: Backend): void {
  describe(`The contract of versions: ${backend.name}`, { concurrency: 1 }, () => {
    let store: Store & VersionStore;
    let close: () => Promise<void>;
    let kept: KeptId[];

    beforeEach(async () => {
      const opened = await backend.open();
      ({ close } = opened);
      store = opened.store as Store & VersionStore;
      kept = [];
    });
    afterEach(() => close());

    /** Defines a test, on stores that have the members and traits that it needs. */
    const test = (rule: string, body: () => Promise<void>, ...needed: readonly (Capability | Trait)[]) =>
      testsOf(backend)(needed, rule, body);

    const keep = (user?: string) => ({ user, onKept: (id: KeptId) => void kept.push(id) });
    const write = (path: string, text: string, user?: string) =>
      store.write(file(path), upload(text), { keep: keep(user) });

    const versionsOf = async (path: string, limit?: number): Promise<FileVersion[]> => {
      const versions: FileVersion[] = [];
      let cursor: string | undefined;
      do {
        const options = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
        const page = await store.listVersions(file(path), options);
        versions.push(...page.versions);
        cursor = page.cursor;
      } while (cursor !== undefined);
      return versions;
    };
    const textOfVersion = async (path: string, id: KeptId) =>
      (await buffer((await store.readVersion(file(path), id)).body)).toString();
    const textsOf = async (path: string, limit?: number) =>
      Promise.all((await versionsOf(path, limit)).map(({ id }) => textOfVersion(path, id)));

    test('has none for a path that never existed, and for a new file', async () => {
      assert.deepEqual(await versionsOf('f/a'), []);
      await write('f/a', 'first');
      assert.deepEqual([await versionsOf('f/a'), kept], [[], []]);
    });

    test('keeps what a write replaces, the newest first, in pages', async () => {
      for (const text of ['1', '22', '333', '4444']) await write('ä b/%25 #?.txt', text, `user ${text}`);
      const versions = await versionsOf('ä b/%25 #?.txt');
      assert.deepEqual(
        versions.map(({ size }) => size),
        [3, 2, 1],
      );
      assert.deepEqual(
        versions.map(({ id }) => id),
        kept.toReversed(),
      );
      for (const limit of [1, 2, 3]) assert.deepEqual(await textsOf('ä b/%25 #?.txt', limit), ['333', '22', '1']);
      for (const { replacedAt } of versions) assert.ok(Math.abs(replacedAt.getTime() - Date.now()) < 60_000);
      assert.equal(await textOf(store, 'ä b/%25 #?.txt'), '4444');
      await assert.rejects(store.listVersions(file('a'), { cursor: '../x' }), ofKind('invalid-request'));
    });

    test('records who replaced a version, and when it was modified', async () => {
      const { modified } = await store.write(file('a'), upload('old'));
      const known = modified ?? (await store.stat(file('a'))).modified;
      await write('a', 'new', 'änn "x"/..');
      await write('a', 'newer');
      const [anonymous, signedIn] = await versionsOf('a');
      assert.ok(anonymous && signedIn && !('replacedBy' in anonymous));
      assert.equal(signedIn.replacedBy, 'änn "x"/..');
      if (!backend.lacks['modification-times']) assert.deepEqual(signedIn.modified, known);
    });

    test(
      'keeps nothing without being asked to',
      async () => {
        await store.write(file('a'), upload('old'));
        await store.write(file('a'), upload('new'));
        assert.deepEqual(await versionsOf('a'), []);
      },
      'purgeVersions',
      'versions-on-request',
    );

    test('has no version for a write that fails', async () => {
      await write('a', 'old');
      const failing = Readable.from(
        (async function* () {
          yield Buffer.from('n');
          throw new Error('interrupted');
        })(),
      );
      await assert.rejects(store.write(file('a'), { body: failing, type: 'text/plain' }, { keep: keep() }));
      const incomplete = { ...upload('new'), size: 4 };
      await assert.rejects(store.write(file('a'), incomplete, { keep: keep() }), ofKind('invalid-request'));
      const options = { condition: 'absent', keep: keep() } as const;
      await assert.rejects(store.write(file('a'), upload('new'), options), ofKind('condition-failed'));
      assert.deepEqual([await versionsOf('a'), kept, await textOf(store, 'a')], [[], [], 'old']);
    });

    test(
      'keeps what a staged upload replaces',
      async () => {
        await write('a', 'old');
        const staged = await store.stage?.(upload('new'));
        await staged?.commit(file('a'), { type: 'text/plain' }, { keep: keep('ann') });
        assert.deepEqual([await textOf(store, 'a'), await textsOf('a'), kept.length], ['new', ['old'], 1]);
      },
      'stage',
    );

    for (const name of ['copy', 'move'] as const) {
      test(
        `keeps what ${name} replaces`,
        async () => {
          const member = store[name] ?? assert.fail();
          await write('a', 'new');
          await member(file('a'), file('b'), { replace: true, keep: keep() });
          assert.deepEqual([await versionsOf('b'), kept], [[], []], 'Nothing was replaced.');
          await write('a', 'newer');
          await write('z', 'old');
          await assert.rejects(
            member(file('a'), file('z'), { replace: false, keep: keep() }),
            ofKind('already-exists'),
          );
          assert.deepEqual(await versionsOf('z'), []);
          await member(file('a'), file('z'), { replace: true, keep: keep('ann') });
          assert.deepEqual([await textOf(store, 'z'), await textsOf('z')], ['newer', ['old']]);
          assert.equal((await versionsOf('z'))[0]?.replacedBy, 'ann');
        },
        name,
      );
    }

    test('reads a version like a file', async () => {
      for (const text of ['version one', 'version two', 'three']) await write('f/a.txt', text);
      const [second, first] = await versionsOf('f/a.txt');
      assert.ok(first && second);
      const content = await store.readVersion(file('f/a.txt'), first.id);
      content.body.destroy();
      const { path, size, type, etag } = content.file;
      assert.deepEqual({ path, size, type }, { path: 'f/a.txt', size: 11, type: 'text/plain' });
      const ranged = await store.readVersion(file('f/a.txt'), first.id, { range: { start: 8, end: 9 } });
      assert.equal((await buffer(ranged.body)).toString(), 'on');
      assert.deepEqual(ranged.range, { start: 8, end: 9 });
      assert.equal(ranged.file.etag, etag);
      const other = await store.readVersion(file('f/a.txt'), second.id);
      other.body.destroy();
      assert.notEqual(other.file.etag, etag);
      const unmatched = store.readVersion(file('f/a.txt'), first.id, { ifMatch: other.file.etag });
      await assert.rejects(unmatched, ofKind('condition-failed'));
      const outside = store.readVersion(file('f/a.txt'), first.id, { range: { start: 11, end: 12 } });
      await assert.rejects(outside, ofKind('range-unsatisfiable'));
    });

    test('reads empty and large versions', async () => {
      const large = 'x'.repeat(300_000);
      for (const text of ['', large, 'last']) await write('a', text);
      assert.deepEqual(await textsOf('a'), [large, '']);
    });

    test('is not-found for ids that it did not issue, and for ids of another file', async () => {
      for (const path of ['a', 'b']) for (const text of ['1', '2']) await write(path, text);
      const [ofB] = await versionsOf('b');
      assert.ok(ofB);
      const foreign = backend.lacks['versions-of-one-file'] ? FOREIGN_IDS : [...FOREIGN_IDS, ofB.id];
      for (const id of foreign) {
        await assert.rejects(store.readVersion(file('a'), id), ofKind('not-found'), id);
        await assert.rejects(store.restoreVersion(file('a'), id, {}), ofKind('not-found'), id);
      }
      assert.equal(await textOf(store, 'a'), '2');
    });

    test('restores a version, and keeps the content that it replaces', async () => {
      for (const text of ['first', 'second']) await write('f/a', text);
      const [first] = await versionsOf('f/a');
      assert.ok(first);
      const restored = await store.restoreVersion(file('f/a'), first.id, { keep: keep('ann') });
      assert.deepEqual([restored.path, restored.size], ['f/a', 5]);
      assert.deepEqual([await textOf(store, 'f/a'), await textsOf('f/a')], ['first', ['second', 'first']]);
      assert.equal((await versionsOf('f/a'))[0]?.replacedBy, 'ann');
      const absent = store.restoreVersion(file('f/a'), first.id, { condition: 'absent', keep: keep() });
      await assert.rejects(absent, ofKind('condition-failed'));
      assert.deepEqual(await textsOf('f/a'), ['second', 'first']);
    });

    test('restores a version of a file that was deleted, and its folder', async () => {
      for (const text of ['first', 'second']) await write('f/a', text);
      await store.remove(file('f/a'));
      if (!backend.lacks['emptied-folders']) await store.removeFolder(folder('f'));
      assert.deepEqual(await treeOf(store), {});
      const first = (await versionsOf('f/a')).find(({ size }) => size === 5);
      assert.ok(first);
      await store.restoreVersion(file('f/a'), first.id, { condition: 'absent', keep: keep() });
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'first' });
    });

    test(
      'restores no version over a folder',
      async () => {
        for (const text of ['first', 'second']) await write('a', text);
        const [first] = await versionsOf('a');
        assert.ok(first);
        await store.remove(file('a'));
        await store.createFolder(folder('a'));
        await assert.rejects(store.restoreVersion(file('a'), first.id, { keep: keep() }), ofKind('wrong-kind'));
      },
      'one-kind-per-name',
    );

    test(
      'belongs to its path when the file is moved, deleted or created again',
      async () => {
        for (const text of ['1', '2']) await write('f/a', text);
        if (store.move) await store.move(file('f/a'), file('b'), { replace: false });
        else await store.remove(file('f/a'));
        assert.deepEqual([await textsOf('f/a'), await textsOf('b')], [['1'], []]);
        await write('f/a', '3');
        await write('f/a', '4');
        assert.deepEqual((await textsOf('f/a')).slice(0, 1), ['3']);
        assert.ok((await textsOf('f/a')).includes('1'));
      },
      'purgeVersions',
    );

    test('is invisible in listings', async () => {
      for (const text of ['1', '2']) await write('f/a', text);
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': '2' });
      const walked = await Array.fromAsync(store.walk?.(folder('')) ?? []);
      assert.ok(walked.every(({ path }) => path === 'f/' || path === 'f/a'));
    });

    test('keeps every content that concurrent writes replace, once', async () => {
      await write('a', 'first');
      const texts = Array.from({ length: 12 }, (_, number) => `text ${number}`);
      await Promise.all(texts.map((text) => write('a', text)));
      const all = [await textOf(store, 'a'), ...(await textsOf('a'))];
      assert.deepEqual(all.toSorted(), ['first', ...texts].toSorted());
      assert.equal(new Set(kept).size, texts.length);
    });

    test(
      'purges the versions of a file or folder, and of no neighbour',
      async () => {
        const paths = ['a', 'ab', 'f/a', 'f/g/a', 'fg/a', 'f'];
        const usable = backend.lacks['one-kind-per-name'] ? paths : paths.slice(0, -1);
        for (const path of usable) for (const text of ['1', '2']) await write(path, text);
        await store.purgeVersions?.(file('a'));
        await store.purgeVersions?.(folder('f'));
        await store.purgeVersions?.(folder('missing'));
        const counts: Record<string, number> = {};
        for (const path of usable) counts[path] = (await versionsOf(path)).length;
        const expected = { a: 0, ab: 1, 'f/a': 0, 'f/g/a': 0, 'fg/a': 1, f: 1 };
        assert.deepEqual(counts, Object.fromEntries(Object.entries(expected).filter(([path]) => path in counts)));
        assert.equal(await textOf(store, 'f/a'), '2');
      },
      'purgeVersions',
    );

    test(
      'purges only versions that were replaced before a time',
      async () => {
        for (const text of ['1', '2']) await write('f/a', text);
        const [first] = await versionsOf('f/a');
        assert.ok(first);
        const before = new Date(first.replacedAt.getTime() + 1);
        while (Date.now() <= before.getTime()) await delay(1);
        await write('f/a', '3');
        await store.purgeVersions?.(folder('f'), { before });
        assert.deepEqual(await textsOf('f/a'), ['2']);
      },
      'purgeVersions',
    );

    test(
      'expires versions by age, and by size only those of folders that exceed an equal share',
      async () => {
        for (const text of ['1', '22', '333']) await write('a', text);
        for (const text of ['4444', '55555', '666666']) await write('f/b', text);
        const limit = { before: new Date(0) };
        assert.deepEqual(await store.expireVersions?.(limit), { removed: 0, remaining: 4, bytes: 12 });
        assert.deepEqual(await store.expireVersions?.({ maxBytes: 9 }), { removed: 1, remaining: 3, bytes: 8 });
        // The root needs less than its share, so "f/" loses its oldest version.
        assert.deepEqual([await textsOf('a'), await textsOf('f/b')], [['22', '1'], ['55555']]);
        assert.deepEqual(await store.expireVersions?.({ maxBytes: 4 }), { removed: 1, remaining: 2, bytes: 3 });
        const all = { before: new Date(Date.now() + 60_000) };
        assert.deepEqual(await store.expireVersions?.(all), { removed: 2, remaining: 0, bytes: 0 });
        assert.deepEqual(await treeOf(store), { a: '333', 'f/': null, 'f/b': '666666' });
      },
      'expireVersions',
    );

    test(
      'remains when the file is moved to the trash and back',
      async () => {
        for (const text of ['1', '2']) await write('f/a', text);
        const { id } = (await store.moveToTrash?.(file('f/a'), { id: newKeptId() })) ?? assert.fail();
        assert.deepEqual(await treeOf(store), emptied(backend, { 'f/': null }, 'f/'));
        assert.ok((await textsOf('f/a')).includes('1'));
        await store.restoreTrashed?.(id, file('f/a'));
        assert.deepEqual([await textOf(store, 'f/a'), (await textsOf('f/a')).includes('1')], ['2', true]);
      },
      'moveToTrash',
    );
  });
}
