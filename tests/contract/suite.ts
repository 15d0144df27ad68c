import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createFiles } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { comparePaths } from '../../src/model/path.ts';
import type { FileEntry, Store, WriteOptions } from '../../src/model/store.ts';
import { recyclerOf, setRecycler } from '../../src/streams/chunk-recycling.ts';
import { type Backend, emptied, has, testsOf } from './backend.ts';
import { assertSameBytes, file, folder, ofKind, pathsIn, plant, textOf, treeOf, upload, writeAll } from './bytes.ts';
import { NAMES } from './names.ts';

/** The guarantees of `model/store.ts`, for any store. */
export function storeContract(backend: Backend): void {
  describe(`The store contract: ${backend.name}`, () => {
    let store: Store;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ store, close } = await backend.open());
    });
    afterEach(() => close());

    /** Returns the entry of `write`, with a modification time if the store could not return one. */
    const withKnownTime = (written: FileEntry, known: FileEntry): FileEntry => {
      if (!backend.lacks['times-of-writes']) return written;
      assert.equal(written.modified, null);
      return { ...written, modified: known.modified };
    };

    const test = testsOf(backend);

    describe('modification times', () => {
      const TIMES = [
        '2014-07-18T05:01:32.123Z',
        '2019-12-31T23:59:59.999Z',
        '1969-07-20T20:17:40.500Z',
        '2106-02-07T06:28:16.000Z',
      ];

      const writeAt = (path: string, time: string, text = time) =>
        store.write(file(path), { ...upload(text), modified: () => new Date(time) });

      test(['kept-times'], 'keeps the modification time of an upload', async () => {
        for (const time of TIMES) {
          assert.equal((await writeAt(`t/${time}`, time)).modified?.toISOString(), time);
          const found = await store.stat(file(`t/${time}`));
          assert.equal(found.modified?.toISOString(), time);
          assert.ok(found.changed && found.changed.getTime() > Date.parse('2026-01-01'), time);
          assert.deepEqual((await store.read(file(`t/${time}`))).file, found);
        }
      });

      test(['times-in-listings'], 'lists the modification time of an upload', async () => {
        for (const time of TIMES) await writeAt(`t/${time}`, time);
        for (const entry of (await store.list(folder('t'))).entries) {
          assert.equal(entry.kind === 'file' && entry.modified?.toISOString(), entry.path.slice('t/'.length));
        }
      });

      it('reads the modification time after the last byte of the body', async () => {
        let hasEnded = false;
        const body = Readable.from(
          (async function* () {
            yield Buffer.from('text');
            await setImmediate();
            hasEnded = true;
          })(),
        );
        let requested: boolean | undefined;
        const modified = () => {
          requested = hasEnded;
          return undefined;
        };
        await store.write(file('a'), { body, type: 'text/plain', modified });
        assert.notEqual(requested, false);
      });

      it('returns only modification times that it stored', async () => {
        const { modified } = await writeAt('a', '9999-12-31T23:59:59.999Z');
        assert.ok(modified === null || modified.toISOString() === '9999-12-31T23:59:59.999Z' || modified <= new Date());
      });

      it('gives each version a distinct etag, even with equal size and time', async () => {
        const etags = [];
        for (let version = 0; version < 8; version++) {
          etags.push((await writeAt('a', '2014-07-18T05:01:32.000Z', `version ${version}`)).etag);
          assert.equal((await store.stat(file('a'))).etag, etags.at(-1));
        }
        assert.equal(new Set(etags).size, etags.length);
      });

      test(['kept-times'], 'keeps the modification time in copies and moves', async () => {
        const [time = ''] = TIMES;
        await writeAt('f/a', time);
        const files = createFiles(store, { presignExpires: 60 });
        await files.copyFile(file('f/a'), file('copy'), { replace: false });
        await files.moveFile(file('copy'), file('moved'), { replace: false });
        await files.copyFolder(folder('f'), folder('g'), { replace: false });
        await files.moveFolder(folder('g'), folder('h'), { replace: false });
        for (const path of ['moved', 'h/a']) {
          const entry = await store.stat(file(path));
          assert.equal(entry.modified?.toISOString(), time, path);
          assert.ok(entry.changed && entry.changed.getTime() > Date.parse('2026-01-01'), path);
        }
      });
    });

    describe('list', () => {
      it('returns no entries for an empty root, and not-found for a missing folder', async () => {
        assert.deepEqual(await store.list(folder('')), { entries: [], cursor: undefined });
        await assert.rejects(store.list(folder('a')), ofKind('not-found'));
      });

      it('returns only direct children, with the full metadata of files', async () => {
        await plant(store, { 'a/b.txt': 'hello', 'a/c/d.txt': 'x', 'e.txt': '' });
        const { entries } = await store.list(folder('a'));
        const [first, second] = entries;
        assert.deepEqual(
          entries.map((entry) => [entry.kind, entry.path]),
          [
            ['file', 'a/b.txt'],
            ['folder', 'a/c/'],
          ],
        );
        assert.ok(first?.kind === 'file' && second?.kind === 'folder');
        assert.deepEqual(first, await store.stat(file('a/b.txt')));
        assert.equal(first.size, 5);
        assert.equal(first.type, 'text/plain');
        assert.match(first.etag, /^[^"]+$/);
      });

      it('fails with not-found for a file', async () => {
        await plant(store, { a: 'x' });
        await assert.rejects(store.list(folder('a')), ofKind('not-found'));
      });

      it('sorts by UTF-8 bytes, with a trailing slash for folders', async () => {
        const names = ['a', 'a-b', 'a.txt', 'ab', 'B', 'é', '\uffee', '\u{1f600}', 'z'];
        await writeAll(store, Object.fromEntries(names.map((name) => [`f/${name}`, name])));
        await plant(store, { 'f/a+b/': null, 'f/a b/': null, 'f/zz/': null });
        const paths = await pathsIn(store, 'f');
        assert.deepEqual(
          paths,
          paths.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))),
        );
        assert.equal(paths.length, names.length + 3);
      });

      it('returns every child once and in the same order for every page size', async () => {
        await writeAll(store, Object.fromEntries(Array.from({ length: 23 }, (_, number) => [`f/${number}`, 'x'])));
        await plant(store, { 'f/folder/': null });
        const whole = await pathsIn(store, 'f');
        assert.equal(whole.length, 24);
        for (const limit of [1, 2, 7, 23, 24, 25]) assert.deepEqual(await pathsIn(store, 'f', limit), whole);
      });

      it('continues after the last entry when files change between two pages', async () => {
        await writeAll(store, { b: 'b', d: 'd', f: 'f', h: 'h' });
        const first = await store.list(folder(''), { limit: 2 });
        await store.remove(file('d'));
        await store.write(file('a'), upload('a'));
        const second = await store.list(folder(''), { limit: 2, cursor: first.cursor });
        assert.deepEqual(
          second.entries.map((entry) => entry.path),
          ['f', 'h'],
        );
      });

      it('rejects a cursor that no listing of the folder returned', async () => {
        await plant(store, { '0': 'x', 'a/b': 'x', 'a/c': 'x', d: 'x' });
        const ofRoot = (await store.list(folder(''), { limit: 1 })).cursor ?? '';
        const ofFolder = (await store.list(folder('a'), { limit: 1 })).cursor ?? '';
        const texts = [
          'elsewhere',
          '["elsewhere/x"]',
          '[""]',
          '["\\ud800"]',
          '["d","\\ud800"]',
          '[ "d" ]',
          '["d",null]',
        ];
        const nonsense = ['', '%', 'xxx', 'no cursor', ...texts.map((text) => Buffer.from(text).toString('base64url'))];
        const cursors = {
          '': [...nonsense, `${ofRoot}=`, `${ofRoot} `, ofFolder],
          a: [...nonsense, `${ofFolder}=`, `${ofFolder} `, ofRoot],
        };
        for (const [path, wrong] of Object.entries(cursors)) {
          for (const cursor of wrong) {
            await assert.rejects(store.list(folder(path), { cursor }), ofKind('invalid-request'), `${path}: ${cursor}`);
          }
        }
      });
    });

    describe('write and read', () => {
      it('keeps every byte, also of an empty file', async () => {
        const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
        const written = await store.write(file('a/b.bin'), {
          body: Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]),
          type: 'x/y',
        });
        assert.equal(written.size, bytes.length);
        const read = await store.read(file('a/b.bin'));
        assert.deepEqual(read.file, withKnownTime(written, read.file));
        assertSameBytes(await buffer(read.body), bytes);
        await store.write(file('empty'), { body: Readable.from([]), size: 0, type: 'x/y' });
        assert.equal(await textOf(store, 'empty'), '');
      });

      it('recycles each chunk of an upload at most once, after the last read', async () => {
        const chunks = Array.from({ length: 40 }, () => randomBytes(70_000));
        const bytes = Buffer.concat(chunks);
        const recycled: Buffer[] = [];
        const body = Readable.from(chunks);
        setRecycler(body, (chunk) => void recycled.push(chunk.fill(0)));
        await store.write(file('a'), { body, type: 'x/y' });
        assert.ok((await buffer((await store.read(file('a'))).body)).equals(bytes));
        assert.equal(new Set(recycled).size, recycled.length);
      });

      it('does not modify the chunks of a read that are not recycled', async () => {
        const bytes = randomBytes(3_000_000);
        await store.write(file('a'), { body: Readable.from([bytes]), type: 'x/y' });
        const { body } = await store.read(file('a'));
        const recycle = recyclerOf(body);
        const chunks: Buffer[] = [];
        for await (const chunk of body as AsyncIterable<Buffer>) {
          const isKept = chunks.length % 3 === 0;
          chunks.push(isKept ? chunk : Buffer.from(chunk));
          if (!isKept) recycle?.(chunk);
        }
        assert.ok(Buffer.concat(chunks).equals(bytes));
      });

      it('replaces the entire file and changes its etag', async () => {
        const before = await store.write(file('a'), upload('a long text'));
        const after = await store.write(file('a'), upload('short'));
        assert.equal(await textOf(store, 'a'), 'short');
        assert.notEqual(after.etag, before.etag);
        const entry = await store.stat(file('a'));
        assert.deepEqual(entry, withKnownTime(after, entry));
      });

      it('gives a reader a single version during concurrent writes', async () => {
        const old = 'old '.repeat(100_000);
        await store.write(file('a'), upload(old));
        const { body } = await store.read(file('a'));
        await store.write(file('a'), upload('new'));
        assert.equal((await buffer(body)).toString(), old);
      });

      it('keeps the old file when the body fails or has the wrong size', async () => {
        await store.write(file('a'), upload('old'));
        const broken = Readable.from(
          (async function* () {
            yield Buffer.from('new');
            throw new Error('interrupted');
          })(),
        );
        await assert.rejects(store.write(file('a'), { body: broken, type: 'x/y' }), /interrupted/);
        assert.ok(broken.destroyed);
        await assert.rejects(store.write(file('a'), { ...upload('new'), size: 4 }), ofKind('invalid-request'));
        await assert.rejects(store.write(file('b'), { ...upload('new'), size: 2 }), ofKind('invalid-request'));
        assert.deepEqual(await treeOf(store), { a: 'old' });
      });

      it('keeps the old file when the write is cancelled', async () => {
        await store.write(file('a'), upload('old'));
        const controller = new AbortController();
        const endless = Readable.from(
          (async function* () {
            for (;;) {
              yield Buffer.alloc(1024);
              await setImmediate();
              controller.abort(new Error('cancelled'));
            }
          })(),
        );
        await assert.rejects(store.write(file('a'), { body: endless, type: 'x/y' }, { signal: controller.signal }));
        assert.ok(endless.destroyed);
        assert.equal(await textOf(store, 'a'), 'old');
      });

      it('reads ranges and returns their bounds', async () => {
        await store.write(file('a'), upload('0123456789'));
        const cases = [
          [{ start: 0, end: 0 }, '0', { start: 0, end: 0 }],
          [{ start: 3, end: 5 }, '345', { start: 3, end: 5 }],
          [{ start: 7 }, '789', { start: 7, end: 9 }],
          [{ start: 8, end: 100 }, '89', { start: 8, end: 9 }],
          [{ suffix: 4 }, '6789', { start: 6, end: 9 }],
          [{ suffix: 40 }, '0123456789', { start: 0, end: 9 }],
        ] as const;
        for (const [range, text, resolved] of cases) {
          const content = await store.read(file('a'), { range });
          assert.equal((await buffer(content.body)).toString(), text);
          assert.deepEqual(content.range, resolved);
          assert.equal(content.file.size, 10);
        }
        for (const range of [{ start: 10 }, { start: 11, end: 12 }, { suffix: 0 }]) {
          await assert.rejects(store.read(file('a'), { range }), ofKind('range-unsatisfiable'));
        }
        await store.write(file('empty'), upload(''));
        await assert.rejects(store.read(file('empty'), { range: { start: 0 } }), ofKind('range-unsatisfiable'));
      });

      it('reads only the requested version', async () => {
        const { etag } = await store.write(file('a'), upload('old'));
        assert.equal((await buffer((await store.read(file('a'), { ifMatch: etag })).body)).toString(), 'old');
        await store.write(file('a'), upload('newer'));
        await assert.rejects(store.read(file('a'), { ifMatch: etag }), ofKind('condition-failed'));
      });

      it('fails to write over an existing file with the condition "absent"', async () => {
        await store.write(file('a'), upload('first'), { condition: 'absent' });
        await assert.rejects(
          store.write(file('a'), upload('second'), { condition: 'absent' }),
          ofKind('condition-failed'),
        );
        assert.equal(await textOf(store, 'a'), 'first');
      });

      test(['atomic-conditions'], 'lets exactly one of many concurrent creations succeed', async () => {
        const writes = Array.from({ length: 20 }, (_, number) =>
          store.write(file('f/a'), upload(`writer ${number}`), { condition: 'absent' }),
        );
        const outcomes = await Promise.allSettled(writes);
        const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
        assert.equal(await textOf(store, 'f/a'), `writer ${winner}`);
      });

      test(
        ['atomic-conditions'],
        'lets exactly one of many concurrent replacements of one version succeed',
        async () => {
          let { etag } = await store.write(file('f/a'), upload('round 0'));
          for (const round of [1, 2, 3]) {
            const writes = Array.from({ length: 8 }, (_, number) =>
              store.write(file('f/a'), upload(`round ${round}, writer ${number}`), { condition: { etag } }),
            );
            const outcomes = await Promise.allSettled(writes);
            const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
            assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
            assert.equal(await textOf(store, 'f/a'), `round ${round}, writer ${winner}`);
            ({ etag } = await store.stat(file('f/a')));
          }
        },
      );

      it('replaces only the requested version', async () => {
        const { etag } = await store.write(file('a'), upload('one'));
        await store.write(file('a'), upload('two'), { condition: { etag } });
        await assert.rejects(
          store.write(file('a'), upload('three'), { condition: { etag } }),
          ofKind('condition-failed'),
        );
        await assert.rejects(
          store.write(file('b'), upload('three'), { condition: { etag } }),
          ofKind('condition-failed'),
        );
        assert.deepEqual(await treeOf(store), { a: 'two' });
      });

      test(['outcomes-of-writes'], 'reports whether it created or replaced a file', async () => {
        const outcomes = await outcomesOf(
          (options) => store.write(file('f/a'), upload('one'), options),
          (options) => store.write(file('f/a'), upload('two'), options),
          // Some stores do nothing if the content is the same.
          (options) => store.write(file('f/a'), upload('two'), options),
          (options) => store.write(file('f/b'), upload('two'), options),
        );
        assert.deepEqual(outcomes, [false, true, true, false]);
      });

      test(['listVersions'], 'reports whether it created or replaced a file that it keeps as a version', async () => {
        const outcomes = await outcomesOf(
          (options) => store.write(file('a'), upload('one'), { ...options, keep: {} }),
          (options) => store.write(file('a'), upload('two'), { ...options, keep: {} }),
        );
        assert.deepEqual(outcomes, [false, true]);
      });

      it('reports the outcome of a write that has a condition, and none of one that fails', async () => {
        const absent = { condition: 'absent' } as const;
        const outcomes = await outcomesOf(
          (options) => store.write(file('a'), upload('one'), { ...options, ...absent }),
          (options) => store.write(file('a'), upload('two'), { ...options, ...absent }),
        );
        assert.deepEqual(outcomes, [false, undefined]);
        const { etag } = await store.stat(file('a'));
        const replace = (options: WriteOptions) =>
          store.write(file('a'), upload('three'), { ...options, condition: { etag } });
        assert.deepEqual(await outcomesOf(replace, replace), [true, undefined]);
      });

      test(['stage', 'outcomes-of-writes'], 'reports the outcome of staged uploads', async () => {
        const commit = async (options: WriteOptions) => {
          const staged = await store.stage?.({ body: Readable.from([Buffer.from('staged')]) });
          await staged?.commit(file('a'), { type: 'text/plain' }, options);
        };
        assert.deepEqual(await outcomesOf(commit, commit), [false, true]);
      });

      test(['stored-types'], 'keeps the media type', async () => {
        await store.write(file('a'), upload('x', 'image/x-own; q="a b"'));
        assert.equal((await store.stat(file('a'))).type, 'image/x-own; q="a b"');
      });

      it('fails with not-found for missing files and for folders', async () => {
        await plant(store, { 'a/b': 'x' });
        for (const path of ['missing', 'a', 'a/c', 'a/b/c', 'x/y']) {
          await assert.rejects(store.stat(file(path)), ofKind('not-found'), path);
          await assert.rejects(store.read(file(path)), ofKind('not-found'), path);
          await assert.rejects(store.remove(file(path)), ofKind('not-found'), path);
        }
      });

      test(['one-kind-per-name'], 'rejects a write over a folder or below a file, and changes nothing', async () => {
        const tree = { a: 'file', 'b/': null, 'b/c': 'x' };
        await plant(store, tree);
        await assert.rejects(store.write(file('b'), upload('x')), ofKind('wrong-kind'));
        await assert.rejects(store.write(file('a/c'), upload('x')), ofKind('wrong-kind'));
        await assert.rejects(store.write(file('a/b/c'), upload('x')), ofKind('wrong-kind'));
        assert.deepEqual(await treeOf(store), tree);
      });

      it('accepts every valid name', async () => {
        await writeAll(store, Object.fromEntries(NAMES.map((name) => [`f/${name}/${name}`, name])));
        const expected = NAMES.map((name) => `f/${name}/`).toSorted(comparePaths);
        assert.deepEqual(await pathsIn(store, 'f'), expected);
        for (const name of NAMES) {
          assert.deepEqual(await pathsIn(store, `f/${name}`), [`f/${name}/${name}`]);
          assert.equal(await textOf(store, `f/${name}/${name}`), name);
        }
      });
    });

    if (has(backend, 'stage'))
      describe('stage', () => {
        it('keeps staged bytes until commit or abort', async () => {
          const stage = store.stage ?? assert.fail();
          const staged = await stage({ body: Readable.from([Buffer.from('staged')]) });
          assert.deepEqual(await treeOf(store), {});
          const entry = await staged.commit(file('f/a'), { type: 'text/plain' });
          assert.deepEqual(await store.stat(file('f/a')), entry);
          await staged.abort();
          const second = await stage({ body: Readable.from([Buffer.from('x')]) });
          await assert.rejects(
            second.commit(file('f/a'), { type: 'x/y' }, { condition: 'absent' }),
            ofKind('condition-failed'),
          );
          await second.abort();
          assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'staged' });
        });

        it('commits to another path after the first one was taken', async () => {
          const stage = store.stage ?? assert.fail();
          await store.write(file('a'), upload('first'));
          const staged = await stage({ body: Readable.from([Buffer.from('second')]) });
          const commit = (path: string) => staged.commit(file(path), { type: 'x/y' }, { condition: 'absent' });
          await assert.rejects(commit('a'), ofKind('condition-failed'));
          await commit('b');
          await staged.abort();
          assert.deepEqual(await treeOf(store), { a: 'first', b: 'second' });
        });
      });

    describe('remove', () => {
      it('removes only the named file', async () => {
        await plant(store, { 'f/a': '1', 'f/ab': '2', 'f/a.b': '3' });
        await store.remove(file('f/a'));
        assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a.b': '3', 'f/ab': '2' });
      });

      it('removes only the requested version', async () => {
        const { etag } = await store.write(file('a'), upload('old'));
        await store.write(file('a'), upload('newer'));
        await assert.rejects(store.remove(file('a'), { ifMatch: etag }), ofKind('condition-failed'));
        assert.equal(await textOf(store, 'a'), 'newer');
        await store.remove(file('a'), { ifMatch: (await store.stat(file('a'))).etag });
        assert.deepEqual(await treeOf(store), {});
      });
    });

    describe('folders', () => {
      it('are created with their parents, idempotently, and never over a file', async () => {
        await store.createFolder(folder('a/b/c'));
        await store.createFolder(folder('a/b/c'));
        await store.createFolder(folder(''));
        await store.write(file('f'), upload('x'));
        if (!backend.lacks['one-kind-per-name']) {
          await assert.rejects(store.createFolder(folder('f')), ofKind('wrong-kind'));
          await assert.rejects(store.createFolder(folder('f/g')), ofKind('wrong-kind'));
        }
        assert.deepEqual(await treeOf(store), { 'a/': null, 'a/b/': null, 'a/b/c/': null, f: 'x' });
      });

      it('are removed only when empty', async () => {
        await plant(store, { 'a/b': 'x', 'c/': null });
        await assert.rejects(store.removeFolder(folder('a')), ofKind('already-exists'));
        await assert.rejects(store.removeFolder(folder('missing')), ofKind('not-found'));
        await assert.rejects(store.removeFolder(folder('a/b')), ofKind('not-found'));
        await store.removeFolder(folder('c'));
        assert.deepEqual(await treeOf(store), { 'a/': null, 'a/b': 'x' });
      });

      it('remain after the removal of their last file', async () => {
        await plant(store, { 'a/b': 'x' });
        await store.remove(file('a/b'));
        assert.deepEqual(await treeOf(store), emptied(backend, { 'a/': null }, 'a/'));
      });
    });

    if (!has(backend, 'one-kind-per-name'))
      it('holds a file and a folder of the same name', async () => {
        await plant(store, { a: 'file', 'a/b': 'in the folder', 'a.': 'neighbour', 'e/': null, e: 'file' });
        assert.deepEqual(await pathsIn(store, ''), ['a', 'a.', 'a/', 'e', 'e/']);
        assert.equal(await textOf(store, 'a'), 'file');
        await store.remove(file('a'));
        await store.remove(file('e'));
        assert.deepEqual(await treeOf(store), { 'a.': 'neighbour', 'a/': null, 'a/b': 'in the folder', 'e/': null });
      });

    test(['check'], 'passes its own check', async () => {
      await store.check?.();
    });
  });
}

/** Returns what each write reports: whether it replaced a file, or undefined if it reports nothing. */
async function outcomesOf(
  ...writes: readonly ((options: WriteOptions) => Promise<unknown>)[]
): Promise<readonly (boolean | undefined)[]> {
  const outcomes: (boolean | undefined)[] = [];
  for (const write of writes) {
    const reported: boolean[] = [];
    const onOutcome: WriteOptions['onOutcome'] = ({ replaced }) => void reported.push(replaced);
    await write({ onOutcome }).catch((error: unknown) => assert.ok(isStoreError(error, 'condition-failed')));
    outcomes.push(reported.at(-1));
  }
  return outcomes;
}
