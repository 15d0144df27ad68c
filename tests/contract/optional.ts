import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { MAX_KEY_BYTES, ROOT } from '../../src/model/path.ts';
import type { Capability, Progress, Store } from '../../src/model/store.ts';
import { EFFECTS } from '../../src/stores/layers/wrap.ts';
import { type Backend, has, type Trait, testsOf } from './backend.ts';
import { file, folder, longPath, ofKind, plant, treeOf, upload, writeAll } from './bytes.ts';
import { pendingUploadsContract } from './pending-uploads.ts';
import { trashContract } from './trash.ts';
import { versionsContract } from './versions.ts';

/** The required members of a store. */
const REQUIRED = ['list', 'stat', 'read', 'write', 'remove', 'createFolder', 'removeFolder'] as const;

/** Members of which a store has all or none. */
const TOGETHER: readonly (readonly Capability[])[] = [
  ['createUpload', 'openUpload'],
  ['state', 'changeSince'],
  ['moveToTrash', 'listTrash', 'findTrashed', 'measureTrashed', 'restoreTrashed'],
  ['listVersions', 'readVersion', 'restoreVersion'],
];

/** Members that a store has only together with another one. */
const DEPENDENT: Readonly<Partial<Record<Capability, Capability>>> = {
  removeUploads: 'openUpload',
  presignParts: 'openUpload',
  purgeTrashed: 'moveToTrash',
  purgeVersions: 'listVersions',
  expireVersions: 'listVersions',
};

/**
 * Tests that a store has exactly the optional members that its backend declares, and what `model/store.ts` promises about
 * them.
 */
export function optionalContract(backend: Backend): void {
  // The suites of a remote store spend most of their time waiting. In each, a test has one store, so one test runs at a time.
  describe(`The optional contracts: ${backend.name}`, { concurrency: true }, () => {
    capabilitiesContract(backend);
    if (has(backend, 'moveToTrash')) trashContract(backend);
    if (has(backend, 'listVersions')) versionsContract(backend);
    membersContract(backend);
    if (has(backend, 'openUpload')) pendingUploadsContract(backend);
  });
}

/** Tests the declaration of a backend. */
export function capabilitiesContract(backend: Backend): void {
  describe(`The capabilities of ${backend.name}`, () => {
    it('are exactly the optional members of the open store', async () => {
      const { store, close } = await backend.open();
      const members = (Object.keys(EFFECTS) as (keyof Store)[]).filter((member) => store[member] !== undefined);
      await close();
      assert.deepEqual(members.toSorted(), [...REQUIRED, ...backend.capabilities].toSorted());
    });

    it('include members that belong together', () => {
      for (const members of TOGETHER) {
        assert.ok(has(backend, ...members) || !members.some((member) => has(backend, member)), members.join());
      }
      for (const [member, needed] of Object.entries(DEPENDENT) as [Capability, Capability][]) {
        assert.ok(has(backend, needed) || !has(backend, member), `${member} without ${needed}`);
      }
    });
  });
}

/** Tests the optional members, except those of the trash and of versions. */
function membersContract(backend: Backend): void {
  describe(`The contract of optional store members: ${backend.name}`, { concurrency: 1 }, () => {
    let store: Store;
    let close: () => Promise<void>;

    beforeEach(async () => {
      ({ store, close } = await backend.open());
    });
    afterEach(() => close());

    const test = testsOf(backend);

    /** Defines a test of one member, on stores that have it and the trait. */
    const ofMember = <Name extends Capability>(
      name: Name,
      rule: string,
      body: (member: NonNullable<Store[Name]>) => Promise<void>,
      ...traits: readonly Trait[]
    ) =>
      test([name, ...traits], `${name} ${rule}`, () => body(store[name] ?? assert.fail(`The store has no ${name}.`)));

    const keep = { replace: false };
    const replace = { replace: true };

    ofMember(
      'setModified',
      'sets the time of a file to an ETag that it never had, and keeps its content',
      async (set) => {
        const old = await store.write(file('f/a'), upload('text'));
        const etags = new Set([old.etag]);
        const times = ['2014-07-18T05:01:32.000Z', '1969-07-20T20:17:40.500Z', '2014-07-18T05:01:32.000Z'];
        for (const time of times) {
          const dated = await set(file('f/a'), new Date(time));
          assert.equal(dated.modified?.toISOString(), time);
          assert.ok(dated.changed && dated.changed.getTime() > Date.parse('2026-01-01'));
          assert.deepEqual(await store.stat(file('f/a')), dated);
          assert.deepEqual((await store.list(folder('f'))).entries, [dated]);
          etags.add(dated.etag);
        }
        // Where the ETag is not that of the content, it would otherwise hide a change in between.
        assert.ok(etags.size === 1 || etags.size === times.length + 1);
        assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'text' });
        for (const missing of ['f', 'missing', 'f/a/b']) {
          await assert.rejects(set(file(missing), new Date()), { name: 'StoreError' });
        }
      },
    );

    for (const name of ['copy', 'move'] as const) {
      const after = (source: string) => (name === 'copy' ? { a: source } : {});

      ofMember(name, 'gives the file another path, its folders made', async (member) => {
        await plant(store, { a: 'text' });
        await member(file('a'), file('f/g/b'), keep);
        assert.deepEqual(await treeOf(store), { ...after('text'), 'f/': null, 'f/g/': null, 'f/g/b': 'text' });
      });

      ofMember(name, 'replaces nothing unless it is to', async (member) => {
        await plant(store, { a: 'new', b: 'old' });
        await assert.rejects(member(file('a'), file('b'), keep), ofKind('already-exists'));
        assert.deepEqual(await treeOf(store), { a: 'new', b: 'old' });
        await member(file('a'), file('b'), replace);
        assert.deepEqual(await treeOf(store), { ...after('new'), b: 'new' });
      });

      ofMember(name, 'is not-found without a source, and makes nothing', async (member) => {
        await plant(store, { 'f/': null, b: 'x' });
        for (const options of [keep, replace]) {
          await assert.rejects(member(file('missing'), file('c'), options), ofKind('not-found'));
          await assert.rejects(member(file('f'), file('c'), options), ofKind('not-found'));
        }
        assert.deepEqual(await treeOf(store), { 'f/': null, b: 'x' });
      });

      ofMember(
        name,
        'does not put a file where a folder is, nor below a file',
        async (member) => {
          const tree = { a: 'x', b: 'y', 'f/': null, 'f/g': 'z' };
          await plant(store, tree);
          for (const options of [keep, replace]) {
            for (const to of ['f', 'b/c', 'a/b']) {
              await assert.rejects(member(file('a'), file(to), options), ofKind('wrong-kind'), to);
            }
          }
          assert.deepEqual(await treeOf(store), tree);
        },
        'one-kind-per-name',
      );

      ofMember(
        name,
        'completes exactly one of many concurrent calls that must not replace a file',
        async (member) => {
          const sources = Array.from({ length: 8 }, (_, number) => `source ${number}`);
          await writeAll(store, Object.fromEntries(sources.map((source) => [source, source])));
          const outcomes = await Promise.allSettled(sources.map((source) => member(file(source), file('to'), keep)));
          const winners = sources.filter((_, index) => outcomes[index]?.status === 'fulfilled');
          assert.equal(winners.length, 1);
          const tree = await treeOf(store);
          assert.equal(tree['to'], winners[0]);
          for (const source of sources) {
            assert.equal(tree[source], name === 'move' && source === winners[0] ? undefined : source);
          }
        },
        'atomic-conditions',
      );
    }

    for (const name of ['copyFolder', 'moveFolder'] as const) {
      const source = { 'a/': null, 'a/b': '1', 'a/empty/': null, 'a/f/': null, 'a/f/c': '2' };
      const neighbours = { 'a.txt': 'n', 'ab/': null, 'ab/c': 'n' };
      const at = (path: string) =>
        Object.fromEntries(Object.entries(source).map(([key, text]) => [path + key.slice('a'.length), text]));
      const after = () => (name === 'copyFolder' ? source : {});

      ofMember(name, 'takes everything in it, empty folders too, and no neighbour', async (member) => {
        await plant(store, { ...source, ...neighbours });
        await member(folder('a'), folder('x/y'), keep);
        assert.deepEqual(await treeOf(store), { ...after(), ...neighbours, 'x/': null, ...at('x/y') });
      });

      ofMember(name, 'takes an empty folder', async (member) => {
        await plant(store, { 'a/': null });
        await member(folder('a'), folder('b'), keep);
        assert.deepEqual(await treeOf(store), { ...(name === 'copyFolder' && { 'a/': null }), 'b/': null });
      });

      ofMember(name, 'replaces a folder as a whole, and only when it is to', async (member) => {
        const old = { 'z/': null, 'z/old': 'o', 'z/f/': null, 'z/f/c': 'o' };
        await plant(store, { ...source, ...old });
        const reports: Progress[] = [];
        const onProgress = (progress: Progress) => reports.push(progress);
        await assert.rejects(member(folder('a'), folder('z'), { ...keep, onProgress }), ofKind('already-exists'));
        assert.deepEqual(await treeOf(store), { ...source, ...old });
        assert.ok(!reports.some(({ done }) => done > 0), 'That is known before anything is copied.');
        await member(folder('a'), folder('z'), replace);
        assert.deepEqual(await treeOf(store), { ...after(), ...at('z') });
      });

      ofMember(name, 'is not-found without a source, and refuses a file in the way', async (member) => {
        const tree = { ...source, file: 'x' };
        await plant(store, tree);
        for (const options of [keep, replace]) {
          await assert.rejects(member(folder('missing'), folder('b'), options), ofKind('not-found'));
          await assert.rejects(member(folder('file'), folder('b'), options), ofKind('not-found'));
          if (backend.lacks['one-kind-per-name']) continue;
          await assert.rejects(member(folder('a'), folder('file'), options), ofKind('wrong-kind'));
          await assert.rejects(member(folder('a'), folder('file/b'), options), ofKind('wrong-kind'));
        }
        assert.deepEqual(await treeOf(store), tree);
      });

      ofMember(name, 'refuses what would make a path too long, and changes nothing', async (member) => {
        const deep = longPath('a', (store.maxPathBytes?.() ?? MAX_KEY_BYTES) - 200);
        await store.write(file(deep), upload('deep'));
        const before = await treeOf(store);
        await assert.rejects(member(folder('a'), folder('b'.repeat(230)), keep), ofKind('invalid-path'));
        assert.deepEqual(await treeOf(store), before);
      });
    }

    ofMember('copyFolder', 'leaves nothing when it is cancelled', async (member) => {
      await plant(store, { 'a/b': '1', 'a/c': '2' });
      const before = await treeOf(store);
      await assert.rejects(
        member(folder('a'), folder('x'), { ...keep, signal: AbortSignal.abort(new Error('left')) }),
        /left/,
      );
      assert.deepEqual(await treeOf(store), before);
    });

    ofMember('removeTree', 'removes everything in the folder, and no neighbour', async (member) => {
      await plant(store, { 'a/b': '1', 'a/f/g/c': '2', 'a/empty/': null, ab: 'n', 'a.txt': 'n', 'x/a/b': 'n' });
      const reports: Progress[] = [];
      await member(folder('a'), { onProgress: (progress) => reports.push(progress) });
      assert.deepEqual(await treeOf(store), { 'a.txt': 'n', ab: 'n', 'x/': null, 'x/a/': null, 'x/a/b': 'n' });
      for (const { done, total } of reports) assert.ok(done <= 2 && (total === null || total === 2));
      await assert.rejects(member(folder('a')), ofKind('not-found'));
      await assert.rejects(member(folder('ab')), ofKind('not-found'));
    });

    ofMember('identify', 'knows an item at its other paths, also from the trash', async (identify) => {
      await plant(store, { a: 'a', 'f/': null, 'f/g/b': 'b', 'x/': null, 'x/old': 'old' });
      const before = await Promise.all(
        [file('a'), folder('f'), folder('f/g'), file('f/g/b')].map((path) => identify(path)),
      );
      assert.equal(new Set(before).size, 4);
      for (const identity of before) assert.match(identity ?? '', /^[\x21-\x7e]{1,64}$/);
      await writeAll(store, { 'f/new': 'new' });
      await store.moveFolder?.(folder('f'), folder('x'), replace);
      await store.move?.(file('a'), file('c'), keep);
      const { id } = (await store.moveToTrash?.(folder('x'), { id: newKeptId() })) ?? assert.fail();
      await store.restoreTrashed?.(id, folder('y'));
      const after = [file('c'), folder('y'), folder('y/g'), file('y/g/b')].map((path) => identify(path));
      assert.deepEqual(await Promise.all(after), before);
    });

    ofMember('identify', 'tells a new item from the one that was at its path', async (identify) => {
      const seen = new Set<string | undefined>();
      for (let round = 0; round < 20; round++) {
        await plant(store, { 'f/': null, 'f/a': 'same' });
        seen.add(await identify(folder('f')));
        seen.add(await identify(file('f/a')));
        await writeAll(store, { 'f/a': 'same' });
        seen.add(await identify(file('f/a')));
        await store.removeTree?.(folder('f'));
      }
      assert.equal(seen.size, 60);
      assert.ok(!seen.has(undefined));
    });

    ofMember('identify', 'limits a delete to the folder with an identity', async (identify) => {
      await plant(store, { 'f/': null, 'f/a': 'old' });
      const identity = await identify(folder('f'));
      await store.moveFolder?.(folder('f'), folder('g'), keep);
      const other = { 'f/': null, 'f/a': 'new', 'f/g/': null };
      await plant(store, other);
      for (const path of [folder('f'), folder('missing')]) {
        await assert.rejects(async () => store.removeTree?.(path, { identity }), ofKind('not-found'));
        await assert.rejects(async () => store.moveToTrash?.(path, { id: newKeptId(), identity }), ofKind('not-found'));
      }
      assert.deepEqual(await treeOf(store), { ...other, 'g/': null, 'g/a': 'old' });
      assert.deepEqual((await store.listTrash?.())?.items, []);
      await store.removeTree?.(folder('g'), { identity });
      assert.deepEqual(await treeOf(store), other);
      await store.moveToTrash?.(folder('f'), { id: newKeptId(), identity: await identify(folder('f')) });
      assert.deepEqual(await treeOf(store), {});
    });

    ofMember('identify', 'tells a copy from its source', async (identify) => {
      await plant(store, { 'f/': null, 'f/a': 'a' });
      await store.copyFolder?.(folder('f'), folder('g'), keep);
      for (const [source, copy] of [
        [folder('f'), folder('g')],
        [file('f/a'), file('g/a')],
      ] as const) {
        assert.notEqual(await identify(copy), await identify(source));
      }
    });

    ofMember('identify', 'is undefined without an item of this kind', async (identify) => {
      await plant(store, { a: 'a', 'f/': null });
      for (const path of [file('f'), folder('a'), file('b'), folder('b'), file('b/c'), file('a/b')]) {
        assert.equal(await identify(path), undefined, path);
      }
      assert.ok(await identify(ROOT));
    });

    ofMember('presign', 'gives a URL for each name', async (member) => {
      const entry = await store.write(file('ä b/%25 #?.txt'), upload('x'));
      const url = await member(entry, { expires: 60, download: true, purpose: 'read' });
      assert.ok(URL.canParse(url, 'http://127.0.0.1'));
      assert.match(url, /%C3%A4%20b\/%2525%20%23%3F\.txt/);
    });
  });
}
