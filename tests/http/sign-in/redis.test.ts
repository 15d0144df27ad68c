import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it, mock } from 'node:test';
import { createToken } from '../../../src/access/credentials.ts';
import { connectRedis, type RedisConnection } from '../../../src/server/redis.ts';
import { hashForTest } from '../../../testing/passwords.ts';
import { startRedis, type TestRedis } from '../../../testing/servers/redis.ts';
import { until } from '../../../testing/until.ts';
import type { Need } from '../../runner/needs.ts';
import { assertFailure, assertSuccess, postJson, send } from '../client.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

export const needs: readonly Need[] = ['redis'];

const TOKEN = createToken();
const PASSWORD = hashForTest('secret');

const ANN = person('ann', {
  password: PASSWORD,
  tokens: [{ name: 'laptop', hash: TOKEN.hash, expires: undefined }],
});
/** More attempts than one address may make in a minute. */
const COLLEAGUES = Array.from({ length: 25 }, (_, index) => person(`colleague ${index}`, { password: PASSWORD }));

const KEY = randomBytes(32);

/** Starts two services, as if on different machines: they share only a Redis and the key. */
describe('Two services with one Redis', () => {
  let redis: TestRedis;
  let connections: RedisConnection[];
  const warnings: string[] = [];
  let here: SignedInService;
  let there: SignedInService;

  before(async () => {
    redis = await startRedis();
    connections = [0, 1].map(() =>
      connectRedis(redis.url, {
        info: () => {},
        warn: (...what: unknown[]) => void warnings.push(String(what.at(-1))),
      }),
    );
    await untilReached();
    const [one, other] = connections;
    here = await startSignedInService({ people: [ANN, ...COLLEAGUES], key: KEY, redis: one?.redis });
    there = await startSignedInService({ people: [ANN, ...COLLEAGUES], key: KEY, redis: other?.redis });
  });
  after(async () => {
    await here.stop();
    await there.stop();
    for (const connection of connections) connection.close();
    await redis.stop();
  });

  const untilReached = () =>
    until('Redis is reached', () => connections.every((connection) => connection.redis.status === 'ready'));

  const signIn = ({ port }: SignedInService, password: string, from: string, name = 'ann') =>
    postJson(port, '/-/session', { name, password }, { 'x-forwarded-for': from });

  const begin = async (): Promise<Record<string, string>> => {
    const response = await signIn(here, 'secret', '192.0.2.1');
    assertSuccess(response, { message: 'Signed in.', name: 'ann' });
    return { cookie: response.headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
  };

  const statusAt = async ({ port }: SignedInService, headers: Record<string, string>) =>
    (await send(port, '/', { headers })).status;

  it('share sessions, and detect revoked ones within two seconds', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    try {
      const [headers, other] = [await begin(), await begin()];
      assert.equal(await statusAt(here, headers), 200);
      assert.equal(await statusAt(there, headers), 200);
      assertSuccess(await send(here.port, '/-/session', { method: 'DELETE', headers }), { message: 'Signed out.' });
      assert.equal(await statusAt(here, headers), 401);
      mock.timers.setTime(Date.now() + 2000);
      assert.equal(await statusAt(there, headers), 401);
      assert.equal(await statusAt(there, other), 200);
    } finally {
      mock.timers.reset();
    }
  });

  it('share the counters of sign-in attempts, without readable usernames', async () => {
    for (let attempt = 0; attempt < 10; attempt++) {
      const response = await signIn(attempt % 2 === 0 ? here : there, `guess ${attempt}`, '192.0.2.2');
      assertFailure(response, 401, /^Wrong username/);
    }
    for (const service of [here, there]) {
      const response = await signIn(service, 'secret', '192.0.2.2');
      assertFailure(response, 429, /^Too many sign-in attempts/);
      assert.match(response.headers['retry-after'] ?? '', /^([1-9]|[1-5]\d|60)$/);
    }
    for (const [index, { name }] of COLLEAGUES.entries()) {
      const response = await signIn(index % 2 === 0 ? here : there, 'secret', '192.0.2.3', name);
      assert.equal(response.status, 200, name);
    }
    const keys = (await connections[0]?.redis.keys('holdall:*')) ?? [];
    assert.ok(keys.length > 0);
    for (const key of keys) {
      assert.match(key, /^holdall:(attempts:[\w-]{43}|ended:[0-9a-f]{64})$/);
      const left = (await connections[0]?.redis.ttl(key)) ?? -1;
      assert.ok(left > 0 && left <= 3600, `${key} stays for ${left} seconds.`);
    }
  });

  it('reject only requests with sessions while Redis is unreachable', async () => {
    const [headers, left] = [await begin(), await begin()];
    await redis.stop();
    await until('Redis is unreachable', () => connections.every((connection) => connection.redis.status !== 'ready'));
    assert.match(warnings.join('\n'), /^(Redis unreachable; .*, sessions unavailable\n?){2}$/);
    const response = await send(there.port, '/', { headers });
    assertFailure(response, 503, /whether the session is revoked: Redis does not respond/);
    assert.match(response.headers['retry-after'] ?? '', /^\d+$/);
    const ending = await send(there.port, '/-/session', { method: 'DELETE', headers: left });
    assertFailure(ending, 503, /^The session could not be revoked everywhere: Redis does not respond/);
    // This browser is signed out nevertheless.
    assert.match(ending.headers['set-cookie']?.[0] ?? '', /^holdall-[\da-f]{8}=; Max-Age=0/);
    assert.equal(await statusAt(there, { authorization: `Bearer ${TOKEN.token}` }), 200);
    assert.equal(await statusAt(there, {}), 401);
    // Each service counts attempts separately.
    for (let attempt = 0; attempt < 10; attempt++) {
      assertFailure(await signIn(there, `guess ${attempt}`, '192.0.2.4'), 401, /^Wrong username/);
    }
    assertFailure(await signIn(there, 'secret', '192.0.2.4'), 429, /^Too many sign-in attempts/);
    redis = await startRedis({ port: redis.port });
    await untilReached();
    assert.equal(await statusAt(there, headers), 200);
    // The service that received the sign-out remembers it.
    assert.equal(await statusAt(there, left), 401);
  });
});
