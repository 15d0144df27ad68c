import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ChangeFeed } from '../../src/changes/feed.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { type Broadcast, Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { findObstacle } from '../../src/dav/lock.ts';
import { Locks, type NewLock } from '../../src/dav/locks.ts';
import { Properties } from '../../src/dav/properties.ts';
import { foldingNames } from '../../src/model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { until } from '../../testing/until.ts';

type Engine = Parameters<typeof openEngine>[0];

const pathOf = (text: string): FilePath | FolderPath =>
  text === '' || text.endsWith('/') ? parseFolder(text) : parseFile(text);

/** A client without the token of any lock. */
const ANN = { user: 'ann', appToken: undefined, tokens: new Set<string>() };

/** Passes messages between the processes of a machine, for an engine without messages of its own. */
function createBroadcast(): () => Broadcast {
  const listeners = new Set<(topic: string) => void>();
  return () => {
    let own: ((topic: string) => void) | undefined;
    return {
      send(topic) {
        for (const listener of listeners) if (listener !== own) listener(topic);
      },
      listen(listener) {
        own = listener;
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
  };
}

/** Tests the tables of locks and properties in one database engine, with two processes that use it. */
export function testDavTables(name: string, createEngine: () => Promise<Engine>): void {
  describe(`The tables of WebDAV: ${name}`, () => {
    const databases: Database[] = [];
    before(async () => {
      const engine = await createEngine();
      const connect = createBroadcast();
      for (let process = 0; process < 2; process++) {
        const database = new Database(await openEngine(engine), { broadcast: connect() });
        await database.start();
        databases.push(database);
      }
    });
    after(async () => {
      for (const database of databases) await database.close();
    });
    const database = (process = 0) => databases[process] ?? assert.fail();

    describe('The table of locks', () => {
      const locks = (process = 0) => new Locks(database(process));
      const wanted = (path: string, more: Partial<NewLock> = {}): NewLock => ({
        path: pathOf(path),
        scope: 'exclusive',
        isDeep: false,
        owner: undefined,
        user: 'ann',
        appToken: undefined,
        timeoutSeconds: 600,
        ...more,
      });
      const create = async (...parameters: Parameters<typeof wanted>) => {
        const outcome = await locks().create(wanted(...parameters));
        return 'lock' in outcome ? outcome.lock : assert.fail(`${outcome.conflict.path} conflicts`);
      };
      const conflictOf = async (...parameters: Parameters<typeof wanted>) => {
        const outcome = await locks(1).create(wanted(...parameters));
        if ('conflict' in outcome) return outcome.conflict.path;
        await locks().remove(outcome.lock.token);
        return undefined;
      };
      beforeEach(() => locks().removeAll(ROOT));

      it('finds a lock with all that was said, in any process, until it is removed', async () => {
        const owner = '<owner xmlns="DAV:">Ünï &lt;“quotes”&gt; \\ %_</owner>';
        const lock = await create('ä/b %_.txt', { owner, user: undefined, appToken: 't1', scope: 'shared' });
        const [found, ...others] = await locks(1).covering(lock.path);
        assert.deepEqual(others, []);
        assert.deepEqual({ ...found, remainingSeconds: 600 }, { ...lock, remainingSeconds: 600 });
        assert.equal(lock.owner, owner);
        assert.deepEqual([lock.user, lock.appToken], [undefined, 't1']);
        assert.equal(lock.expiresAt.getTime() - lock.createdAt.getTime(), 600_000);
        assert.deepEqual((await locks(1).find(lock.id))?.token, lock.token);
        assert.equal(await locks(1).remove(lock.token), true);
        assert.equal(await locks().remove(lock.token), false);
        assert.deepEqual(await locks().covering(lock.path), []);
        assert.equal(await locks().find(lock.id), undefined);
      });

      it('allows overlapping locks only if all are shared', async () => {
        for (const [first, second, isConflict] of [
          [wanted('a/b'), wanted('a/b'), true],
          [wanted('a/b', { scope: 'shared' }), wanted('a/b'), true],
          [wanted('a/b'), wanted('a/b', { scope: 'shared' }), true],
          [wanted('a/b', { scope: 'shared' }), wanted('a/b', { scope: 'shared' }), false],
          [wanted('a/', { isDeep: true }), wanted('a/b/c'), true],
          [wanted('', { isDeep: true }), wanted('a/b/c'), true],
          [wanted('a/b/c'), wanted('a/', { isDeep: true }), true],
          [wanted('a/b/c'), wanted('', { isDeep: true }), true],
          [wanted('a/'), wanted('a/b'), false],
          [wanted('a/b'), wanted('a/'), false],
          [wanted('a/'), wanted('a/'), true],
          [wanted('a/', { isDeep: true }), wanted('ab/c'), false],
          [wanted('ab'), wanted('a/', { isDeep: true }), false],
          [wanted('a_/', { isDeep: true }), wanted('ab/c'), false],
          [wanted('a/B'), wanted('a/b'), false],
        ] as const) {
          await locks().removeAll(ROOT);
          await create(first.path, first);
          const expected = isConflict ? first.path : undefined;
          const title = JSON.stringify([first, second]);
          assert.equal(await conflictOf(second.path, second), expected, title);
        }
      });

      it('allows eight shared locks that cover a file, also by the folders that contain it', async () => {
        const shared = (path: string) => wanted(path, { scope: 'shared', isDeep: isFolder(pathOf(path)) });
        for (const path of ['', 'a/', 'a/', 'a/b/', 'a/b/c', 'a/b/c', 'a/b/c', 'other'])
          await create(path, shared(path));
        await create('a/b/c', shared('a/b/c'));
        for (const path of ['a/b/c', 'a/b/', 'a/', '']) {
          await assert.rejects(create(path, shared(path)), { code: 'invalid-request' }, path);
        }
        await create('a/b/d', shared('a/b/d'));
        await create('a/', wanted('a/', { scope: 'shared' }));
      });

      it('gives one lock to two processes that ask for it at once', async () => {
        for (let round = 0; round < 10; round++) {
          const outcomes = await Promise.all([0, 1, 0, 1].map((process) => locks(process).create(wanted('race'))));
          assert.equal(outcomes.filter((outcome) => 'lock' in outcome).length, 1);
          await locks().removeAll(ROOT);
        }
      });

      it('ends a lock at its timeout, unless it is refreshed', async () => {
        const lock = await create('a', { timeoutSeconds: 0 });
        assert.deepEqual(await locks(1).covering(lock.path), []);
        assert.equal(await locks().refresh(lock.token, 600), undefined);
        const next = await create('a', { timeoutSeconds: 5 });
        const refreshed = await locks(1).refresh(next.token, 3600);
        assert.equal(refreshed?.timeoutSeconds, 3600);
        assert.ok((refreshed?.remainingSeconds ?? 0) > 3590);
      });

      it('lists the locks that concern a folder', async () => {
        const paths = ['', 'a/', 'a/x', 'a/b/', 'a/b/deep', 'ab'];
        for (const path of paths) await create(path, { isDeep: path === '', scope: 'shared' });
        const listed = async (folder: string) =>
          (await locks().inFolder(parseFolder(folder))).map(({ path }) => path).toSorted();
        assert.deepEqual(await listed('a/'), ['', 'a/', 'a/b/', 'a/x']);
        assert.deepEqual(await listed(''), ['', 'a/', 'ab']);
        assert.deepEqual(await listed('a/b/'), ['', 'a/b/', 'a/b/deep']);
        assert.deepEqual(await listed('other/'), ['']);
      });

      describe('of a store that ignores case', () => {
        const folding = () => new Locks(database(1), foldingNames({ ignoresCase: true, ignoresForm: true }));

        it('binds every spelling of a path, and names it as the client does', async () => {
          const change = async (path: string, isTree = false) => {
            const found = await folding().concerning({ path: pathOf(path), isMember: true, isTree });
            const obstacle = findObstacle({ path: pathOf(path), isMember: true, isTree }, found, ANN);
            return obstacle?.path;
          };
          await create('Notes/Übung.txt');
          await create('Deep/', { isDeep: true });
          for (const path of ['Notes/Übung.txt', 'notes/u\u0308BUNG.TXT', 'NOTES/Übung.txt']) {
            assert.equal(await change(path), path);
          }
          assert.equal(await change('notes/', true), 'notes/Übung.txt');
          assert.equal(await change('deep/A/b'), 'deep/');
          assert.equal(await change('notes/other'), undefined);
          assert.equal(await change('notes/Übung.txt2'), undefined);
          assert.equal(await change('note/Übung.txt'), undefined);
          assert.ok('conflict' in (await folding().create(wanted('NOTES/', { isDeep: true }))));
          assert.ok('conflict' in (await folding().create(wanted('dEEP/new'))));
          const listed = (await folding().inFolder(parseFolder('NOTES'))).map(({ path }) => path);
          assert.deepEqual(listed, ['NOTES/Übung.txt']);
        });

        it('ends the locks of every spelling of what was deleted, and no others', async () => {
          for (const path of ['A/x', 'a/B/c', 'ab', 'strasse/1']) await create(path);
          await folding().removeAll(parseFolder('STRAßE'));
          await folding().removeAll(parseFolder('a'));
          const left = await folding().concerning({ path: ROOT, isMember: false, isTree: true });
          assert.deepEqual(left.map(({ path }) => path).toSorted(), ['ab', 'strasse/1']);
          await folding().removeAll(parseFile('AB'));
          assert.deepEqual(await locks().covering(parseFile('ab')), []);
        });
      });

      it('removes the locks of a folder and everything in it, and no others', async () => {
        for (const path of ['a/', 'a/x', 'a/b/c', 'a', 'ab', 'b/a/x']) await create(path);
        await locks().removeAll(parseFolder('a/'));
        const left = (await locks().concerning({ path: ROOT, isMember: false, isTree: true })).map(({ path }) => path);
        assert.deepEqual(left.toSorted(), ['a', 'ab', 'b/a/x']);
        await locks().removeAll(parseFile('a'));
        assert.deepEqual(await locks().covering(parseFile('a')), []);
      });
    });

    it('announces the paths of locks that were set, refreshed or released to the subscribers of other processes', async () => {
      const [own, other] = [new Locks(database(0)), database(1)];
      const log = { error: () => {} };
      const feed = new ChangeFeed(new ChangeLog(other), other, {
        pollMs: 60_000,
        heartbeatMs: 60_000,
        drainMs: 1000,
        log,
      });
      feed.start();
      const announced: string[] = [];
      // Those of earlier tests can still arrive.
      const onLocks = (changed: string) => {
        if (changed.startsWith('ü/')) announced.push(changed);
      };
      const end = feed.subscribe({ key: 'ann', isAnonymous: false }, { onChanges: () => {}, onLocks });
      const path = parseFile(`${'ü/'.repeat(300)}“a”: %_.txt`);
      const wanted = {
        path,
        scope: 'exclusive',
        isDeep: false,
        owner: undefined,
        user: 'ann',
        appToken: 't1',
      } as const;
      const outcome = await own.create({ ...wanted, timeoutSeconds: 600 });
      const { token } = 'lock' in outcome ? outcome.lock : assert.fail();
      assert.ok('conflict' in (await own.create({ ...wanted, timeoutSeconds: 600 })));
      await own.refresh(token, 600);
      await own.remove(token);
      await own.remove(token);
      await own.create({ ...wanted, timeoutSeconds: 600 });
      await own.removeAll(parseFolder('ü'));
      await own.removeAll(parseFolder('ü'));
      const expected = [path, path, path, path, 'ü/'];
      await until('all messages have arrived', () => announced.length >= expected.length);
      assert.deepEqual(announced, expected);
      end();
      await feed.close();
    });

    describe('The table of properties', () => {
      const properties = (process = 0) => new Properties(database(process));
      const named = (property: string, xml: string | undefined = `<${property}/>`) => ({
        namespace: 'urn:test',
        name: property,
        xml,
      });
      const set = (path: string, ...names: readonly string[]) =>
        properties().change(
          pathOf(path),
          names.map((each) => named(each)),
          'ann',
        );
      const namesOf = async (path: string) => (await properties(1).of(pathOf(path))).map((each) => each.name);
      beforeEach(() => properties().removeAll(ROOT));

      it('stores, replaces and removes properties, in the order of the changes', async () => {
        const path = parseFile('ä/“b”.txt');
        await properties().change(path, [named('a', '<a>1</a>'), named('b'), named('a', '<a>😀</a>')], 'ann');
        const stored = (await properties(1).of(path)).map((each) => ({ ...each }));
        assert.deepEqual(stored, [
          { path, ...named('a', '<a>😀</a>') },
          { path, ...named('b') },
        ]);
        await properties().change(
          path,
          [named('c'), { ...named('a'), xml: undefined }, { ...named('absent'), xml: undefined }],
          'ann',
        );
        assert.deepEqual(await namesOf(path), ['b', 'c']);
      });

      it('stores and moves properties of paths of 4,000 bytes', async () => {
        const names = Array.from({ length: 20 }, () => randomBytes(100).toString('hex'));
        const path = names.join('/');
        await set(`${path}/`, 'folder');
        await set(`${path}/f`, 'file');
        await assert.rejects(
          database().run((db) =>
            db
              .insertInto('properties')
              .values({ path: `${path}/f`, parent: `${path}/`, ...named('file'), xml: '', username: null, length: 0 })
              .execute(),
          ),
        );
        await properties().moveAll(parseFolder(path), parseFolder(`moved/${path}`));
        assert.deepEqual(await namesOf(`moved/${path}/f`), ['file']);
        assert.equal(await properties().existIn(parseFolder(`moved/${path}`)), true);
        assert.deepEqual(await namesOf(`${path}/f`), []);
      });

      it('makes none of the changes if there would be too many properties', async () => {
        await set('a', 'first');
        const many = Array.from({ length: 200 }, (_, index) => `p${index}`);
        await assert.rejects(set('a', ...many), { code: 'too-many-properties' });
        await assert.rejects(properties().change(parseFile('a'), [named('big', 'x'.repeat(300_000))], 'ann'), {
          code: 'too-many-properties',
        });
        assert.deepEqual(await namesOf('a'), ['first']);
      });

      it('copies and moves the properties of a folder with everything in it, over those of the destination', async () => {
        await set('from/', 'folder');
        await set('from/x', 'file');
        await set('from/deep/y', 'below');
        await set('fromage', 'sibling');
        await set('to/x', 'replaced');
        await set('to/old', 'removed');
        await properties().copyAll(parseFolder('from/'), parseFolder('to/'), 'ann');
        const all = async (...paths: readonly string[]) => Promise.all(paths.map(namesOf));
        assert.deepEqual(await all('to/', 'to/x', 'to/deep/y', 'to/old'), [['folder'], ['file'], ['below'], []]);
        await properties().moveAll(parseFolder('from/'), parseFolder('new/place/'));
        assert.deepEqual(await all('from/', 'from/x', 'from/deep/y', 'fromage'), [[], [], [], ['sibling']]);
        assert.deepEqual(await all('new/place/', 'new/place/x', 'new/place/deep/y'), [['folder'], ['file'], ['below']]);
        assert.equal(await properties().existIn(parseFolder('new/place/deep/')), true);
        assert.equal(await properties().existIn(parseFolder('new/')), true);
        assert.equal(await properties().existIn(parseFolder('from/')), false);
        await properties().copyOne(parseFolder('new/place/'), parseFolder('single/'), 'ann');
        assert.deepEqual(await all('single/', 'single/x'), [['folder'], []]);
      });

      /** Sets 200 KiB of properties in each of `count` files, or properties in several of them. */
      const fill = async (folder: string, count: number, { user = 'ann', length = 200 * 1024, each = 1 } = {}) => {
        for (let index = 0; index < count; index++) {
          const list = Array.from({ length: each }, (_, number) => named(`p${number}`, 'x'.repeat(length)));
          await properties().change(parseFile(`${folder}${index}`), list, user);
        }
      };

      it('removes, copies and moves many properties in small steps, between which the process does other work', async () => {
        const isThere = async (path: string) => (await namesOf(path)).length;
        let turns = 0;
        const count = async (work: Promise<void>) => {
          let isDone = false;
          turns = 0;
          const done = work.finally(() => {
            isDone = true;
          });
          for (; !isDone; turns++) await nextTurn();
          await done;
          return turns;
        };
        await fill('long/', 10);
        assert.ok((await count(properties().copyAll(parseFolder('long'), parseFolder('copy'), 'ann'))) >= 10);
        assert.ok((await count(properties().moveAll(parseFolder('long'), parseFolder('moved')))) >= 10);
        assert.ok((await count(properties().removeAll(parseFolder('copy')))) >= 10);
        assert.deepEqual(await Promise.all(['long/9', 'copy/9', 'moved/9'].map(isThere)), [0, 0, 1]);
        await fill('many/', 8, { length: 5, each: 150 });
        await set('many0', 'sibling');
        await properties().copyAll(parseFolder('many'), parseFolder('target/many'), 'ann');
        await properties().moveAll(parseFolder('many'), parseFolder('elsewhere'));
        const places = ['many/7', 'target/many/0', 'target/many/7', 'elsewhere/3', 'many0'];
        assert.deepEqual(await Promise.all(places.map(isThere)), [0, 150, 150, 150, 1]);
        await properties().removeAll(parseFolder('elsewhere'));
        assert.deepEqual(await Promise.all(['elsewhere/0', 'elsewhere/7'].map(isThere)), [0, 0]);
      });

      it('refuses copies of more than 8 MiB, and more than 32 MiB of one user', async () => {
        const code = 'too-many-properties';
        const copy = async (to: string, user: string) => {
          await properties().requireCopy(parseFolder('full'), user);
          await properties().copyAll(parseFolder('full'), parseFolder(to), user);
        };
        await fill('full/', 40);
        await properties().requireCopy(parseFolder('full'), 'ben');
        for (const to of ['a', 'b', 'c']) await copy(to, 'ann');
        await assert.rejects(copy('d', 'ann'), { code });
        await fill('rest/', 3);
        await assert.rejects(fill('rest/more', 1), { code });
        await assert.rejects(properties().copyAll(parseFolder('full'), parseFolder('e'), 'ann'), { code });
        // Others are not affected, and moved properties don't count again.
        await copy('f', 'ben');
        await fill('rest/ben', 1, { user: 'ben' });
        await properties().moveAll(parseFolder('a'), parseFolder('moved'));
        await properties().change(parseFile('moved/0'), [{ ...named('p0'), xml: undefined }], 'ann');
        await fill('full/more', 1, { user: 'ben' });
        await assert.rejects(properties().requireCopy(parseFolder('full'), 'ben'), { code });
      });

      it('belong to every spelling of a path in a store that ignores case', async () => {
        const folding = new Properties(database(1), foldingNames({ ignoresCase: true, ignoresForm: true }));
        const found = async (path: string) => (await folding.of(pathOf(path))).map((each) => each.name);
        await folding.change(parseFile('Notes/\u00dc.TXT'), [named('file')], 'ann');
        await folding.change(parseFolder('NOTES'), [named('folder')], 'ann');
        assert.deepEqual(await found('notes/U\u0308.txt'), ['file']);
        assert.equal(await folding.existIn(parseFolder('nOTES')), true);
        const each = await folding.ofEach([parseFile('NOTES/\u00dc.txt'), parseFolder('notes')]);
        assert.deepEqual([...each.keys()], ['NOTES/\u00dc.txt', 'notes/']);
        assert.deepEqual(
          each.get('NOTES/\u00dc.txt')?.map((property) => property.name),
          ['file'],
        );
        await folding.moveAll(parseFolder('Notes'), parseFolder('notes'));
        assert.deepEqual([await found('Notes/'), await found('Notes/\u00dc.txt')], [['folder'], ['file']]);
        await folding.moveAll(parseFolder('notes'), parseFolder('Letters'));
        assert.deepEqual([await found('notes/'), await found('LETTERS/\u00dc.txt')], [[], ['file']]);
        await folding.copyAll(parseFile('letters/\u00dc.TXT'), parseFile('Copy'), 'ann');
        await folding.removeAll(parseFolder('lETTERS'));
        assert.deepEqual(
          [await found('letters/'), await found('letters/\u00dc.txt'), await found('COPY')],
          [[], [], ['file']],
        );
      });

      it('finds the properties of many paths at once', async () => {
        await set('a', 'one');
        await set('b', 'two', 'three');
        const found = await properties().ofEach([parseFile('a'), parseFile('b'), parseFile('c')]);
        const names = Object.fromEntries([...found].map(([path, list]) => [path, list.map((each) => each.name)]));
        assert.deepEqual(names, { a: ['one'], b: ['three', 'two'] });
        assert.deepEqual(await properties().ofEach([]), new Map());
      });
    });
  });
}
