import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createPolicy } from '../../src/access/policy.ts';
import type { AppTokenSettings } from '../../src/app-tokens/app-token.ts';
import { AppTokenLookup } from '../../src/app-tokens/app-token-lookup.ts';
import { AppTokens, MAX_APP_TOKENS } from '../../src/app-tokens/app-tokens.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { StoreError } from '../../src/model/error.ts';
import { parseFolder } from '../../src/model/path.ts';
import { until } from '../../testing/until.ts';

type Engine = Parameters<typeof openEngine>[0];

const SETTINGS: AppTokenSettings = {
  name: 'Phone',
  folder: parseFolder('photos'),
  permissions: ['read', 'write'],
  expiresAt: undefined,
};
const ANN = { name: 'ann', groups: ['family'], hasEntry: true };
const BOB = { name: 'bob', groups: [], hasEntry: false };

/** Tests the table of app tokens in one database engine, with two processes that use it. */
export function testAppTokens(name: string, createEngine: () => Promise<Engine>): void {
  describe(`The table of app tokens: ${name}`, () => {
    const databases: Database[] = [];
    let [tokens, others]: AppTokens[] = [];
    before(async () => {
      const engine = await createEngine();
      for (let process = 0; process < 2; process++) {
        const database = new Database(await openEngine(engine));
        await database.start();
        databases.push(database);
      }
      [tokens, others] = databases.map((database) => new AppTokens(database));
    });
    after(async () => {
      for (const database of databases) await database.close();
    });
    beforeEach(async () => {
      for (const { name: owner } of [ANN, BOB]) await table().revokeAll(owner);
    });

    const table = () => tokens ?? assert.fail();
    const other = () => others ?? assert.fail();
    const onError = (error: unknown) => assert.fail(String(error));
    const openLookup = () => new AppTokenLookup(table(), databases[0] ?? assert.fail(), { lifetimeMs: 50, onError });

    it('finds a token by its secret, with all settings, until it is revoked by any process', async () => {
      const settings: AppTokenSettings = {
        name: 'Ünï “quotes” \\ %_',
        folder: parseFolder('a/ü'),
        permissions: ['manage'],
        expiresAt: new Date('2999-01-02T03:04:05.678Z'),
      };
      const { token, secret } = await table().create(settings, ANN);
      assert.match(secret, /^holdall_app_[\w-]{43}$/);
      assert.deepEqual({ ...(await other().findBySecret(secret)) }, { ...token });
      assert.deepEqual({ ...token, ...settings, owner: ANN }, token);
      assert.equal(await other().findBySecret(`holdall_app_${'A'.repeat(43)}`), undefined);
      assert.equal((await other().revoke(token.id)).id, token.id);
      assert.equal(await table().findBySecret(secret), undefined);
      await assert.rejects(table().revoke(token.id), { code: 'not-found' });
    });

    it('removes the tokens of users who are not in the access file', async () => {
      const ofAnn = await table().create(SETTINGS, ANN);
      const ofProvider = await table().create(SETTINGS, BOB);
      const ann = { name: 'ann', password: undefined, groups: [], tokens: [] };
      await other().revokeOfRemoved(createPolicy([ann], []));
      assert.ok(await table().findBySecret(ofAnn.secret));
      await other().revokeOfRemoved(createPolicy([], []));
      assert.equal(await table().findBySecret(ofAnn.secret), undefined);
      assert.ok(await table().findBySecret(ofProvider.secret));
    });

    it('lists and revokes the tokens of a user only', async () => {
      const first = await table().create(SETTINGS, ANN);
      const second = await table().create(SETTINGS, BOB);
      assert.deepEqual(
        (await other().list('ann')).map(({ id }) => id),
        [first.token.id],
      );
      assert.equal((await other().list()).length, 2);
      await assert.rejects(other().revoke(second.token.id, 'ann'), { code: 'not-found' });
      assert.deepEqual(
        (await other().revokeAll('ann')).map(({ id }) => id),
        [first.token.id],
      );
      assert.equal((await table().list()).length, 1);
    });

    it('limits the tokens of a user', async () => {
      for (let count = 0; count < MAX_APP_TOKENS; count++) await table().create(SETTINGS, ANN);
      await assert.rejects(other().create(SETTINGS, ANN), { code: 'invalid-request' });
      await table().create(SETTINGS, BOB);
    });

    it('knows by the clock of the database what has expired and was used', async () => {
      const { token } = await table().create({ ...SETTINGS, expiresAt: new Date(1) }, ANN);
      assert.deepEqual([token.isExpired, token.isRecentlyUsed, token.lastUsedAt], [true, false, undefined]);
      await other().recordUse(token.id);
      const [used] = await table().list('ann');
      assert.equal(used?.isRecentlyUsed, true);
      await other().recordUse(token.id);
      const [usedAgain] = await table().list('ann');
      assert.deepEqual(usedAgain?.lastUsedAt, used.lastUsedAt);
    });

    it('finds a cached token until it is revoked in this process', async () => {
      const lookup = openLookup();
      const { token, secret } = await table().create(SETTINGS, ANN);
      const [found, again] = await Promise.all([lookup.find(secret), lookup.find(secret)]);
      assert.equal(found?.id, token.id);
      assert.equal(again, found);
      assert.equal(await lookup.find(secret), found);
      await table().revoke(token.id);
      assert.equal(await lookup.find(secret), undefined);
      lookup.close();
    });

    it('forgets a token that another process revokes within seconds', async () => {
      const lookup = openLookup();
      const { token, secret } = await table().create(SETTINGS, ANN);
      assert.equal((await lookup.find(secret))?.id, token.id);
      await other().revoke(token.id);
      await until('the token is forgotten', async () => (await lookup.find(secret)) === undefined);
      lookup.close();
    });

    it('does not keep a token that is revoked while it is read', async () => {
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const slow = {
        async findBySecret(secret: string) {
          const found = await table().findBySecret(secret);
          await gate;
          return found;
        },
        recordUse: async () => {},
      };
      const lookup = new AppTokenLookup(slow, databases[0] ?? assert.fail(), { onError });
      const { token, secret } = await table().create(SETTINGS, ANN);
      const early = lookup.find(secret);
      await table().findBySecret(secret);
      await table().revoke(token.id);
      open();
      await early;
      assert.equal(await lookup.find(secret), undefined);
      lookup.close();
    });

    it('neither accepts nor forgets a token while the database is unavailable', async () => {
      const { secret } = await table().create(SETTINGS, ANN);
      let isAvailable = true;
      const failing = {
        async findBySecret(text: string) {
          if (!isAvailable) throw new StoreError('database-unavailable', 'The database is unavailable.');
          return table().findBySecret(text);
        },
        recordUse: () => Promise.reject(new StoreError('database-unavailable', 'The database is unavailable.')),
      };
      const lookup = new AppTokenLookup(failing, databases[0] ?? assert.fail(), { lifetimeMs: 0, onError });
      const found = (await lookup.find(secret)) ?? assert.fail();
      lookup.recordUse(found);
      isAvailable = false;
      await assert.rejects(lookup.find(secret), { code: 'database-unavailable' });
      isAvailable = true;
      assert.equal((await lookup.find(secret))?.id, found.id);
      lookup.close();
    });

    it('records the use of a token once a minute', async () => {
      const lookup = openLookup();
      const { secret } = await table().create(SETTINGS, ANN);
      const found = (await lookup.find(secret)) ?? assert.fail();
      lookup.recordUse(found);
      lookup.recordUse(found);
      await until('the use is recorded', async () => (await table().list('ann'))[0]?.lastUsedAt);
      lookup.close();
    });
  });
}
