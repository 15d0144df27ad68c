import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createPolicy, OPEN_POLICY, type Policy } from '../../src/access/policy.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import type { LinkSettings } from '../../src/links/link.ts';
import { LinkedItems } from '../../src/links/linked-items.ts';
import { Links } from '../../src/links/links.ts';
import type { ChangeRecord } from '../../src/model/change.ts';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';

type Engine = Parameters<typeof openEngine>[0];

const SETTINGS: LinkSettings = {
  permissions: ['read'],
  label: undefined,
  expiresAt: undefined,
  passwordHash: undefined,
  maxDownloads: undefined,
  maxUploads: undefined,
  maxUploadBytes: undefined,
  asksSender: false,
};
const parseItem = (path: string) => (path === '' || path.endsWith('/') ? parseFolder(path) : parseFile(path));

const ANN = { name: 'ann', groups: ['family'], hasEntry: true };

/** Tests the table of share links in one database engine, with two processes that use it. */
export function testLinks(name: string, createEngine: () => Promise<Engine>): void {
  describe(`The table of share links: ${name}`, () => {
    const databases: Database[] = [];
    let [links, others]: Links[] = [];
    let policy: Policy;
    before(async () => {
      const engine = await createEngine();
      for (let process = 0; process < 2; process++) {
        const database = new Database(await openEngine(engine));
        await database.start();
        databases.push(database);
      }
      [links, others] = databases.map((database) => new Links(database, () => policy));
    });
    after(async () => {
      for (const database of databases) await database.close();
    });
    beforeEach(async () => {
      policy = OPEN_POLICY;
      for (const { id } of (await table().list({ limit: 1000 })).links) await table().revoke(id);
    });

    const table = () => links ?? assert.fail();
    const other = () => others ?? assert.fail();
    const create = async (path: string, settings: Partial<LinkSettings> = {}, creator: typeof ANN | null = ANN) =>
      table().create(parseItem(path), { ...SETTINGS, ...settings }, creator ?? undefined, {
        since: await table().follow(),
      });
    const log = () => new ChangeLog(databases[0] ?? assert.fail());
    /** Records changes as a process that is killed at once. */
    const record = (...changes: ChangeRecord[]) => log().append(changes);
    /** Returns the paths of links, and whether they ended. */
    const statesOf = async (made: Awaited<ReturnType<typeof create>>[], from = other()) => {
      const found = await from.findAll(made.map(({ link }) => link.id));
      return made.map(({ link }) => {
        const { path, ended } = found.find(({ id }) => id === link.id) ?? assert.fail();
        return ended === undefined ? path : `${path} ended`;
      });
    };

    it('finds a link by its token, with all settings, until it is revoked by any process', async () => {
      const settings: LinkSettings = {
        permissions: ['read', 'write'],
        label: 'Ünï “quotes” \\ %_',
        expiresAt: new Date('2999-01-02T03:04:05.678Z'),
        passwordHash: 'hash',
        maxDownloads: 1,
        maxUploads: 2,
        maxUploadBytes: 2 ** 40,
        asksSender: true,
      };
      const { link, token } = await create('a/b', settings);
      const found = await other().findByToken(token);
      assert.deepEqual({ ...found }, { ...link });
      assert.deepEqual({ ...settings, ...link }, link);
      assert.deepEqual(link.creator, ANN);
      assert.equal(await other().findByToken('A'.repeat(32)), undefined);
      await other().revoke(link.id);
      assert.equal(await table().findByToken(token), undefined);
      await assert.rejects(table().revoke(link.id), { code: 'not-found' });
    });

    it('counts no more than allowed, with both processes at once', async () => {
      const { link } = await create('a', { maxDownloads: 5, maxUploads: 3 });
      const count = async (times: number, one: (from: Links) => Promise<boolean>) =>
        (await Promise.all(Array.from({ length: times }, (_, i) => one(i % 2 === 0 ? table() : other())))).filter(
          Boolean,
        ).length;
      assert.equal(await count(12, (from) => from.countDownload(link.id)), 5);
      assert.equal(await count(12, (from) => from.countUpload(link.id)), 3);
      await other().refundUpload(link.id);
      assert.equal(await count(4, (from) => from.countUpload(link.id)), 1);
      const { downloads, uploads } = (await table().find(link.id)) ?? assert.fail();
      assert.deepEqual([downloads, uploads], [5, 3]);
    });

    it('changes settings only if no other process changed them meanwhile', async () => {
      const { link } = await create('a');
      const changed = await table().change(link, { ...link, label: 'first', maxUploads: 7 });
      assert.deepEqual([changed?.label, changed?.maxUploads], ['first', 7]);
      assert.equal(await other().change(link, { ...link, label: 'second' }), undefined);
      assert.equal((await other().find(link.id))?.label, 'first');
    });

    it('ends the links of users who are not in the access file permanently', async () => {
      const ofAnn = await create('a');
      const ofProvider = await create('a', {}, { ...ANN, hasEntry: false });
      const ofAnonymous = await create('a', {}, null);
      const policyOf = (...names: readonly string[]) =>
        createPolicy(
          names.map((user) => ({ name: user, password: undefined, groups: [], tokens: [] })),
          [],
        );
      const ends = async () => {
        const found = await Promise.all([ofAnn, ofProvider, ofAnonymous].map(({ link }) => other().find(link.id)));
        return found.map((link) => link?.ended);
      };
      await table().endOfRemoved(policyOf('ann', 'bob'));
      assert.deepEqual(await ends(), [undefined, undefined, undefined]);
      await table().endOfRemoved(policyOf('bob'));
      assert.deepEqual(await ends(), ['permission', undefined, undefined]);
      await other().endOfRemoved(policyOf('ann'));
      assert.deepEqual(await ends(), ['permission', undefined, undefined]);
    });

    it('moves, ends and continues the links of an item and of what is in it, by exact names', async () => {
      const made = await Promise.all(['a/', 'a/b/', 'A/', 'ab/', 'a%/'].map((path) => create(path)));
      policy = { ...OPEN_POLICY, allowsThroughout: (_user, _permission, path) => path !== 'x/y/b/' };
      await record({ type: 'folder.moved', path: parseFolder('x/y'), from: parseFolder('a') });
      assert.deepEqual(await statesOf(made), ['x/y/', 'a/b/ ended', 'A/', 'ab/', 'a%/']);
      const [first, second] = [newKeptId(), newKeptId()];
      await record(
        { type: 'folder.deleted', path: parseFolder('x'), kept: first },
        { type: 'folder.deleted', path: parseFolder('x'), kept: second },
        { type: 'folder.deleted', path: parseFolder('A') },
      );
      assert.deepEqual(await statesOf(made), ['x/y/ ended', 'a/b/ ended', 'A/ ended', 'ab/', 'a%/']);
      await record({ type: 'folder.restored', path: parseFolder('z'), kept: second });
      assert.equal((await statesOf(made))[0], 'x/y/ ended');
      await record({ type: 'folder.restored', path: parseFolder('z'), kept: first });
      assert.deepEqual(await statesOf(made), ['z/y/', 'a/b/ ended', 'A/ ended', 'ab/', 'a%/']);
    });

    it('has followed what a process recorded before it was killed, whichever way a link is found', async () => {
      const { link, token } = await create('a');
      const rename = (from: string, to: string) =>
        record({ type: 'file.moved', path: parseFile(to), from: parseFile(from) });
      await rename('a', 'b');
      assert.equal((await other().findByToken(token))?.path, 'b');
      await rename('b', 'c');
      assert.equal((await other().find(link.id))?.path, 'c');
      await rename('c', 'd');
      const { links: listed } = await other().list({ limit: 1, path: parseFile('d') });
      assert.deepEqual(
        listed.map(({ id }) => id),
        [link.id],
      );
      await record({ type: 'file.deleted', path: parseFile('d') });
      assert.equal((await table().findByToken(token))?.ended, 'item');
    });

    it('follows each change once, in the order of the log, with several processes at once', async () => {
      const [first, second] = await Promise.all([create('0'), create('x')]);
      // More changes than one transaction applies. Applied twice or in another order, they lead elsewhere.
      for (let count = 0; count < 250; count++) {
        const [from, to] = [String(count % 3), String((count + 1) % 3)];
        await record({ type: 'file.moved', path: parseFile(to), from: parseFile(from) });
      }
      const found = await Promise.all(
        [table(), other(), table(), other()].map((from) => statesOf([first, second], from)),
      );
      assert.deepEqual(new Set(found.map(String)), new Set(['1,x']));
    });

    it('ends links to a folder that another one replaces, but not to a replaced file', async () => {
      const made = await Promise.all(['a/', 'b/', 'c/', 'd'].map((path) => create(path)));
      const trashId = newKeptId();
      await record(
        { type: 'folder.moved', path: parseFolder('a'), from: parseFolder('x') },
        { type: 'folder.copied', path: parseFolder('b'), from: parseFolder('x'), kept: trashId },
        { type: 'folder.copied', path: parseFolder('c'), from: parseFolder('x'), kept: null },
        { type: 'file.moved', path: parseFile('d'), from: parseFile('x'), kept: newKeptId() },
      );
      assert.deepEqual(await statesOf(made), ['a/ ended', 'b/ ended', 'c/ ended', 'd']);
      await record({ type: 'folder.restored', path: parseFolder('e'), kept: trashId });
      assert.deepEqual(await statesOf(made), ['a/ ended', 'e/', 'c/ ended', 'd']);
    });

    it('does not follow changes that other programs made', async () => {
      const made = await Promise.all(['a', 'b/'].map((path) => create(path)));
      await record(
        { type: 'file.deleted', path: parseFile('a'), isExternal: true },
        { type: 'folder.deleted', path: parseFolder('b'), isExternal: true },
      );
      assert.deepEqual(await statesOf(made), ['a', 'b/']);
    });

    it('refuses a link to an item that was changed since it was found, but not for other changes', async () => {
      const since = await table().follow();
      await record({ type: 'folder.deleted', path: parseFolder('a') }, { type: 'file.deleted', path: parseFile('ab') });
      await other().follow();
      const createSince = (path: string) => table().create(parseFile(path), SETTINGS, ANN, { since });
      await assert.rejects(createSince('a/b'), { code: 'overloaded' });
      assert.equal((await createSince('b')).link.path, 'b');
      // No link has followed this change yet: the new one does.
      const late = { link: (await createSince('c')).link, token: '' };
      await record({ type: 'file.moved', path: parseFile('d'), from: parseFile('c') });
      assert.deepEqual(await statesOf([late]), ['d']);
    });

    it('finds the links of a path of 4,000 bytes', async () => {
      const path = Array.from({ length: 20 }, () => randomBytes(100).toString('hex')).join('/');
      const { link } = await create(path);
      const found = await other().list({ path: parseFile(path), limit: 10 });
      assert.deepEqual(
        found.links.map(({ id }) => id),
        [link.id],
      );
    });

    it('stores the identity of an item', async () => {
      const { link } = await table().create(parseFolder('a'), SETTINGS, ANN, {
        since: await table().follow(),
        identity: '1 2',
      });
      assert.equal((await other().find(link.id))?.identity, '1 2');
    });

    it('find the folder of a link again after all files moved to another disk, but no other folder at its path', async () => {
      let [root, folder]: (string | undefined)[] = ['r1', 'f1'];
      const items = new LinkedItems({
        table: table(),
        identify: async (path) => (path === ROOT ? root : folder),
      });
      const { link } = await create('a/');
      const endOf = async () => (await items.check((await other().find(link.id)) ?? assert.fail())).ended;
      // A link of an earlier version is bound when it is used.
      assert.equal(await endOf(), undefined);
      folder = 'f2';
      assert.equal(await endOf(), 'item');
      folder = undefined;
      assert.equal(await endOf(), 'item');
      [root, folder] = ['r2', 'f3'];
      assert.equal(await endOf(), undefined);
      folder = 'f1';
      assert.equal(await endOf(), 'item');
    });

    it('knows by the clock of the database what has expired and was used', async () => {
      const { link } = await create('a', { expiresAt: new Date(1) });
      assert.deepEqual([link.isExpired, link.isRecentlyUsed, link.lastUsedAt], [true, false, undefined]);
      await other().recordUse(link.id);
      assert.equal((await table().find(link.id))?.isRecentlyUsed, true);
    });

    it('lists the links of a user, of an item and below a folder in pages, by exact names', async () => {
      for (const path of ['a/', 'a/b/', 'A/c/', 'ab/', 'a%/', 'a_/x/', '']) await create(path);
      await create('a/d/', {}, null);
      const paths = async (options: Partial<Parameters<Links['list']>[0]>) => {
        const found: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await other().list({ limit: 2, cursor, ...options });
          found.push(...page.links.map(({ path }) => path));
          cursor = page.cursor;
        } while (cursor !== undefined);
        return found.toSorted();
      };
      assert.deepEqual(await paths({ below: parseFolder('a') }), ['a/', 'a/b/', 'a/d/']);
      assert.deepEqual(await paths({ path: parseFolder('a') }), ['a/']);
      assert.deepEqual(await paths({ below: parseFolder('a_') }), ['a_/x/']);
      assert.equal((await paths({ creatorName: 'ann' })).length, 7);
      assert.equal((await paths({})).length, 8);
      assert.deepEqual(await paths({ isVisible: ({ creator }) => creator === undefined }), ['a/d/']);
      await assert.rejects(paths({ cursor: 'x' }), { code: 'invalid-cursor' });
    });
  });
}
